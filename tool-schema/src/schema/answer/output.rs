//! The schema of a success, which has the output in it.

use serde_json::{Map, Value, json};

use super::document::{Document, object};
use super::form::{Form, is_null, target};
use super::moved::{has_references, moved};
use crate::schema::{bound, pointer};

const PLACE: &str = "#/$defs/output";

const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// How many references are followed to make a schema open: one that refers to itself in the same place has no end.
const MOST_FOLLOWED: usize = 200;

/// The schema of a success with this output.
pub(super) fn success(document: &mut Document, output: Option<&Value>) -> Value {
    let mut properties = json!({ "ok": { "const": true } });
    let Some(output) = output else { return closed(document, properties, &["ok"]) };
    let schema = target(output).1;
    match Form::of(Some(output)) {
        Form::Merged => merged(document, output, schema),
        // `()` is not written; who writes it as null says the same.
        Form::Nothing if is_null(schema) => {
            properties["value"] = json!({ "type": "null" });
            closed(document, properties, &["ok"])
        }
        Form::Nothing => closed(document, properties, &["ok"]),
        Form::Wrapped => {
            properties["value"] = inside(document, output, output);
            closed(document, properties, &["ok", "value"])
        }
    }
}

fn closed(document: &mut Document, mut properties: Value, required: &[&str]) -> Value {
    properties["feedback"] = document.texts();
    properties["instructions"] = document.texts();
    object(properties, required)
}

/// `output`, or a part of it, as it is to stand in a success.
fn inside(document: &mut Document, output: &Value, part: &Value) -> Value {
    if has_references(output) {
        document.define("output", |_| referred(output));
    }
    let mut part = moved(part, output, PLACE, false);
    if let Value::Object(map) = &mut part {
        map.retain(|word, _| !DEFINITIONS.contains(&word.as_str()));
    }
    part
}

/// What references in `output` lead to: its definitions alone, if they lead nowhere else.
fn referred(output: &Value) -> Value {
    let mut whole = moved(output, output, PLACE, false);
    let text = whole.to_string();
    let leads = |to: &str| text.matches(&format!("\"{PLACE}{to}")).count();
    let to_definitions: usize = DEFINITIONS.iter().map(|word| leads(&format!("/{word}/"))).sum();
    if let (Value::Object(map), true) = (&mut whole, leads("") == to_definitions) {
        map.retain(|word, _| DEFINITIONS.contains(&word.as_str()));
    }
    whole
}

/// A success that has the properties of `schema`, which is `output` or what it refers to.
fn merged(document: &mut Document, output: &Value, schema: &Value) -> Value {
    let mut schema = schema.clone();
    let is_open = schema.get("additionalProperties").is_some_and(|rest| *rest != Value::Bool(false));
    open(output, &mut schema, &mut 0, 0);
    let Value::Object(mut map) = inside(document, output, &schema) else { return schema };
    let mut properties = Map::new();
    properties.insert("ok".to_owned(), json!({ "const": true }));
    if let Some(Value::Object(own)) = map.shift_remove("properties") {
        properties.extend(own);
    }
    for key in ["feedback", "instructions"] {
        properties.entry(key).or_insert_with(|| document.texts());
    }
    let mut required = vec![Value::from("ok")];
    if let Some(Value::Array(own)) = map.shift_remove("required") {
        required.extend(own.into_iter().filter(|key| key != "ok"));
    }
    let rest = if applies_in_place(&map) { "unevaluatedProperties" } else { "additionalProperties" };
    let mut whole = Map::new();
    whole.insert("type".to_owned(), "object".into());
    whole.insert("properties".to_owned(), properties.into());
    whole.insert("required".to_owned(), required.into());
    map.shift_remove("type");
    whole.extend(map);
    if !is_open {
        whole.insert(rest.to_owned(), Value::Bool(false));
    }
    Value::Object(whole)
}

/// Whether properties may be declared beside `properties`.
fn applies_in_place(schema: &Map<String, Value>) -> bool {
    const WORDS: [&str; 8] = ["allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas", "$ref", "$dynamicRef"];
    WORDS.iter().any(|word| schema.contains_key(*word))
}

/// Lets `schema` and what holds in the same place be one of several that say something about an object.
fn open(root: &Value, schema: &mut Value, followed: &mut usize, level: usize) {
    if level > bound::LEVELS {
        return;
    }
    // The target is closed for others that refer to it, and is open here.
    if let Some((_, target)) = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| pointer::resolve(root, "", reference))
        .filter(|_| level > 0 && *followed < MOST_FOLLOWED)
    {
        let (mut target, Some(map)) = (target.clone(), schema.as_object_mut()) else { return };
        *followed += 1;
        open(root, &mut target, followed, level + 1);
        map.shift_remove("$ref");
        *schema = match (map.is_empty(), target) {
            (true, target) => target,
            (false, target) => json!({ "allOf": [target, Value::Object(std::mem::take(map))] }),
        };
        return;
    }
    let Value::Object(map) = schema else { return };
    for word in ["additionalProperties", "unevaluatedProperties"] {
        if map.get(word) == Some(&Value::Bool(false)) {
            map.shift_remove(word);
        }
    }
    for word in ["allOf", "anyOf", "oneOf"] {
        if let Some(Value::Array(parts)) = map.get_mut(word) {
            for part in parts {
                open(root, part, followed, level + 1);
            }
        }
    }
}
