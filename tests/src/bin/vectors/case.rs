//! Shared helpers: the notation of values in the files, and their comparison.

use serde_json::{Value, json};
use tool_runtime::{Context, Toolset};

/// Returns `value` without keys that are present without a value, which JSON writes as `{"$undefined": true}`.
pub(crate) fn without_undefined(mut value: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(strip),
            Value::Object(map) => {
                map.retain(|_, value| !is_undefined(value));
                map.values_mut().for_each(strip);
            }
            _ => {}
        }
    }
    strip(&mut value);
    value
}

/// Returns whether a key is present without a value.
pub(crate) fn is_undefined(value: &Value) -> bool {
    value.as_object().is_some_and(|map| map.len() == 1 && map.get("$undefined") == Some(&Value::Bool(true)))
}

/// Fails with the difference between `got` and `expected`, including the order of keys.
pub(crate) fn check_equal(expected: &Value, got: &Value) -> Result<(), String> {
    let (expected, got) = (expected.to_string(), got.to_string());
    if expected == got { Ok(()) } else { Err(format!("expected {expected}, got {got}")) }
}

/// Returns the answer of the only tool of a set.
pub(crate) async fn answer(tools: &Toolset, arguments: &Value) -> Value {
    let Some(tool) = tools.iter().next() else { return Value::Null };
    let result = tools.call(tool.name(), &arguments.to_string(), &Context::new("1")).await;
    json!(tool.spec().answer(&result))
}

/// Runs async work to its end.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(|error| error.to_string())?;
    runtime.block_on(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_without_a_value_are_removed_and_the_order_of_the_others_counts() {
        let undefined = json!({ "$undefined": true });
        let given = json!({ "b": undefined, "a": [{ "c": undefined, "d": null }] });
        assert_eq!(without_undefined(given), json!({ "a": [{ "d": null }] }));
        assert_eq!(check_equal(&json!({ "a": 1, "b": 2 }), &json!({ "a": 1, "b": 2 })), Ok(()));
        assert!(check_equal(&json!({ "a": 1, "b": 2 }), &json!({ "b": 2, "a": 1 })).is_err());
    }
}
