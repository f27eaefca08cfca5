//! Days and times in the words of a person.

use super::words;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The number of a month that is named in full or by its first letters.
pub(super) fn month(word: &str) -> Option<usize> {
    let word = word.trim_end_matches('.').to_lowercase();
    let at = MONTHS.iter().position(|month| word.len() >= 3 && month.starts_with(&word))?;
    Some(at + 1)
}

/// A date as `YYYY-MM-DD`, from any form that can only mean one day.
pub(super) fn date(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches('.').to_lowercase();
    let pieces: Vec<&str> = text
        .split([' ', ',', '-', '/', '.'])
        .filter(|piece| !piece.is_empty() && *piece != "of" && *piece != "the")
        .collect();
    let [a, b, c] = pieces[..] else { return None };
    let count = |word: &str| {
        let word = ["st", "nd", "rd", "th"].iter().find_map(|tail| word.strip_suffix(tail)).unwrap_or(word);
        word.parse::<usize>().ok()
    };
    let (year, month, day) = if a.len() == 4 {
        (count(a)?, month(b).or_else(|| count(b))?, count(c)?)
    } else if let Some(month) = month(a) {
        (count(c)?, month, count(b)?)
    } else if let Some(month) = month(b) {
        (count(c)?, month, count(a)?)
    } else if text.contains('.') {
        (count(c)?, count(b)?, count(a)?)
    } else {
        return None;
    };
    let written = format!("{year:04}-{month:02}-{day:02}");
    is_date(&written).then_some(written)
}

/// A day as people say it: `2026-12-01` is `Tuesday, 1 December`.
pub(super) fn day(text: &str) -> Option<String> {
    const WEEK: [&str; 7] = ["Saturday", "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday"];
    let count = |range: std::ops::Range<usize>| text.get(range)?.parse::<usize>().ok();
    let (year, month, day) = (count(0..4)?, count(5..7)?, count(8..10).filter(|_| is_date(text))?);
    // Zeller's congruence: January and February belong to the year before.
    let (moved, era) = if month < 3 { (month + 12, year + 399) } else { (month, year + 400) };
    let place = (day + 13 * (moved + 1) / 5 + era + era / 4 - era / 100 + era / 400) % 7;
    let name = words::capital(MONTHS[month - 1]);
    Some(format!("{}, {day} {name}", WEEK[place]))
}

/// Whether the text is a day as `YYYY-MM-DD` that exists.
pub(super) fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' || !text.is_ascii() {
        return false;
    }
    let count = |from: usize, to: usize| {
        text[from..to].bytes().all(|b| b.is_ascii_digit()).then(|| text[from..to].parse().ok()).flatten()
    };
    let (Some(year), Some(month), Some(day)) = (count(0, 4), count(5, 7), count(8, 10)) else { return false };
    let leap = |year: u32| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u32::from(leap(year)),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// Whether the text is a time of day: `14:30`, with or without seconds and an offset.
pub(super) fn is_time(text: &str) -> bool {
    let clock = text.trim_end_matches(['Z', 'z']);
    let clock = match clock.rfind(['+', '-']) {
        Some(at) if clock.is_char_boundary(at) && is_clock(&clock[at + 1..]) => &clock[..at],
        _ => clock,
    };
    is_clock(clock)
}

fn is_clock(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let parts: Vec<&str> = whole.split(':').collect();
    let limits = ["23", "59", "60"];
    (2..=3).contains(&parts.len())
        && !fraction.is_empty()
        && fraction.bytes().all(|b| b.is_ascii_digit())
        && parts
            .iter()
            .zip(limits)
            .all(|(part, limit)| part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit()) && *part <= limit)
}

/// A date and time as RFC 3339 has it, from a text that may have a space between the two.
pub(super) fn date_time(text: &str) -> Option<String> {
    let text = text.trim();
    let (day, time) = text.split_once([' ', 'T', 't'])?;
    let written = format!("{day}T{}", time.trim().to_uppercase().replace(' ', ""));
    is_date_time(&written).then_some(written)
}

/// Whether the text is a date and time with an offset, as RFC 3339 has it.
pub(super) fn is_date_time(text: &str) -> bool {
    let Some((day, time)) = text.split_once(['T', 't']) else { return false };
    let offset = time.ends_with(['Z', 'z']) || time.get(8..).is_some_and(|rest| rest.contains(['+', '-']));
    is_date(day) && offset && is_time(time) && time.matches(':').count() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_that_mean_one_day() {
        for text in [
            "2026-10-01",
            "2026-10-1",
            "2026/10/01",
            "1 October 2026",
            "Oct 1st, 2026",
            "1.10.2026",
            "the 1st of Oct 2026",
        ] {
            assert_eq!(date(text).as_deref(), Some("2026-10-01"), "{text}");
        }
        for text in ["10/01/2026", "2026-02-30", "tomorrow", "", "2026", "1 Foo 2026", "31.4.2026"] {
            assert_eq!(date(text), None, "{text}");
        }
        assert!(is_date("2028-02-29") && !is_date("2027-02-29"));
    }

    #[test]
    fn days_as_people_say_them() {
        for (text, expected) in [
            ("2026-12-01", "Tuesday, 1 December"),
            ("2000-02-29", "Tuesday, 29 February"),
            ("1900-01-01", "Monday, 1 January"),
            ("0000-03-01", "Wednesday, 1 March"),
        ] {
            assert_eq!(day(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(day("2026-02-30"), None);
        assert_eq!(day("dé"), None);
    }

    #[test]
    fn times() {
        assert!(is_time("14:30") && is_time("14:30:15Z") && is_time("14:30+02:00"));
        assert!(!is_time("25:00") && !is_time("14") && !is_time("ä:30"));
        assert_eq!(date_time("2026-10-01 14:30:00z").as_deref(), Some("2026-10-01T14:30:00Z"));
        assert!(!is_date_time("2026-10-01T14:30:00"));
    }
}
