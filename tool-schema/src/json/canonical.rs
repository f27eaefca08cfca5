//! Comparison of JSON texts with all digits of their numbers. A [`Value`] rounds numbers beyond 64 bits.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::{Deserializer, Number, Value};

/// Returns the canonical form of the JSON `text`: without white space, with sorted names, and with one form for each number.
///
/// `1`, `1.0` and `10e-1` are the same number, and so are `0` and `-0`. Every digit counts. Of a repeated name, the last value
/// counts, as in a [`Value`]. A blank text means `{}`. A text that `serde_json` cannot read is its own canonical form.
pub fn canonical_text(text: &str) -> Cow<'_, str> {
    canonicalize(text, canonical_number)
}

/// Returns whether both texts have the same [`canonical_text`].
pub fn is_same_value(a: &str, b: &str) -> bool {
    a == b || canonical_text(a) == canonical_text(b)
}

/// Returns whether a client that received `text` could send back `echo`. The numbers in `echo` are those of `text`, or all are
/// rounded to `f64`, as in JavaScript.
pub fn is_echo(echo: &str, text: &str) -> bool {
    is_same_value(echo, text) || canonical_text(echo) == canonicalize(text, |token| canonical_number(&to_float(token)))
}

/// Returns the canonical form of `text`, in which `number` writes each number.
fn canonicalize(text: &str, number: impl Fn(&str) -> String) -> Cow<'_, str> {
    let text = if text.trim_ascii().is_empty() { "{}" } else { text };
    // `serde_json` also refuses a number beyond `f64`, which no tool can read.
    if serde_json::from_str::<Value>(text).is_err() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    write_canonical(&mut { text }, &mut out, &number);
    Cow::Owned(out)
}

/// Writes the canonical form of the value that `rest` begins with, and skips the value. It is JSON, at most 128 levels deep.
fn write_canonical(rest: &mut &str, out: &mut String, number: &impl Fn(&str) -> String) {
    match peek_byte(rest) {
        Some(b'{') => {
            let mut entries = BTreeMap::new();
            while skip_to_entry(rest, b'}') {
                let (mut name, mut text) = (String::new(), String::new());
                write_canonical(rest, &mut name, number);
                peek_byte(rest);
                // Skip the colon.
                *rest = &rest[1..];
                write_canonical(rest, &mut text, number);
                entries.insert(name, text);
            }
            let entries: Vec<String> = entries.iter().map(|(name, text)| format!("{name}:{text}")).collect();
            out.extend(["{", &entries.join(","), "}"]);
        }
        Some(b'[') => {
            let mut before = "[";
            while skip_to_entry(rest, b']') {
                out.push_str(std::mem::replace(&mut before, ","));
                write_canonical(rest, out, number);
            }
            out.push_str(if before == "[" { "[]" } else { "]" });
        }
        Some(b'"') => {
            let mut texts = Deserializer::from_str(rest).into_iter::<Value>();
            let text = texts.next().and_then(Result::ok).unwrap_or_default();
            *rest = &rest[texts.byte_offset()..];
            out.push_str(&text.to_string());
        }
        _ => {
            let end = rest.find([',', ']', '}', ' ', '\n', '\r', '\t']).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            *rest = behind;
            out.push_str(&if word.starts_with(|c: char| c.is_ascii_alphabetic()) { word.into() } else { number(word) });
        }
    }
}

/// Skips white space, and returns the next byte.
fn peek_byte(rest: &mut &str) -> Option<u8> {
    *rest = rest.trim_start_matches([' ', '\n', '\r', '\t']);
    rest.bytes().next()
}

/// Skips the bracket or comma that `rest` begins with, and the bracket `end` if it follows. Returns whether an entry follows.
fn skip_to_entry(rest: &mut &str, end: u8) -> bool {
    if peek_byte(rest) != Some(end) {
        *rest = &rest[1..];
    }
    let ends = peek_byte(rest) == Some(end);
    if ends {
        *rest = &rest[1..];
    }
    !ends
}

/// Returns the digits of a number without sign and outer zeros, and the power of ten by which to multiply them. Returns `None`
/// for a power beyond 64 bits.
pub fn split_decimal(number: &str) -> Option<(String, i128)> {
    let unsigned = number.trim_start_matches('-');
    let (digits, power) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, broken) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{broken}");
    let digits = all.trim_start_matches('0');
    let kept = digits.trim_end_matches('0');
    if kept.is_empty() {
        return Some((String::new(), 0));
    }
    let moved = i128::try_from(digits.len() - kept.len()).ok()? - i128::try_from(broken.len()).ok()?;
    Some((kept.to_owned(), i128::from(power.parse::<i64>().ok()?) + moved))
}

/// Returns the canonical form of a number: its digits and up to 20 zeros, or its digits without outer zeros and a power of ten.
fn canonical_number(token: &str) -> String {
    let sign = if token.starts_with('-') { "-" } else { "" };
    match split_decimal(token) {
        // The exponent is beyond 64 bits. In practice, such a number is written in one way.
        None => token.to_owned(),
        Some((digits, _)) if digits.is_empty() => "0".to_owned(),
        Some((digits, zeros @ 0..=20)) => {
            format!("{sign}{digits}{:0<1$}", "", usize::try_from(zeros).unwrap_or_default())
        }
        Some((digits, power)) => format!("{sign}{digits}e{power}"),
    }
}

fn to_float(token: &str) -> String {
    let number = token.parse().ok().and_then(Number::from_f64);
    number.map_or_else(|| token.to_owned(), |number| number.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{canonical_text, is_echo, is_same_value};
    use crate::schema::canonical_value;

    fn token(text: &str) -> &str {
        let end = text.find(|c: char| !matches!(c, '0'..='9' | '.' | 'e' | 'E' | '+' | '-'));
        &text[..end.unwrap_or(text.len())]
    }

    /// Returns whether a [`Value`] may lose digits of a number in the JSON `text`.
    fn rounds(text: &str) -> bool {
        const KEPT: usize = 15;
        let (mut rest, mut in_string) = (text.as_bytes(), false);
        while let [byte, behind @ ..] = rest {
            rest = behind;
            match byte {
                b'"' => in_string = !in_string,
                b'\\' if in_string => rest = rest.get(1..).unwrap_or_default(),
                b'-' | b'0'..=b'9' if !in_string => {
                    let start = text.len() - rest.len() - 1;
                    let number = token(&text[start..]);
                    rest = &text.as_bytes()[start + number.len()..];
                    let is_whole = number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
                    let is_long = number.bytes().filter(u8::is_ascii_digit).count() > KEPT;
                    let is_tiny =
                        number.parse().is_ok_and(|number: f64| number != 0.0 && number.abs() < f64::MIN_POSITIVE);
                    let is_lost = number.parse() == Ok(0.0) && super::canonical_number(number) != "0";
                    if !is_whole && (is_long || is_tiny || is_lost) {
                        return true;
                    }
                }
                _ => {}
            }
        }
        false
    }

    #[test]
    fn texts_of_one_value_are_equal() {
        for (one, other) in [
            (r#"{"a": 1.0, "b": [1e2]}"#, r#"{"b":[100],"\u0061":1}"#),
            ("", " {} "),
            ("[1,10e-1,0.1e+1]", "[1.0,1,1]"),
            ("[0,-0,0.0e9]", "[-0.0, 0,0]"),
            ("[18446744073709551617]", "[18446744073709551617.0]"),
            ("[12.50]", "[125e-1]"),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#"["100000000000000000001",  1]"#, r#"["100000000000000000001",1]"#),
            (r#"{"a":{},"b":[ ],"c":[true,null]}"#, r#" { "c" : [ true , null ] , "b":[], "a" : { } } "#),
        ] {
            assert!(is_same_value(one, other), "{one} {other}");
        }
    }

    #[test]
    fn every_digit_counts() {
        for (one, other) in [
            ("[9223372036854775808]", "[9223372036854775809]"),
            ("[-9223372036854775809]", "[-9223372036854775808]"),
            ("[18446744073709551616]", "[18446744073709551617]"),
            ("[0.1234567890123456789]", "[0.1234567890123456788]"),
            (r#"["\"",100000000000000000001]"#, r#"["\"",100000000000000000002]"#),
            ("[1e-400]", "[0]"),
            ("[1]", "[-1]"),
            ("[1]", "[10]"),
            ("[1]", r#"["1"]"#),
            ("{", "{}"),
            ("1e99999999999999999999", "1e99999999999999999998"),
        ] {
            assert!(!is_same_value(one, other), "{one} {other}");
        }
    }

    #[test]
    fn an_echo_may_have_the_numbers_of_javascript() {
        let text = r#"{"a":18446744073709551617,"b":9007199254740993,"c":0.1}"#;
        assert!(is_echo(text, text));
        assert!(is_echo(r#"{"a":18446744073709552000,"b":9007199254740992,"c":0.1}"#, text));
        for other in [
            r#"{"a":18446744073709551999,"b":9007199254740993,"c":0.1}"#,
            r#"{"a":18446744073709551617,"b":9007199254740994,"c":0.1}"#,
            r#"{"a":18446744073709551618,"b":9007199254740992,"c":0.1}"#,
        ] {
            assert!(!is_echo(other, text), "{other}");
        }
    }

    #[test]
    fn numbers_that_a_tree_would_round_are_found() {
        assert!(
            ["[18446744073709551616]", "-9223372036854775809", "[\"\\\"\", 0.1234567890123456789]"]
                .iter()
                .all(|text| rounds(text))
        );
        assert!(
            ["[18446744073709551615]", "[\"18446744073709551616\"]", "[0.5, 1, -2e5]"].iter().all(|text| !rounds(text))
        );
    }

    proptest! {
        #[test]
        fn equal_values_have_one_canonical_text(text in r#"[{}\[\]",:0-9a-c\\u \-.e]{0,24}"#, other in r#"[{}\[\]",:0-9\\u \-.e]{0,24}"#) {
            for (one, other) in [(&text, &text), (&text, &other)] {
                let (Ok(a), Ok(b)) = (serde_json::from_str::<Value>(one), serde_json::from_str::<Value>(other)) else { continue };
                // A `Value` holds all digits of these texts.
                if !rounds(one) && !rounds(other) {
                    prop_assert_eq!(is_same_value(one, other), canonical_value(&a) == canonical_value(&b));
                }
            }
        }

        #[test]
        fn the_spelling_of_a_value_does_not_matter(text in "[\\PC\\x00-\\x1f]{0,20}", float in any::<f64>(), integer in any::<i64>()) {
            let value = json!({ text.clone(): [text, { "b": float, "a": integer }] });
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            prop_assert!(is_same_value(&pretty, &value.to_string()));
            let again = canonical_text(&pretty).into_owned();
            prop_assert_eq!(canonical_text(&again), again.as_str());
        }
    }
}
