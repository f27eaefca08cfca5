//! One text for one value: what fingerprints are made of.

use serde_json::{Map, Number, Value};

use super::number;

/// `value` as its canonical JSON text: the same value gives the same text in every process, whatever the order of its
/// keys and however its numbers were written.
///
/// - No white space; the keys of an object sorted by their UTF-8 bytes; the order of arrays kept, also where it means
///   nothing to JSON Schema (`required`).
/// - Numbers by value: `1`, `1.0` and `10e-1` are `1`, `-0.0` is `0`. Integers of 64 bits keep every digit; other
///   numbers have the fewest digits that read back as the same `f64`.
/// - Strings escaped as `serde_json` does: only what must be.
///
/// Needs no stack for deep values. It rounds as a [`Value`] does; [`canonical_text`](crate::json::canonical_text) keeps
/// every digit of a text.
///
/// ```
/// # use tool_schema::schema::canonical;
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
