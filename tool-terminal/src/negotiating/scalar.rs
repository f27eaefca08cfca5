//! Single values in the words of a person: numbers, yes and no, addresses.

use serde_json::{Number, Value};

use super::words;

const NUMBERS: [&str; 13] =
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
const PLACES: [&str; 10] =
    ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];

/// A value as a person reads it: texts without quotes, yes and no, everything else as JSON.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Null => "none".to_owned(),
        Value::Array(items) if !items.iter().any(|item| item.is_array() || item.is_object()) => {
            items.iter().map(plain).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// A number: digits, with thousands separated by commas, or a word up to twelve.
pub(super) fn number(text: &str) -> Option<Number> {
    let text = text.trim();
    if let Some(word) = NUMBERS.iter().position(|word| text.eq_ignore_ascii_case(word)) {
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
    // `2.0` is two: decoders of whole numbers refuse the other spelling.
    #[expect(clippy::cast_possible_truncation, reason = "the bound keeps it exact")]
    if number.fract() == 0.0 && number.abs() < 9e15 {
        return Some((number as i64).into());
    }
    Number::from_f64(number)
}

/// The only number that is among the words of a text; `None` where there is none, or more than one.
pub(super) fn only_number(text: &str) -> Option<Number> {
    let mut found = words::words(text).into_iter().filter_map(|range| number(&text[range]));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The place in a list that a person names: `2`, `2.`, `#2`, `number 2`, `the second one`. Counts from 0.
pub(super) fn place(text: &str) -> Option<usize> {
    let folded = words::fold(text);
    let bare = folded.trim_start_matches("the ").trim_start_matches("number ").trim_start_matches("option ");
    let bare = bare.trim_end_matches(" please").trim_end_matches(" one");
    if let Some(place) = PLACES.iter().position(|word| *word == bare) {
        return Some(place);
    }
    let digits: &str = bare;
    let number = number(digits)?.as_u64()?;
    usize::try_from(number).ok()?.checked_sub(1)
}

/// Yes or no.
pub(super) fn yes_or_no(text: &str) -> Option<bool> {
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

/// Whether the text is an email address.
pub(super) fn is_email(text: &str) -> bool {
    let Some((name, host)) = text.split_once('@') else { return false };
    let odd = |c: char| c.is_whitespace() || matches!(c, '@' | ',' | ';' | '<' | '>' | '"' | '(' | ')');
    !name.is_empty()
        && !text.contains("..")
        && !name.contains(odd)
        && !host.contains(odd)
        && host.split('.').count() > 1
        && host.split('.').all(|label| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-'))
}

/// Whether the text is a web address or another URI.
pub(super) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        && !rest.trim_start_matches('/').is_empty()
        && !text.contains(char::is_whitespace)
}

/// Whether the text is a UUID.
pub(super) fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_figures_and_words() {
        for (text, expected) in
            [("2", "2"), ("Two", "2"), ("-1.5", "-1.5"), ("1,000", "1000"), ("2.0", "2"), ("+7", "7")]
        {
            assert_eq!(number(text).map(|n| n.to_string()).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "x", "1,00", "12a", "-", "1e5x", "inf", "NaN", "1-2"] {
            assert_eq!(number(text), None, "{text}");
        }
        assert_eq!(only_number("two passengers, please").map(|n| n.to_string()).as_deref(), Some("2"));
        assert_eq!(only_number("2 or 3"), None);
    }

    #[test]
    fn places_in_a_list() {
        for (text, expected) in [("2", 1), ("2.", 1), ("#2", 1), ("number 2", 1), ("the second one", 1), ("First", 0)] {
            assert_eq!(place(text), Some(expected), "{text}");
        }
        assert_eq!(place("0"), None);
        assert_eq!(place("two flights"), None);
    }

    #[test]
    fn formats() {
        assert!(is_email("a.b@x.org") && !is_email("a@b") && !is_email("a b@x.org"));
        assert!(is_uri("https://x.org/a") && !is_uri("x.org") && !is_uri("http://"));
        assert!(is_uuid("67e55044-10b1-426f-9247-bb680e5fe0c8") && !is_uuid("67e55044"));
    }

    #[test]
    fn yes_and_no() {
        assert_eq!(yes_or_no("Yes, please!"), Some(true));
        assert_eq!(yes_or_no("no thanks"), Some(false));
        assert_eq!(yes_or_no("yesterday"), None);
    }
}
