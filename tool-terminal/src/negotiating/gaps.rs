//! What a value still lacks to be a whole shape, and what fills itself.

use serde_json::{Map, Value};

use super::ask;
use super::shape::{Kind, Shape};

/// The first gap in a value that is to become a whole `shape`.
pub(super) fn gaps(shape: &Shape, value: &Value, pointer: &str) -> Option<String> {
    match (&shape.kind, value) {
        (Kind::Object { fields, .. }, Value::Object(map)) => fields.iter().find_map(|field| {
            let pointer = ask::field(pointer, &field.name);
            match map.get(&field.name) {
                None if !field.required => None,
                known => gap(&field.shape, known, &pointer),
            }
        }),
        (Kind::List { item, least, .. }, Value::Array(items)) => {
            if items.len() < *least {
                return Some(pointer.to_owned());
            }
            items.iter().enumerate().find_map(|(at, known)| gaps(item, known, &format!("{pointer}/{at}")))
        }
        _ => None,
    }
}

/// The gap where a value has to be: the value itself, or one of its fields.
pub(super) fn gap(shape: &Shape, value: Option<&Value>, pointer: &str) -> Option<String> {
    match value {
        Some(value) => gaps(shape, value, pointer),
        None if shape.only().is_some() => None,
        None if shape.is_form() => gaps(shape, &Value::Object(Map::new()), pointer),
        None => Some(pointer.to_owned()),
    }
}

/// The value with what can only be one value filled in, in the order of the schema.
pub(super) fn filled(shape: &Shape, value: &Value) -> Value {
    match (&shape.kind, value) {
        (Kind::Object { fields, .. }, Value::Object(map)) => {
            let mut out = Map::new();
            for field in fields {
                let value = match map.get(&field.name) {
                    Some(value) => filled(&field.shape, value),
                    None if !field.required => continue,
                    None => match field.shape.only() {
                        Some(only) => only.clone(),
                        None if field.shape.is_form() => filled(&field.shape, &Value::Object(Map::new())),
                        None => continue,
                    },
                };
                out.insert(field.name.clone(), value);
            }
            for (name, value) in map {
                if !out.contains_key(name) {
                    out.insert(name.clone(), value.clone());
                }
            }
            Value::Object(out)
        }
        (Kind::List { item, .. }, Value::Array(items)) => items.iter().map(|value| filled(item, value)).collect(),
        _ => value.clone(),
    }
}
