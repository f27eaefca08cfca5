//! JSON texts compared by what they say, with all the digits of their numbers: a [`Value`] rounds beyond 64 bits.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::Number;
use serde_json::{Deserializer, Value};

/// Returns what the JSON `text` says, as one text: without white space, with sorted names, and with one form for one number.
///
/// `1`, `1.0` and `10e-1` are one number, and so are `0` and `-0`; every digit counts. Of a name that is given more than once,
/// the last value counts, as in a [`Value`]. A blank text says `{}`. A text that is no JSON says only itself.
pub fn canonical_text(text: &str) -> Cow<'_, str> {
    canonical(text, number)
}

/// Returns whether both texts say the same, as [`canonical_text`] has it.
pub fn same(a: &str, b: &str) -> bool {
    a == b || canonical_text(a) == canonical_text(b)
}

/// Returns whether `echo` is what a client sends back that was given `text`: the same numbers, or all of them as JavaScript
/// writes them, which has none but `f64`.
pub fn is_echo(echo: &str, text: &str) -> bool {
    same(echo, text) || canonical_text(echo) == canonical(text, |token| number(&floating(token)))
}

/// The number that `text` begins with.
fn token(text: &str) -> &str {
    let end = text.find(|c: char| !matches!(c, '0'..='9' | '.' | 'e' | 'E' | '+' | '-'));
    &text[..end.unwrap_or(text.len())]
}

fn canonical(text: &str, number: impl Fn(&str) -> String) -> Cow<'_, str> {
    let text = if text.trim_ascii().is_empty() { "{}" } else { text };
    // A number that no `f64` holds is no JSON here, because no tool can read it.
    if serde_json::from_str::<Value>(text).is_err() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    value(&mut rest, &mut out, &number);
    Cow::Owned(out)
}

/// Writes the value that `rest` begins with. The text is JSON, at most 128 levels deep.
fn value(rest: &mut &str, out: &mut String, number: &impl Fn(&str) -> String) {
    match next(rest) {
        Some(b'{') => {
            let mut entries = BTreeMap::new();
            while enters(rest, b'}') {
                next(rest);
                let name = string(rest);
                // The colon.
                next(rest);
                *rest = &rest[1..];
                let mut text = String::new();
                value(rest, &mut text, number);
                entries.insert(name, text);
            }
            let entries: Vec<String> = entries.iter().map(|(name, text)| format!("{name}:{text}")).collect();
            out.extend(["{", &entries.join(","), "}"]);
        }
        Some(b'[') => {
            out.push('[');
            let mut is_first = true;
            while enters(rest, b']') {
                if !std::mem::take(&mut is_first) {
                    out.push(',');
                }
                value(rest, out, number);
            }
            out.push(']');
        }
        Some(b'"') => out.push_str(&string(rest)),
        Some(b'-' | b'0'..=b'9') => {
            let digits = token(rest);
            *rest = &rest[digits.len()..];
            out.push_str(&number(digits));
        }
        _ => {
            let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            out.push_str(&rest[..end]);
            *rest = &rest[end..];
        }
    }
}

/// Skips white space, and returns the first byte of what follows.
fn next(rest: &mut &str) -> Option<u8> {
    *rest = rest.trim_start_matches([' ', '\n', '\r', '\t']);
    rest.bytes().next()
}

/// Moves behind the bracket or comma that `rest` begins with; `false` where the list or object ends there.
fn enters(rest: &mut &str, end: u8) -> bool {
    if next(rest) != Some(end) {
        *rest = &rest[1..];
    }
    let ends = next(rest) == Some(end);
    if ends {
        *rest = &rest[1..];
    }
    !ends
}

/// The string that `rest` begins with, as `serde_json` writes it.
fn string(rest: &mut &str) -> String {
    let mut strings = Deserializer::from_str(rest).into_iter::<String>();
    let text = strings.next().and_then(Result::ok).unwrap_or_default();
    *rest = &rest[strings.byte_offset()..];
    Value::String(text).to_string()
}

/// The one form of a number: its digits without zeros around them, and a power of ten.
fn number(token: &str) -> String {
    let (sign, unsigned) = token.strip_prefix('-').map_or(("", token), |unsigned| ("-", unsigned));
    let (digits, power) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, broken) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{broken}");
    let digits = all.trim_start_matches('0');
    let kept = digits.trim_end_matches('0');
    if kept.is_empty() {
        return "0".to_owned();
    }
    let moved = i128::try_from(digits.len() - kept.len()).unwrap_or_default()
        - i128::try_from(broken.len()).unwrap_or_default();
    match power.parse::<i64>() {
        Ok(power) => match i128::from(power) + moved {
            zeros @ 0..=20 => format!("{sign}{kept}{:0<1$}", "", usize::try_from(zeros).unwrap_or_default()),
            power => format!("{sign}{kept}e{power}"),
        },
        // So near to zero that nobody writes it twice.
        Err(_) => token.to_owned(),
    }
}

/// A number as JavaScript writes it.
fn floating(token: &str) -> String {
    let number = token.parse().ok().and_then(Number::from_f64);
    number.map_or_else(|| token.to_owned(), |number| number.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::is_echo;
    use super::{canonical_text, same};
    use crate::schema::canonical;

    /// Returns whether a [`Value`] may have fewer digits of a number than `text`, which is JSON.
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
                    let number = super::token(&text[start..]);
                    rest = &text.as_bytes()[start + number.len()..];
                    let is_whole = number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
                    let is_long = number.bytes().filter(u8::is_ascii_digit).count() > KEPT;
                    let is_tiny =
                        number.parse().is_ok_and(|number: f64| number != 0.0 && number.abs() < f64::MIN_POSITIVE);
                    let is_lost = number.parse() == Ok(0.0) && super::number(number) != "0";
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
    fn texts_are_the_same_whatever_their_form() {
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
            assert!(same(one, other), "{one} {other}");
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
            assert!(!same(one, other), "{one} {other}");
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
    fn what_a_tree_would_round_is_found() {
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
        fn it_is_the_same_for_one_value(text in r#"[{}\[\]",:0-9a-c\\u \-.e]{0,24}"#, other in r#"[{}\[\]",:0-9\\u \-.e]{0,24}"#) {
            for (one, other) in [(&text, &text), (&text, &other)] {
                let (Ok(a), Ok(b)) = (serde_json::from_str::<Value>(one), serde_json::from_str::<Value>(other)) else { continue };
                // A tree knows no more than these digits.
                if !rounds(one) && !rounds(other) {
                    prop_assert_eq!(same(one, other), canonical(&a) == canonical(&b));
                }
            }
        }

        #[test]
        fn it_does_not_matter_how_a_value_is_written(text in "[\\PC\\x00-\\x1f]{0,20}", float in any::<f64>(), integer in any::<i64>()) {
            let value = json!({ text.clone(): [text, { "b": float, "a": integer }] });
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            prop_assert!(same(&pretty, &value.to_string()));
            let again = canonical_text(&pretty).into_owned();
            prop_assert_eq!(canonical_text(&again), again.as_str());
        }
    }
}
