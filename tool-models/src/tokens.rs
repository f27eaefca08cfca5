//! Numbers of tokens, as servers write them.

use serde_json::Value;

/// Returns a number of tokens: a whole number, or from some servers a float or a text. Anything else counts as missing, because a
/// turn is worth more than its count.
pub fn read_count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| from_float(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok().or_else(|| from_float(text.trim().parse().ok()?)),
        _ => None,
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast ends at the bounds of the type")]
fn from_float(number: f64) -> Option<u64> {
    (number >= 0.0).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_in_every_form() {
        for (value, expected) in [
            (json!(3), Some(3)),
            (json!(3.0), Some(3)),
            (json!("3"), Some(3)),
            (json!(" 3.0 "), Some(3)),
            (json!(u64::MAX), Some(u64::MAX)),
            (json!(1e300), Some(u64::MAX)),
            (json!(-1), None),
            (json!("many"), None),
            (json!(null), None),
            (json!([]), None),
            (json!(true), None),
        ] {
            assert_eq!(read_count(&value), expected, "{value}");
        }
    }
}
