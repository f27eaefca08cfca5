//! A schema document that grows: what occurs more than once stands in `$defs`. Its parts come from other documents.

use serde_json::{Map, Value, json};

use super::list_of;
use crate::schema::{dialect, pointer, words};

/// Definitions, each there as soon as something refers to it.
#[derive(Default)]
pub struct Document {
    definitions: Map<String, Value>,
}

/// Returns the schema of an object with these properties and no others.
pub fn object(properties: impl Into<Value>, required: &[&str]) -> Value {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    Value::Object(schema)
}

/// Returns the schema of a list of any number of these items.
pub fn any(item: &Value) -> Value {
    json!({ "type": "array", "items": item })
}

pub fn both_choices() -> Value {
    json!({ "required": ["allowedValues", "suggestedValues"] })
}

pub fn has_reason() -> Value {
    json!([{ "required": ["problems"] }, { "required": ["requiresValidParameters"] }])
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#{}", pointer::encode(&pointer::push("/$defs", name))) })
}

impl Document {
    /// Returns a reference to the definition `name`, which `make` makes if there is none yet.
    pub fn define(&mut self, name: &str, make: impl FnOnce(&mut Self) -> Value) -> Value {
        if !self.definitions.contains_key(name) {
            let made = make(self);
            self.definitions.insert(name.to_owned(), made);
        }
        reference(name)
    }

    /// Returns the schema of another document for one place: itself if it is short, else a reference to it.
    pub fn value(&mut self, name: &str, schema: &Value) -> Value {
        let written = move_schema(schema, schema, &format!("#/$defs/{name}"), true);
        if is_short(&written) { written } else { self.define(name, |_| written) }
    }

    /// Returns the schema of a list of at least one text.
    pub fn texts(&mut self) -> Value {
        self.define("texts", |_| list_of(&json!({ "type": "string" })))
    }

    /// Returns the schema of a list of at least one of `names`.
    pub fn names(&mut self, names: &[&str]) -> Value {
        self.define("names", |_| {
            list_of(&if names.is_empty() { json!({ "not": {} }) } else { json!({ "enum": names }) })
        })
    }

    /// Returns the schema of a report on one parameter, whatever its values are.
    pub fn report(&mut self, names: &[&str]) -> Value {
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

    /// Returns the schema of a refusal of an input that is one value.
    pub fn value_refusal(&mut self, value: &Value, required: &[&str]) -> Value {
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
    pub fn finish(self, mut schema: Value) -> Value {
        if let (Value::Object(map), false) = (&mut schema, self.definitions.is_empty()) {
            map.insert("$defs".to_owned(), Value::Object(self.definitions));
        }
        schema
    }
}

/// Returns whether `schema` is not longer than a reference to it, and has no references itself.
pub fn is_short(schema: &Value) -> bool {
    const SHORT: usize = 48;
    match schema {
        // Most schemas are longer by their number of keywords alone.
        Value::Object(map) if map.len() > 3 => false,
        schema => !has_references(schema) && schema.to_string().len() <= SHORT,
    }
}

/// `part` of `document`, or all of it, as it is to stand in another document that has `document` at `base`: references into
/// `document` lead there.
///
/// With `quiet`, keywords that are only there to be read are left out.
pub fn move_schema(part: &Value, document: &Value, base: &str, quiet: bool) -> Value {
    let name = document.get("$id").and_then(Value::as_str).map(|id| id.trim_end_matches('#'));
    let mut copy = part.clone();
    if let Value::Object(map) = &mut copy {
        map.shift_remove("$schema");
        map.shift_remove("$id");
    }
    move_references(&mut copy, &Move { name, base, quiet }, 0);
    copy
}

struct Move<'a> {
    /// The name of the document itself, if it has one.
    name: Option<&'a str>,
    base: &'a str,
    quiet: bool,
}

fn move_references(schema: &mut Value, to: &Move<'_>, level: usize) {
    if level > dialect::LEVELS {
        *schema = Value::Bool(true);
    }
    let Value::Object(map) = schema else { return };
    // A resource of its own: its references are relative to itself.
    if map.contains_key("$id") {
        return;
    }
    if to.quiet {
        map.retain(|word, _| !words::is_note(word) && word != "$comment");
    }
    for word in ["$ref", "$dynamicRef"] {
        if let Some(Value::String(reference)) = map.get_mut(word) {
            let local = to.name.and_then(|name| reference.strip_prefix(name)).unwrap_or(reference);
            // Anchors are found wherever they are.
            let pointer = local.strip_prefix('#').unwrap_or(local);
            if pointer.starts_with('/') && local.starts_with('#') || pointer.is_empty() {
                *reference = format!("{}{pointer}", to.base);
            }
        }
    }
    words::visit_children(map, |_, _, child| move_references(child, to, level + 1));
}

/// Returns whether there is a reference anywhere in `schema`.
pub fn has_references(schema: &Value) -> bool {
    fn look(schema: &Value, level: usize) -> bool {
        let Value::Object(map) = schema else { return false };
        level > dialect::LEVELS
            || map.contains_key("$ref")
            || map.contains_key("$dynamicRef")
            || words::inside(map).any(|(_, _, child)| look(child, level + 1))
    }
    look(schema, 0)
}
