//! Odd shapes, written as a person would.

use serde_json::{Map, Value, json};

use crate::schema::words;

/// A wrapper of one: `{"allOf": [X], "description": …}` becomes X with that description.
pub(super) fn unwrap_single(schema: &mut Map<String, Value>) {
    for word in ["allOf", "anyOf", "oneOf"] {
        let Some([Value::Object(inner)]) = schema.get(word).and_then(Value::as_array).map(Vec::as_slice) else {
            continue;
        };
        if !only_annotations_beside(schema, word) || clash(schema, inner) {
            continue;
        }
        let inner = inner.clone();
        schema.shift_remove(word);
        schema.extend(inner);
    }
}

/// `anyOf` of a plain type and null: the type, or null.
pub(super) fn join_null(schema: &mut Map<String, Value>) {
    for word in ["anyOf", "oneOf"] {
        let Some([first, second]) = schema.get(word).and_then(Value::as_array).map(Vec::as_slice) else { continue };
        let null = |one: &Value| *one == json!({"type": "null"});
        let plain = if null(second) { first } else { second };
        let (true, Value::Object(plain)) = (null(first) != null(second), plain) else { continue };
        let Some(kind) = plain.get("type").and_then(Value::as_str).filter(|kind| *kind != "null") else { continue };
        let combined = ["$ref", "allOf", "anyOf", "oneOf", "not", "if"].iter().any(|word| plain.contains_key(*word));
        if combined || !only_annotations_beside(schema, word) || clash(schema, plain) {
            continue;
        }
        let mut joined = plain.clone();
        joined["type"] = json!([kind, "null"]);
        if let Some(only) = joined.shift_remove("const") {
            joined.insert("enum".to_owned(), json!([only, null]));
        } else if let Some(Value::Array(values)) = joined.get_mut("enum") {
            values.push(Value::Null);
        }
        schema.shift_remove(word);
        schema.extend(joined);
    }
}

/// An enumeration of constants, some with a description each: one `enum`, and a list in the description.
pub(super) fn join_constants(schema: &mut Map<String, Value>) {
    for word in ["oneOf", "anyOf"] {
        let Some(members) = schema.get(word).and_then(Value::as_array) else { continue };
        if !only_annotations_beside(schema, word) {
            continue;
        }
        let Some(constants) = members.iter().map(constants).collect::<Option<Vec<_>>>() else { continue };
        let values: Vec<Value> = constants.iter().flat_map(|(values, _)| values.iter().cloned()).collect();
        let twice = values.iter().enumerate().any(|(i, value)| values[..i].contains(value));
        if twice || !values.iter().any(Value::is_string) {
            continue;
        }
        let documented =
            constants.iter().filter_map(|(values, doc)| Some(format!("- `{}`: {}", text(values.first()?), (*doc)?)));
        let list = documented.collect::<Vec<_>>().join("\n");
        let kind = if values.contains(&Value::Null) { json!(["string", "null"]) } else { json!("string") };
        schema.shift_remove(word);
        schema.insert("type".to_owned(), kind);
        schema.insert("enum".to_owned(), Value::Array(values));
        if !list.is_empty() {
            let lead = schema.get("description").and_then(Value::as_str).map(|lead| format!("{lead}\n\n"));
            schema.insert("description".to_owned(), Value::String(lead.unwrap_or_default() + &list));
        }
    }
}

/// A struct without fields says that it has none. (A free-form object says `additionalProperties`.)
pub(super) fn declare_empty(schema: &mut Map<String, Value>) {
    let object = |kind: &Value| match kind {
        Value::Array(kinds) => matches!(&kinds[..], [kind, null] if kind == "object" && null == "null"),
        kind => kind == "object",
    };
    let silent = schema.keys().all(|word| word == "type" || words::is_annotation(word));
    if silent && words::get(schema, "type").is_some_and(object) {
        schema.insert("properties".to_owned(), json!({}));
    }
}

/// The constants of one member, if it has nothing else, and what is said about a single one.
fn constants(member: &Value) -> Option<(Vec<Value>, Option<&str>)> {
    let map = member.as_object()?;
    if *member == json!({"type": "null"}) {
        return Some((vec![Value::Null], None));
    }
    if map.keys().any(|word| !matches!(word.as_str(), "type" | "const" | "enum" | "description")) {
        return None;
    }
    let values = match (map.get("const"), map.get("enum")) {
        (Some(only), None) => vec![only.clone()],
        (None, Some(Value::Array(values))) => values.clone(),
        _ => return None,
    };
    let typed = map.get("type").is_none_or(|kind| kind == "string");
    let doc = map.get("description").and_then(Value::as_str);
    (typed && values.iter().all(Value::is_string) && (doc.is_none() || values.len() == 1)).then_some((values, doc))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("null")
}

fn only_annotations_beside(schema: &Map<String, Value>, word: &str) -> bool {
    schema.keys().all(|other| other == word || words::is_annotation(other))
}

/// Whether the two say something different with one keyword.
fn clash(outer: &Map<String, Value>, inner: &Map<String, Value>) -> bool {
    inner.iter().any(|(word, value)| outer.get(word).is_some_and(|other| other != value))
}
