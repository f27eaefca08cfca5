//! Parsing and display of single values: numbers, yes and no, addresses, days and times.

use std::sync::LazyLock;

use regex::Regex;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::{Number, Value, json};

use super::words;
use tool_schema::schema::CompiledSchema;

const NUMBER_WORDS: [&str; 13] =
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
const ORDINALS: [&str; 10] =
    ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];

/// Returns a value for people: a text without quotes, "yes", "no", "none", a flat list with commas, or anything else as JSON.
pub fn to_plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Null => "none".to_owned(),
        Value::Array(items) if !items.iter().any(|item| item.is_array() || item.is_object()) => {
            items.iter().map(to_plain_text).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Returns a value as a line of a list of choices: an object is its values, with spaces, and a list is its items, with commas.
pub fn to_line(value: &Value) -> String {
    match value {
        Value::Object(map) => map.values().map(to_plain_text).collect::<Vec<_>>().join(" "),
        Value::Array(items) => items.iter().map(to_line).collect::<Vec<_>>().join(", "),
        other => to_plain_text(other),
    }
}

/// Returns at most 60 characters of a value for people.
pub fn to_short_text(value: &Value) -> String {
    words::shorten(&to_plain_text(value), 60)
}

/// Reads a number: digits, in which commas may separate thousands, or a word from "zero" to "twelve".
pub fn parse_number(text: &str) -> Option<Number> {
    let text = text.trim();
    if let Some(word) = NUMBER_WORDS.iter().position(|word| text.eq_ignore_ascii_case(word)) {
        return Some(Number::from(word));
    }
    let digits = text.strip_prefix('+').unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.')
        || !digits.ends_with(|c: char| c.is_ascii_digit() || c == '.')
    {
        return None;
    }
    let groups: Vec<&str> = digits.split(',').collect();
    let grouped = groups.len() > 1
        && (1..=3).contains(&groups[0].trim_start_matches('-').len())
        && groups[1..].iter().all(|group| group.split('.').next().is_some_and(|whole| whole.len() == 3));
    if groups.len() > 1 && !grouped {
        return None;
    }
    let digits = groups.concat();
    if let Ok(whole) = digits.parse::<i64>() {
        return Some(whole.into());
    }
    if let Ok(whole) = digits.parse::<u64>() {
        return Some(whole.into());
    }
    let number = digits.parse::<f64>().ok()?;
    // `2.0` becomes `2`, because the decoder of a whole number rejects `2.0`.
    #[expect(clippy::cast_possible_truncation, reason = "the bound keeps it exact")]
    if number.fract() == 0.0 && number.abs() < 9e15 {
        return Some((number as i64).into());
    }
    Number::from_f64(number)
}

/// Returns the only number among the words of a text, or `None` if there is none or more than one.
pub fn find_only_number(text: &str) -> Option<Number> {
    let mut found = words::word_ranges(text).into_iter().filter_map(|range| parse_number(&text[range]));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// Reads a place in a list: `2`, `2.`, `#2`, `number 2`, `the second one`. Returns the index, counted from 0.
pub fn parse_list_index(text: &str) -> Option<usize> {
    let folded = words::fold(text);
    let bare = folded.trim_start_matches("the ").trim_start_matches("number ").trim_start_matches("option ");
    let bare = bare.trim_end_matches(" please").trim_end_matches(" one");
    if let Some(place) = ORDINALS.iter().position(|word| *word == bare) {
        return Some(place);
    }
    let digits: &str = bare;
    let number = parse_number(digits)?.as_u64()?;
    usize::try_from(number).ok()?.checked_sub(1)
}

pub fn parse_yes_or_no(text: &str) -> Option<bool> {
    let folded = words::fold(text);
    let bare = folded.trim_end_matches(" please").trim_end_matches(" thanks").trim_end_matches(" thank you");
    match bare {
        "yes" | "y" | "yeah" | "yep" | "yup" | "sure" | "ok" | "okay" | "true" | "on" | "right" | "correct"
        | "of course" | "please do" | "do it" | "go" | "go ahead" | "go on" | "exactly" | "definitely" | "enable"
        | "please" | "yes do" => Some(true),
        "no" | "n" | "nope" | "nah" | "false" | "off" | "not" | "don't" | "do not" | "no thanks" | "no thank you"
        | "never" | "wrong" | "disable" | "rather not" => Some(false),
        _ if folded.starts_with("yes ") && folded.len() < 24 => Some(true),
        _ if folded.starts_with("no ") && folded.len() < 24 => Some(false),
        _ => None,
    }
}

/// Returns whether a text has a format. A format that is not checked here accepts every text.
///
/// Unlike JSON Schema, an email address needs a domain with a dot, a URI needs something after its scheme, and `14:30` is a
/// complete time.
pub fn has_format(format: &str, text: &str) -> bool {
    static TIME: LazyLock<Regex> = LazyLock::new(|| {
        let clock = "([01][0-9]|2[0-3]):[0-5][0-9]";
        Regex::new(&format!(r"^{clock}(:([0-5][0-9]|60)(\.[0-9]+)?)?([Zz]|[+-]{clock})?$")).expect("it is a pattern")
    });
    let fits = |format: &str| {
        let compiled = CompiledSchema::compile(&json!({ "format": format }));
        compiled.is_ok_and(|compiled| compiled.is_valid(&Value::from(text)))
    };
    match format {
        "time" => TIME.is_match(text),
        "email" => {
            !text.contains(['<', ' ']) && text.rsplit('@').next().is_some_and(|host| host.contains('.')) && fits(format)
        }
        "uri" | "url" => text.split_once(':').is_some_and(|(_, rest)| rest.contains(|c| c != '/')) && fits("uri"),
        "date" | "date-time" | "uuid" => fits(format),
        _ => true,
    }
}

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

/// Returns the number of a month, from 1, for its name or at least the first three letters of its name.
pub fn parse_month(word: &str) -> Option<usize> {
    let word = word.trim_end_matches('.').to_lowercase();
    let at = MONTHS.iter().position(|month| word.len() >= 3 && month.starts_with(&word))?;
    Some(at + 1)
}

/// Reads a date in any unambiguous form, and returns it as `YYYY-MM-DD`.
pub fn parse_date(text: &str) -> Option<String> {
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
        (count(a)?, parse_month(b).or_else(|| count(b))?, count(c)?)
    } else if let Some(month) = parse_month(a) {
        (count(c)?, month, count(b)?)
    } else if let Some(month) = parse_month(b) {
        (count(c)?, month, count(a)?)
    } else if text.contains('.') {
        (count(c)?, count(b)?, count(a)?)
    } else {
        return None;
    };
    let written = format!("{year:04}-{month:02}-{day:02}");
    has_format("date", &written).then_some(written)
}

/// Returns a day for people: `2026-12-01` is `Tuesday, 1 December`.
pub fn describe_day(text: &str) -> Option<String> {
    const WEEK: [&str; 7] = ["Saturday", "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday"];
    let count = |range: std::ops::Range<usize>| text.get(range)?.parse::<usize>().ok();
    let (year, month, day) = (count(0..4)?, count(5..7)?, count(8..10).filter(|_| has_format("date", text))?);
    // Zeller's congruence: January and February belong to the year before.
    let (moved, era) = if month < 3 { (month + 12, year + 399) } else { (month, year + 400) };
    let place = (day + 13 * (moved + 1) / 5 + era + era / 4 - era / 100 + era / 400) % 7;
    let name = words::capitalize(MONTHS[month - 1]);
    Some(format!("{}, {day} {name}", WEEK[place]))
}

/// Reads a date and time, possibly with a space between them, and returns them as in RFC 3339.
pub fn parse_date_time(text: &str) -> Option<String> {
    let text = text.trim();
    let (day, time) = text.split_once([' ', 'T', 't'])?;
    let written = format!("{day}T{}", time.trim().to_uppercase().replace(' ', ""));
    has_format("date-time", &written).then_some(written)
}

/// The maximum length of a sample, in bytes.
const MAX_SAMPLE_LENGTH: usize = 60;

/// Returns a short text that a pattern accepts, to show its form to a person: `ABC-123` for `^[A-Z]{3}-\d+$`. Returns `None` if
/// there is no short text, or the regex engine cannot read the pattern.
pub fn make_sample(pattern: &str) -> Option<String> {
    let mut out = String::new();
    write_sample(&regex_syntax::parse(pattern).ok()?, 0, &mut out)?;
    let is_usable = !out.is_empty() && out.len() <= MAX_SAMPLE_LENGTH && Regex::new(pattern).ok()?.is_match(&out);
    is_usable.then_some(out)
}

/// Adds a sample of one part of a pattern, for the repetition `nth` of that part.
fn write_sample(part: &Hir, nth: usize, out: &mut String) -> Option<()> {
    const PLAIN: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz1234567890";
    if out.len() > MAX_SAMPLE_LENGTH {
        return None;
    }
    match part.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(Class::Unicode(class)) => {
            let contains = |c: &char| class.ranges().iter().any(|range| (range.start()..=range.end()).contains(c));
            let plain: Vec<char> = PLAIN.chars().filter(contains).collect();
            match plain.len() {
                0 => out.push(class.ranges().first()?.start()),
                count => out.push(plain[nth % count]),
            }
        }
        HirKind::Class(Class::Bytes(_)) => return None,
        HirKind::Repetition(repetition) => {
            // Repeat a class at least three times, because "abc" looks like a word, and "a" does not.
            let is_open = repetition.max.is_none() && matches!(repetition.sub.kind(), HirKind::Class(_));
            let least = if is_open { 3 } else { 1 };
            let count = usize::try_from(repetition.min.max(least)).ok().filter(|count| *count <= MAX_SAMPLE_LENGTH)?;
            (0..count).try_for_each(|nth| write_sample(&repetition.sub, nth, out))?;
        }
        HirKind::Capture(capture) => write_sample(&capture.sub, nth, out)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write_sample(part, nth, out))?,
        HirKind::Alternation(parts) => write_sample(parts.first()?, nth, out)?,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offered_list_is_a_line() {
        let list = json!([{"number": "TA1", "date": "2026-12-01"}, {"number": "TA2", "date": null}]);
        assert_eq!((to_line(&list), to_line(&json!(true))), ("TA1 2026-12-01, TA2 none".to_owned(), "yes".to_owned()));
    }

    #[test]
    fn numbers_in_figures_and_words() {
        for (text, expected) in
            [("2", "2"), ("Two", "2"), ("-1.5", "-1.5"), ("1,000", "1000"), ("2.0", "2"), ("+7", "7")]
        {
            assert_eq!(parse_number(text).map(|n| n.to_string()).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "x", "1,00", "12a", "-", "1e5x", "inf", "NaN", "1-2"] {
            assert_eq!(parse_number(text), None, "{text}");
        }
        assert_eq!(find_only_number("two passengers, please").map(|n| n.to_string()).as_deref(), Some("2"));
        assert_eq!(find_only_number("2 or 3"), None);
    }

    #[test]
    fn places_in_a_list() {
        for (text, expected) in [("2", 1), ("2.", 1), ("#2", 1), ("number 2", 1), ("the second one", 1), ("First", 0)] {
            assert_eq!(parse_list_index(text), Some(expected), "{text}");
        }
        assert_eq!(parse_list_index("0"), None);
        assert_eq!(parse_list_index("two flights"), None);
    }

    #[test]
    fn formats() {
        for (format, right, wrong) in [
            ("email", &["a.b@x.org"][..], &["a@b", "a b@x.org", "Ann <a@x.org>"][..]),
            ("uri", &["https://x.org/a"], &["x.org", "http://"]),
            ("uuid", &["67e55044-10b1-426f-9247-bb680e5fe0c8"], &["67e55044"]),
            ("date", &["2028-02-29"], &["2027-02-29"]),
            ("time", &["14:30", "14:30:15Z", "14:30+02:00"], &["25:00", "14", "ä:30"]),
            ("date-time", &["2026-10-01T14:30:00Z"], &["2026-10-01T14:30:00"]),
        ] {
            assert!(right.iter().all(|text| has_format(format, text)), "{format}");
            assert!(!wrong.iter().any(|text| has_format(format, text)), "{format}");
        }
    }

    #[test]
    fn yes_and_no() {
        assert_eq!(parse_yes_or_no("Yes, please!"), Some(true));
        assert_eq!(parse_yes_or_no("no thanks"), Some(false));
        assert_eq!(parse_yes_or_no("yesterday"), None);
    }

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
            assert_eq!(parse_date(text).as_deref(), Some("2026-10-01"), "{text}");
        }
        assert_eq!(parse_date_time("2026-10-01 14:30:00z").as_deref(), Some("2026-10-01T14:30:00Z"));
        for text in ["10/01/2026", "2026-02-30", "tomorrow", "", "2026", "1 Foo 2026", "31.4.2026"] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }

    #[test]
    fn days_as_people_say_them() {
        for (text, expected) in [
            ("2026-12-01", "Tuesday, 1 December"),
            ("2000-02-29", "Tuesday, 29 February"),
            ("1900-01-01", "Monday, 1 January"),
            ("0000-03-01", "Wednesday, 1 March"),
        ] {
            assert_eq!(describe_day(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(describe_day("2026-02-30"), None);
        assert_eq!(describe_day("dé"), None);
    }

    #[test]
    fn samples_of_patterns() {
        for (pattern, expected) in [
            ("^[A-Z]{3}$", "ABC"),
            ("^#W\\d{7}$", "#W1234567"),
            ("^[a-z0-9_]+@x\\.org$", "abc@x.org"),
            ("^(HAT|TA)\\d+(-b)?$", "HAT123-b"),
            ("^\\w+$", "ABC"),
            ("^x+$", "x"),
        ] {
            assert_eq!(make_sample(pattern).as_deref(), Some(expected), "{pattern}");
        }
        for pattern in ["", "(?=x)", "a{1000}", "[", "^((((a{40}){40}){40}){40})$", r"[^\s\S]"] {
            assert_eq!(make_sample(pattern), None, "{pattern}");
        }
    }
}
