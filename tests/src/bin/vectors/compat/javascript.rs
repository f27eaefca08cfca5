//! Compares, orders and reads values as JavaScript does.

use std::cmp::Ordering;

use serde_json::{Map, Value};
use tool_runtime::feedback::Rejection;
use tool_runtime::{CallError, Failure};
use tool_schema::feedback::explain_syntax_error;

/// ASCII except letters and digits, in dictionary order.
const SIGNS: &str = "\t\n\u{b}\u{c}\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

/// Compares like `localeCompare` (ICU, en-US) for ASCII: signs, digits, letters, and case only if nothing else differs. Other
/// characters come last, by code point.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    let rank = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() => (1, u32::from(c)),
        c => SIGNS
            .chars()
            .position(|sign| sign == c)
            .map_or((2, u32::from(c)), |index| (0, u32::try_from(index).unwrap_or(u32::MAX))),
    };
    let is_capital = |c: char| c.is_ascii_uppercase();
    a.chars().map(rank).cmp(b.chars().map(rank)).then_with(|| a.chars().map(is_capital).cmp(b.chars().map(is_capital)))
}

/// Returns the rank of a key in an object: indices first, by size, then all others in their order.
pub(crate) fn key_rank(key: &str) -> (bool, u32) {
    let is_index = key == "0" || (!key.starts_with('0') && key.bytes().all(|byte| byte.is_ascii_digit()));
    match key.parse() {
        Ok(index) if is_index && index < u32::MAX => (false, index),
        _ => (true, 0),
    }
}

/// Returns an object with its keys in JavaScript's order.
pub(crate) fn ordered(object: Map<String, Value>) -> Map<String, Value> {
    let mut entries: Vec<(String, Value)> = object.into_iter().collect();
    entries.sort_by_key(|(name, _)| key_rank(name));
    entries.into_iter().collect()
}

/// Returns whether a value counts as true.
pub(crate) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// Compares like `isDeepStrictEqual`: all numbers are floats, 0 and -0 differ, and the order of keys does not count.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64().map(f64::to_bits) == b.as_f64().map(f64::to_bits),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Reads arguments. A value that is not an object has no parameters, but `null` is an error.
pub(crate) fn read_arguments(text: &str) -> Result<Map<String, Value>, CallError> {
    let read = serde_json::from_str(text).map_err(|error| Rejection::one(explain_syntax_error(text, &error)))?;
    match read {
        Value::Object(arguments) => Ok(ordered(arguments)),
        Value::Null => Err(Failure::new("Cannot convert undefined or null to object").into()),
        Value::Array(items) => Ok(items.into_iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect()),
        Value::String(text) => {
            Ok(text.chars().enumerate().map(|(at, c)| (at.to_string(), c.to_string().into())).collect())
        }
        Value::Bool(_) | Value::Number(_) => Ok(Map::new()),
    }
}

/// Fails if a validator's result cannot have properties.
pub(crate) fn check_properties(result: &Value) -> Result<(), Failure> {
    if result.is_null() {
        return Err(Failure::new("Cannot read properties of null (reading 'normalizedValue')"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sorted<const N: usize>(mut names: [&str; N]) -> [&str; N] {
        names.sort_by(|a, b| compare(a, b));
        names
    }

    #[test]
    fn names_are_compared_as_in_a_dictionary() {
        assert_eq!(sorted(["B", "b", "A", "a"]), ["a", "A", "b", "B"]);
        assert_eq!(sorted(["Z", "a", "_z"]), ["_z", "a", "Z"]);
        assert_eq!(sorted(["z9", "z10", "z1"]), ["z1", "z10", "z9"]);
        let departures = ["departureDate", "departure_date", "departure"];
        assert_eq!(sorted(departures), ["departure", "departure_date", "departureDate"]);
        assert_eq!(sorted(["ä", "z", "9"]), ["9", "z", "ä"]);
    }

    #[test]
    fn indices_come_first() {
        let object = json!({ "b": 0, "10": 1, "9": 2, "01": 3, "4294967295": 4, "-1": 5 });
        let Value::Object(object) = object else { unreachable!() };
        let keys: Vec<String> = ordered(object).into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["9", "10", "b", "01", "4294967295", "-1"]);
    }

    #[test]
    fn numbers_are_compared_as_floats() {
        assert!(equal(&json!({ "a": [1], "b": null }), &json!({ "b": null, "a": [1.0] })));
        assert!(!equal(&json!(0.0), &json!(-0.0)));
        assert!(!equal(&json!({ "a": 1 }), &json!({ "a": 1, "b": 2 })));
        assert!([json!(false), json!(0), json!(-0.0), json!(""), json!(null)].iter().all(|value| !is_true(value)));
        assert!([json!([]), json!({}), json!("0"), json!(0.1)].iter().all(is_true));
    }
}
