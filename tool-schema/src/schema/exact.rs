//! The schemas of schemars, made exact and quiet.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value, json};

use super::{dialect, number, words};

/// Makes a schema exact and quiet, for [`Schema::from_schemars`](super::Schema::from_schemars).
pub fn exact(mut schema: Value) -> Value {
    if let Value::Object(root) = &mut schema {
        if words::get(root, "$schema").is_some() {
            root.shift_remove("$schema");
        }
        if words::get(root, "title").and_then(Value::as_str).is_some_and(is_type_name) {
            root.shift_remove("title");
        }
    }
    pass(&mut schema, 0);
    schema
}

fn pass(schema: &mut Value, level: usize) {
    let Value::Object(map) = schema else { return };
    if level > dialect::LEVELS {
        return;
    }
    words::visit_children(map, |word, name, child| {
        if let (true, Some(name), Some(child)) = (is_definitions(word), name, child.as_object_mut()) {
            drop_name(child, name);
        }
        pass(child, level + 1);
    });
    if map.keys().any(|word| matches!(word.as_str(), "allOf" | "anyOf" | "oneOf")) {
        unwrap_single(map);
        join_null(map);
        join_constants(map);
    }
    declare_empty(map);
    make_explicit(map);
}

fn is_definitions(word: &str) -> bool {
    matches!(word, "$defs" | "definitions")
}

fn drop_name(schema: &mut Map<String, Value>, name: &str) {
    if schema.get("title").and_then(Value::as_str) == Some(name) {
        schema.shift_remove("title");
    }
}

/// Returns whether schemars could have made `title` of a type's name: `Order`, `Array_of_string`.
fn is_type_name(title: &str) -> bool {
    !title.is_empty() && title.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Removes a wrapper of one: `{"allOf": [X], "description": …}` becomes X with that description.
fn unwrap_single(schema: &mut Map<String, Value>) {
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

/// Replaces `anyOf` of a plain type and null by a list of types.
fn join_null(schema: &mut Map<String, Value>) {
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

/// Replaces an enumeration of constants, some with a description each, by one `enum` and a list in the description.
fn join_constants(schema: &mut Map<String, Value>) {
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

/// Gives a struct without fields empty `properties`. (A free-form object has `additionalProperties`.)
fn declare_empty(schema: &mut Map<String, Value>) {
    let object = |kind: &Value| match kind {
        Value::Array(kinds) => matches!(&kinds[..], [kind, null] if kind == "object" && null == "null"),
        kind => kind == "object",
    };
    let silent = schema.keys().all(|word| word == "type" || words::is_annotation(word));
    if silent && words::get(schema, "type").is_some_and(object) {
        schema.insert("properties".to_owned(), json!({}));
    }
}

/// Returns the constants of one member, if it has nothing else, and the description of a single one.
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

/// Returns whether the two say something different with one keyword.
fn clash(outer: &Map<String, Value>, inner: &Map<String, Value>) -> bool {
    inner.iter().any(|(word, value)| outer.get(word).is_some_and(|other| other != value))
}

/// Returns the least and the greatest value of the number type that schemars calls `format`; none on a side that JSON
/// numbers do not reach. `None` if it is no number type.
pub fn range_of(format: &str) -> Option<(Option<Number>, Option<Number>)> {
    let range = match format {
        "int8" => (i8::MIN.into(), i8::MAX.into()),
        "int16" => (i16::MIN.into(), i16::MAX.into()),
        "int32" => (i32::MIN.into(), i32::MAX.into()),
        "int64" => (i64::MIN.into(), i64::MAX.into()),
        "int" => (isize::MIN.into(), isize::MAX.into()),
        "uint8" => (0.into(), u8::MAX.into()),
        "uint16" => (0.into(), u16::MAX.into()),
        "uint32" => (0.into(), u32::MAX.into()),
        "uint64" => (0.into(), u64::MAX.into()),
        "uint" => (0.into(), usize::MAX.into()),
        "uint128" => return Some((Some(0.into()), None)),
        "int128" | "float" | "double" => return Some((None, None)),
        _ => return None,
    };
    Some((Some(range.0), Some(range.1)))
}

/// Replaces a format that names a number type by the bounds of that type.
fn make_explicit(schema: &mut Map<String, Value>) {
    let numeric = |one: &Value| matches!(one.as_str(), Some("integer" | "number"));
    let Some(range) = words::get(schema, "format").and_then(Value::as_str).and_then(range_of) else { return };
    let kinds = words::get(schema, "type");
    if !kinds.is_some_and(|kind| numeric(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(numeric))) {
        return;
    }
    schema.shift_remove("format");
    tighten(schema, "minimum", "exclusiveMinimum", range.0, Ordering::Greater);
    tighten(schema, "maximum", "exclusiveMaximum", range.1, Ordering::Less);
}

/// Sets `word` to `own` unless a tighter bound is there.
fn tighten(schema: &mut Map<String, Value>, word: &str, open: &str, own: Option<Number>, tighter: Ordering) {
    let Some(own) = own else { return };
    let order = |word: &str| Some(number::compare(words::get(schema, word)?.as_number()?, &own));
    if order(word) == Some(tighter) {
        return;
    }
    // A written open bound inside the type's range is enough.
    if order(open).is_some_and(|order| order == tighter || order.is_eq()) {
        schema.shift_remove(word);
    } else {
        schema.insert(word.to_owned(), Value::Number(own));
    }
}

#[cfg(test)]
mod tests;
