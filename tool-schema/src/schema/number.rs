//! Numbers by value: `1`, `1.0` and `10e-1` are one.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use crate::json::decimal;

/// Returns the order of two numbers; exact for integers of 64 bits.
pub fn compare(a: &Number, b: &Number) -> Ordering {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.as_f64().unwrap_or(f64::NAN).total_cmp(&b.as_f64().unwrap_or(f64::NAN)),
    }
}

/// Returns the number as an integer, if it is one.
pub fn whole(number: &Number) -> Option<i128> {
    if let Some(integer) = number.as_i128() {
        return Some(integer);
    }
    let float = number.as_f64()?;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and far smaller than an i128")]
    (float.fract() == 0.0 && float.abs() < 1e30).then_some(float as i128)
}

/// Returns whether the number has no fraction.
pub fn is_whole(number: &Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

/// Returns whether `number` is a multiple of `step`, both as they are written in decimal digits.
pub fn is_multiple(number: &Number, step: &Number) -> bool {
    let parts = |number: &Number| {
        let (digits, power) = decimal(&number.to_string())?;
        Some((if digits.is_empty() { 0 } else { digits.parse::<u128>().ok()? }, power))
    };
    let (Some((digits, power)), Some((step, step_power))) = (parts(number), parts(step)) else { return false };
    if digits == 0 || step == 0 {
        return digits == 0;
    }
    match u32::try_from(step_power - power) {
        // The number has fewer digits than that many zeros.
        Ok(zeros) => {
            10_u128.checked_pow(zeros).is_some_and(|unit| step.checked_mul(unit).is_some_and(|step| digits % step == 0))
        }
        // Below 2^64 each, so that products fit.
        Err(_) => (step_power..power).fold(digits % step, |rest, _| rest * 10 % step) == 0,
    }
}

/// Returns the value of a count, such as `minLength`.
pub fn count(value: &Value) -> Option<u64> {
    value.as_number().and_then(whole).and_then(|count| u64::try_from(count).ok())
}

/// Returns whether two values are one in JSON Schema's eyes.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b).is_eq(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}
