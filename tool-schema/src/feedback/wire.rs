//! How answers cross the wire: what is not said is not there, and nothing else is.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
    ser::SerializeMap,
};
use serde_json::Value;

use super::Choices;

/// Writes a list that is left out when it is empty.
pub(super) fn list<M: SerializeMap, T: Serialize>(map: &mut M, key: &str, items: &[T]) -> Result<(), M::Error> {
    if items.is_empty() { Ok(()) } else { map.serialize_entry(key, items) }
}

pub(super) fn write_choices<M: SerializeMap>(map: &mut M, choices: &Choices) -> Result<(), M::Error> {
    match choices {
        Choices::Open => Ok(()),
        Choices::Allowed(values) => map.serialize_entry("allowedValues", values),
        Choices::Suggested(values) => list(map, "suggestedValues", values),
    }
}

/// A value that is there: `null` is one, and stands for nothing else.
pub(super) fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// A struct that is written as an object: serde would read a list too.
pub(super) fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    struct Object<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
        type Value = T;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(entries))
        }
    }

    from.deserialize_map(Object(PhantomData))
}

/// A list that is not empty where it is there.
pub(super) fn filled<T, E: Error>(key: &str, list: Option<Vec<T>>) -> Result<Vec<T>, E> {
    match list {
        Some(list) if list.is_empty() => Err(E::custom(format_args!("`{key}` is left out when it is empty"))),
        list => Ok(list.unwrap_or_default()),
    }
}

/// One of both lists, or none.
pub(super) fn choices<E: Error>(allowed: Option<Vec<Value>>, suggested: Option<Vec<Value>>) -> Result<Choices, E> {
    match (allowed, suggested) {
        (None, None) => Ok(Choices::Open),
        (Some(allowed), None) => Ok(Choices::Allowed(allowed)),
        (None, suggested) => Ok(Choices::Suggested(filled("suggestedValues", suggested)?)),
        (Some(_), Some(_)) => Err(E::custom("`allowedValues` and `suggestedValues` exclude each other")),
    }
}
