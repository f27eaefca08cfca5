//! A schema document that grows: what is said more than once is said in `$defs`.

use serde_json::{Map, Value, json};

use super::list_of;
use super::moved::{has_references, moved};
use crate::schema::pointer;

/// Definitions, each there as soon as something refers to it.
#[derive(Default)]
pub(super) struct Document {
    definitions: Map<String, Value>,
}

/// An object with these properties and no others.
pub(super) fn object(properties: impl Into<Value>, required: &[&str]) -> Value {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    Value::Object(schema)
}

/// Any number of these items.
pub(super) fn any(item: &Value) -> Value {
    json!({ "type": "array", "items": item })
}

pub(super) fn both_choices() -> Value {
    json!({ "required": ["allowedValues", "suggestedValues"] })
}

pub(super) fn has_reason() -> Value {
    json!([{ "required": ["problems"] }, { "required": ["requiresValidParameters"] }])
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#{}", pointer::encoded(&pointer::push("/$defs", name))) })
}

impl Document {
    /// A reference to the definition `name`, which `make` makes if there is none yet.
    pub(super) fn define(&mut self, name: &str, make: impl FnOnce(&mut Self) -> Value) -> Value {
        if !self.definitions.contains_key(name) {
            let made = make(self);
            self.definitions.insert(name.to_owned(), made);
        }
        reference(name)
    }

    /// A stranger's schema, where it is needed: itself if it is short, else a reference to it.
    pub(super) fn value(&mut self, name: &str, schema: &Value) -> Value {
        let written = moved(schema, schema, &format!("#/$defs/{name}"), true);
        if is_short(&written) { written } else { self.define(name, |_| written) }
    }

    /// A list of at least one text.
    pub(super) fn texts(&mut self) -> Value {
        self.define("texts", |_| list_of(&json!({ "type": "string" })))
    }

    /// A list of at least one of `names`.
    pub(super) fn names(&mut self, names: &[&str]) -> Value {
        self.define("names", |_| {
            list_of(&if names.is_empty() { json!({ "not": {} }) } else { json!({ "enum": names }) })
        })
    }

    /// What is said of one parameter, whatever its values are.
    pub(super) fn report(&mut self, names: &[&str]) -> Value {
        self.define("report", |document| {
            let properties = json!({
                "valid": { "type": "boolean" },
                "problems": document.texts(),
                "requiresValidParameters": document.names(names),
                "normalizedValue": {},
                "dynamicParameterSchema": {},
                "allowedValues": { "type": "array" },
                "suggestedValues": { "type": "array", "minItems": 1 },
                "feedback": document.texts(),
                "instructions": document.texts(),
            });
            let mut schema = object(properties, &["valid"]);
            // Valid, or with a reason: never both, never neither.
            schema["oneOf"] = json!([{ "properties": { "valid": { "const": true } } }, { "anyOf": has_reason() }]);
            schema["not"] = both_choices();
            schema
        })
    }

    /// What is said of a refused input that is one value.
    pub(super) fn judged(&mut self, value: &Value, required: &[&str]) -> Value {
        let properties = json!({
            "problems": self.texts(),
            "normalizedValue": value,
            "dynamicParameterSchema": {},
            "allowedValues": any(value),
            "suggestedValues": list_of(value),
            "feedback": self.texts(),
            "instructions": self.texts(),
        });
        let mut schema = object(properties, required);
        schema["not"] = both_choices();
        schema
    }

    /// `schema` with the definitions that it needs.
    pub(super) fn finish(self, mut schema: Value) -> Value {
        if let (Value::Object(map), false) = (&mut schema, self.definitions.is_empty()) {
            map.insert("$defs".to_owned(), Value::Object(self.definitions));
        }
        schema
    }
}

/// Whether `schema` is not longer than a reference to it, and has no references itself.
pub(super) fn is_short(schema: &Value) -> bool {
    const SHORT: usize = 48;
    match schema {
        // Most schemas are longer by their number of keywords alone.
        Value::Object(map) if map.len() > 3 => false,
        schema => !has_references(schema) && schema.to_string().len() <= SHORT,
    }
}
