//! One text for one value: what fingerprints are made of.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use super::number;
use crate::json;

/// `value` as its canonical JSON text: the same value gives the same text in every process, whatever the order of its
/// keys and however its numbers were written.
///
/// - No white space; the keys of an object sorted by their UTF-8 bytes; the order of arrays kept, also where it means
///   nothing to JSON Schema (`required`).
/// - Numbers by value: `1`, `1.0` and `10e-1` are `1`, `-0.0` is `0`. Integers of 64 bits keep every digit; other
///   numbers have the fewest digits that read back as the same `f64`.
/// - Strings escaped as `serde_json` does: only what must be.
///
/// Needs no stack for deep values.
///
/// ```
/// # use tool_runtime::schema::canonical;
/// # use serde_json::json;
/// assert_eq!(canonical(&json!({"b": 1.0, "a": [true, null]})), r#"{"a":[true,null],"b":1}"#);
/// ```
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    let mut todo = vec![Todo::Value(value)];
    while let Some(next) = todo.pop() {
        match next {
            Todo::Text(part) => text.push_str(part),
            Todo::Key(key) => {
                string(key, &mut text);
                text.push(':');
            }
            Todo::Value(Value::Array(list)) => {
                text.push('[');
                todo.push(Todo::Text("]"));
                separated(&mut todo, list.iter().rev().map(|one| (None, one)));
            }
            Todo::Value(Value::Object(map)) => {
                text.push('{');
                todo.push(Todo::Text("}"));
                separated(&mut todo, sorted(map).into_iter().rev().map(|(key, one)| (Some(key), one)));
            }
            Todo::Value(Value::Number(one)) => numeral(one, &mut text),
            Todo::Value(Value::String(one)) => string(one, &mut text),
            Todo::Value(Value::Bool(true)) => text.push_str("true"),
            Todo::Value(Value::Bool(false)) => text.push_str("false"),
            Todo::Value(Value::Null) => text.push_str("null"),
        }
    }
    text
}

/// What the JSON `text` says, as one text: that of [`canonical`], so that it does not matter how it was written. A text with
/// a number that a [`Value`] would round is its own: it says the same as itself only. So is what is no JSON; a blank text
/// says `{}`.
pub(crate) fn canonical_text(text: &str) -> Cow<'_, str> {
    let text = if json::is_blank(text) { "{}" } else { text };
    match serde_json::from_str(text) {
        Ok(value) if !rounds(text) => Cow::Owned(canonical(&value)),
        _ => Cow::Borrowed(text),
    }
}

/// Whether a number in `text`, which is JSON, may have more digits than a [`Value`] keeps.
fn rounds(text: &str) -> bool {
    const KEPT: usize = 15;
    let (bytes, mut at, mut in_string) = (text.as_bytes(), 0, false);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => at += 1,
            b'-' | b'0'..=b'9' if !in_string => {
                let start = at - 1;
                while matches!(bytes.get(at), Some(b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) {
                    at += 1;
                }
                let number = &text[start..at];
                let is_whole = number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
                if !is_whole && number.bytes().filter(u8::is_ascii_digit).count() > KEPT {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

enum Todo<'a> {
    Value(&'a Value),
    Key(&'a str),
    Text(&'static str),
}

/// Puts the members on the stack, the last first, with commas between them.
fn separated<'a>(todo: &mut Vec<Todo<'a>>, members: impl Iterator<Item = (Option<&'a str>, &'a Value)>) {
    for (i, (key, value)) in members.enumerate() {
        if i > 0 {
            todo.push(Todo::Text(","));
        }
        todo.push(Todo::Value(value));
        todo.extend(key.map(Todo::Key));
    }
}

fn sorted(map: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut members: Vec<_> = map.iter().map(|(key, value)| (key.as_str(), value)).collect();
    members.sort_unstable_by_key(|(key, _)| *key);
    members
}

fn string(value: &str, text: &mut String) {
    text.push_str(&serde_json::to_string(value).expect("a string is always JSON"));
}

fn numeral(value: &Number, text: &mut String) {
    match number::whole(value) {
        Some(integer) if i64::try_from(integer).is_ok() || u64::try_from(integer).is_ok() => {
            text.push_str(&integer.to_string());
        }
        _ => text.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_and_numbers_are_values() {
        let value =
            json!({"z": [1.0, -0.0, 0.1, 1e300, u64::MAX, i64::MIN, 100.0], "é": "\u{1}\"", "a": {"b": {}, "a": []}});
        assert_eq!(
            canonical(&value),
            "{\"a\":{\"a\":[],\"b\":{}},\"z\":[1,0,0.1,1e+300,18446744073709551615,-9223372036854775808,100],\"é\":\"\\u0001\\\"\"}"
        );
    }

    #[test]
    fn depth_needs_no_stack() {
        let mut value = Value::Null;
        for _ in 0..100_000 {
            value = Value::Array(vec![value]);
        }
        assert_eq!(canonical(&value).len(), 200_004);
        // Dropping it would need a stack.
        std::mem::forget(value);
    }

    #[test]
    fn texts_that_say_the_same_are_one_unless_digits_would_be_lost() {
        let same = |a, b| canonical_text(a) == canonical_text(b);
        assert!(same(r#"{"a": 1.0, "b": [1e2]}"#, r#"{"b":[100],"\u0061":1}"#));
        assert!(same("", " {} "));
        assert!(same(r#"{"a":9223372036854775807,"b":0}"#, r#"{"b":0,"a":9223372036854775807}"#));
        assert!(!same("[9223372036854775808]", "[9223372036854775809]"));
        for (one, other) in [
            ("[-9223372036854775809]", "[-9223372036854775808]"),
            ("[18446744073709551616]", "[18446744073709551617]"),
            ("[0.1234567890123456789]", "[0.1234567890123456788]"),
            (r#"["\"",100000000000000000001]"#, r#"["\"",100000000000000000002]"#),
        ] {
            assert!(!same(one, other), "{one} {other}");
        }
        assert!(same(r#"["100000000000000000001",  1]"#, r#"["100000000000000000001",1]"#), "a text is not a number");
        assert!(!same("{", "{}"));
    }

    proptest! {
        #[test]
        fn it_reads_back_as_the_same_value(text in "[\\PC\\x00-\\x1f]{0,20}", float in any::<f64>(), integer in any::<i64>()) {
            let value = json!({text.clone(): [text, float, integer]});
            let read: Value = serde_json::from_str(&canonical(&value)).unwrap();
            prop_assert!(number::same(&value, &read), "{value} {read}");
            prop_assert_eq!(canonical(&read), canonical(&value));
        }
    }
}
