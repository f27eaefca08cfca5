//! The schemas of a tool whose parameters may be missing.

use serde_json::{Map, Value};

/// The keywords by which a schema says itself what else an object may hold, or where its properties are.
const OPEN: [&str; 9] = [
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
];

/// The schema of complete arguments: an object that takes no other names, unless it says something about them. Where the
/// root is only a reference to a definition, the definition takes its place.
pub fn complete(schema: Value) -> Map<String, Value> {
    let Value::Object(mut schema) = schema else { return Map::new() };
    if let Some(root) = referred(&schema) {
        schema.shift_remove("$ref");
        for (key, value) in root {
            schema.entry(key).or_insert(value);
        }
    }
    schema.entry("type").or_insert_with(|| "object".into());
    if !OPEN.iter().any(|key| schema.contains_key(*key)) {
        schema.insert("additionalProperties".into(), false.into());
    }
    schema
}

fn referred(schema: &Map<String, Value>) -> Option<Map<String, Value>> {
    let place = schema.get("$ref")?.as_str()?.strip_prefix("#/")?;
    if schema.contains_key("properties") {
        return None;
    }
    let mut segments = place.split('/').map(|segment| segment.replace("~1", "/").replace("~0", "~"));
    let first = schema.get(&segments.next()?)?;
    segments.try_fold(first, |value, segment| value.get(segment))?.as_object().cloned()
}

/// The same schema for arguments of which some of the `dynamic` parameters are missing; with their descriptions.
pub fn partial<'n>(complete: &Map<String, Value>, dynamic: impl Iterator<Item = (&'n str, Option<&'n str>)>) -> Value {
    let mut schema = complete.clone();
    for (name, description) in dynamic {
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.retain(|required| required != name);
        }
        let property = schema.get_mut("properties").and_then(|properties| properties.get_mut(name));
        let (Some(property), Some(description)) = (property, description) else { continue };
        if *property == Value::Bool(true) {
            *property = Value::Object(Map::new());
        }
        if let Value::Object(property) = property {
            property.insert("description".into(), description.into());
        }
    }
    if schema.get("required").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        schema.shift_remove("required");
    }
    Value::Object(schema)
}
