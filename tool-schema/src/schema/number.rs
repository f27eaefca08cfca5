//! Numbers by value: `1`, `1.0` and `10e-1` are one.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// The order of two numbers; exact for integers of 64 bits.
pub(super) fn compare(a: &Number, b: &Number) -> Ordering {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.as_f64().unwrap_or(f64::NAN).total_cmp(&b.as_f64().unwrap_or(f64::NAN)),
    }
}

/// The number as an integer, if it is one.
pub(super) fn whole(number: &Number) -> Option<i128> {
    if let Some(integer) = number.as_i128() {
        return Some(integer);
    }
    let float = number.as_f64()?;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and far smaller than an i128")]
    (float.fract() == 0.0 && float.abs() < 1e30).then_some(float as i128)
}

/// A count, as `minLength` and its like hold it.
pub(super) fn count(value: &Value) -> Option<u64> {
    value.as_number().and_then(whole).and_then(|count| u64::try_from(count).ok())
}

/// Whether two values are one in JSON Schema's eyes.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b).is_eq(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}
