//! Readers of events and members that servers write in different ways. A turn is worth more than a member beside its content, so a
//! value that cannot be read counts as missing.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;
#[cfg(feature = "openai")]
use serde_json::value::RawValue;

#[cfg(feature = "openai")]
use crate::error::unreadable_error;
#[cfg(feature = "openai")]
use tool_runtime::model::ModelError;

/// The key of a call, a block, a step or an item: the value that its pieces share. Most servers count from 0. Others send `-1`, a
/// text, or `0.0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<usize> for Key {
    fn from(number: usize) -> Self {
        Self(number.to_string())
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Value::deserialize(deserializer)? {
            Value::String(text) => text,
            Value::Number(number) => {
                let text = number.to_string();
                text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
            }
            other => other.to_string(),
        }))
    }
}

/// Returns whether an event is the mark at the end of a stream.
pub fn is_end_mark(data: &str) -> bool {
    data.eq_ignore_ascii_case("[DONE]")
}

/// Reads a member of one type. A value of another type counts as missing.
pub fn if_fits<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(deserializer)?).ok())
}

/// Returns the members of a list. Any other value is a list of itself.
#[cfg(feature = "openai")]
pub fn list_of(json: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str(json.get()).unwrap_or_else(|_| vec![json])
}

/// Reads the objects of a list, without its other members. One object is a list of itself, and any other value is an empty one.
#[cfg(feature = "openai")]
pub fn read_objects<'a, T: Deserialize<'a>>(json: Option<&'a RawValue>) -> Result<Vec<T>, ModelError> {
    let objects = json.map(list_of).unwrap_or_default().into_iter().filter(|value| value.get().starts_with('{'));
    objects.map(read_object).collect()
}

/// Reads an object.
#[cfg(feature = "openai")]
pub fn read_object<'a, T: Deserialize<'a>>(json: &'a RawValue) -> Result<T, ModelError> {
    let unreadable = |error| unreadable_error("an event has an unexpected value", json.get()).with_source(error);
    serde_json::from_str(json.get()).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Deserialize)]
    struct Event {
        index: Option<Key>,
        #[serde(default, deserialize_with = "if_fits")]
        text: Option<String>,
        #[serde(default, deserialize_with = "if_fits")]
        count: Option<u64>,
    }

    #[test]
    fn keys_of_any_form() {
        let key = |value: Value| serde_json::from_value::<Event>(json!({"index": value})).unwrap().index;
        assert_eq!(key(json!(null)), None);
        for (value, expected) in
            [(json!(0), "0"), (json!(0.0), "0"), (json!("0"), "0"), (json!(-1), "-1"), (json!("a"), "a")]
        {
            assert_eq!(key(value.clone()).unwrap().as_str(), expected, "{value}");
        }
        assert_eq!(key(json!(7)), Some(Key::from(7)));
    }

    #[test]
    fn a_value_of_another_type_is_missing() {
        let event: Event = serde_json::from_value(json!({"text": {"a": 1}, "count": -1})).unwrap();
        assert_eq!((event.index, event.text, event.count), (None, None, None));
        let event: Event = serde_json::from_value(json!({"text": "a", "count": 1})).unwrap();
        assert_eq!((event.text.as_deref(), event.count), (Some("a"), Some(1)));
    }
}
