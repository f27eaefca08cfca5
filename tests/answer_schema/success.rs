//! The schema of a success, which contains the output.

use serde_json::{Map, Value, json};
use tool_schema::schema::{answer::Form, pointer};

use super::{Document, MAX_NESTING, has_references, move_schema, object};

/// Follows a `$ref` as long as no `properties` are beside it. Returns the last place and the schema there.
pub fn follow_references(root: &Value) -> (String, &Value) {
    let mut found = (String::new(), root);
    for _ in 0..MAX_NESTING {
        let reference = found.1.get("$ref").and_then(Value::as_str);
        let (Some(reference), None) = (reference, found.1.get("properties")) else { break };
        match pointer::resolve(root, &found.0, reference) {
            Some(next) => found = next,
            None => break,
        }
    }
    found
}

/// Returns the properties that an object's schema declares, or `None` for a map and for another schema.
pub fn declared_properties(schema: &Value) -> Option<&Map<String, Value>> {
    let is_object = schema.get("type").is_none_or(|kind| kind == "object");
    let properties = schema.get("properties")?.as_object()?;
    let is_map =
        properties.is_empty() && schema.get("additionalProperties").is_some_and(|rest| *rest != Value::Bool(false));
    (is_object && !is_map).then_some(properties)
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null")
}

const OUTPUT: &str = "#/$defs/output";

const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// The maximum number of references that are followed to open a schema, because a schema can refer to itself.
const MAX_FOLLOWED: usize = 200;

pub fn build_success(document: &mut Document, output: Option<&Value>) -> Value {
    let mut properties = json!({ "ok": { "const": true } });
    let Some(output) = output else { return finish_success(document, properties, &["ok"]) };
    let (_, schema) = follow_references(output);
    match Form::of(Some(output)) {
        Form::Merged => merge(document, output, schema),
        // For `()`, the answer has no `value`, or the `value` null.
        Form::Nothing if is_null(schema) => {
            properties["value"] = json!({ "type": "null" });
            finish_success(document, properties, &["ok"])
        }
        Form::Nothing => finish_success(document, properties, &["ok"]),
        _ => {
            properties["value"] = move_part(document, output, output);
            finish_success(document, properties, &["ok", "value"])
        }
    }
}

fn finish_success(document: &mut Document, mut properties: Value, required: &[&str]) -> Value {
    properties["feedback"] = document.texts();
    properties["instructions"] = document.texts();
    object(properties, required)
}

/// Returns `part` of `output`, with its references changed for a success.
fn move_part(document: &mut Document, output: &Value, part: &Value) -> Value {
    if has_references(output) {
        document.define("output", |_| move_definitions(output));
    }
    let mut part = move_schema(part, output, OUTPUT, false);
    if let Value::Object(map) = &mut part {
        map.retain(|word, _| !DEFINITIONS.contains(&word.as_str()));
    }
    part
}

/// Returns the targets of references in `output`: its definitions, or all of `output` if a reference leads elsewhere.
fn move_definitions(output: &Value) -> Value {
    let mut whole = move_schema(output, output, OUTPUT, false);
    let text = whole.to_string();
    let leads = |to: &str| text.matches(&format!("\"{OUTPUT}{to}")).count();
    let to_definitions: usize = DEFINITIONS.iter().map(|word| leads(&format!("/{word}/"))).sum();
    if let (Value::Object(map), true) = (&mut whole, leads("") == to_definitions) {
        map.retain(|word, _| DEFINITIONS.contains(&word.as_str()));
    }
    whole
}

/// Returns the schema of a success with the properties of `schema`, which is `output` or its target.
fn merge(document: &mut Document, output: &Value, schema: &Value) -> Value {
    let mut schema = schema.clone();
    let is_open = schema.get("additionalProperties").is_some_and(|rest| *rest != Value::Bool(false));
    open(output, &mut schema, &mut 0, 0);
    let Value::Object(mut map) = move_part(document, output, &schema) else { return schema };
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
    let rest = if has_combinations(&map) { "unevaluatedProperties" } else { "additionalProperties" };
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

/// Returns whether `schema` applies other schemas to the same object. These may declare properties, too.
fn has_combinations(schema: &Map<String, Value>) -> bool {
    const WORDS: [&str; 8] = ["allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas", "$ref", "$dynamicRef"];
    WORDS.iter().any(|word| schema.contains_key(*word))
}

/// Opens `schema` and the schemas that apply to the same object, so that the answer's own keys are accepted.
fn open(root: &Value, schema: &mut Value, followed: &mut usize, level: usize) {
    if level > MAX_NESTING {
        return;
    }
    // Open a copy of the target, because other references need the closed target.
    if let Some((_, target)) = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| pointer::resolve(root, "", reference))
        .filter(|_| level > 0 && *followed < MAX_FOLLOWED)
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
