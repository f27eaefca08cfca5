//! The draft that a schema is read by: one for all of it.

use std::borrow::Cow;

use jsonschema::Draft;
use serde_json::{Value, json};

use super::place;
use crate::feedback::shorten;
use crate::schema::graph::{Graph, address};

/// The schema and its draft. A `$schema` that names no draft that we know is taken for 2020-12, with a warning.
pub(super) fn of<'a>(schema: &'a Value, warnings: &mut Vec<String>) -> (Cow<'a, Value>, Draft) {
    let draft = Draft::default().detect(schema);
    if draft != Draft::Unknown {
        return (without_other_drafts(Cow::Borrowed(schema), draft, warnings), draft);
    }
    let named = schema.get("$schema").map(shorten).unwrap_or_default();
    warnings.push(format!("`$schema` is {named}, which is not a known draft; read as 2020-12"));
    let mut schema = schema.clone();
    if let Some(map) = schema.as_object_mut() {
        map.shift_remove("$schema");
    }
    (without_other_drafts(Cow::Owned(schema), Draft::default(), warnings), Draft::default())
}

/// `schema` without what belongs to another draft and would still change how `jsonschema` 0.46 reads it:
///
/// - `$schema` below the root: below an older one, it does not see `additionalProperties`, `allOf` and others, and so
///   would accept more than the schema does;
/// - `prefixItems` before 2020-12, which it heeds beside `items`.
///
/// And `if` with a boolean is written with a schema: what its branches have looked at would count for nothing otherwise.
fn without_other_drafts<'a>(schema: Cow<'a, Value>, draft: Draft, warnings: &mut Vec<String>) -> Cow<'a, Value> {
    let names_draft = |value: &Value| value.get("$schema").is_some_and(Value::is_string);
    let is_newer = |value: &Value| draft < Draft::Draft202012 && value.get("prefixItems").is_some();
    let inner_drafts = place::find(&schema, &names_draft).iter().any(|place| !place.is_empty());
    let is_settled = |value: &Value| value.get("if").is_some_and(Value::is_boolean);
    let told = |value: &Value| is_newer(value) || is_settled(value);
    if !inner_drafts && place::find(&schema, &told).is_empty() {
        return schema;
    }
    let (_, ids) = Graph::build(&schema, draft);
    // What has no node is data, or is never used.
    let is_schema = |value: &Value| ids.contains_key(&address(value));
    let naming = place::find(&schema, &|value| names_draft(value) && is_schema(value));
    let newer = place::find(&schema, &|value| is_newer(value) && is_schema(value));
    let settled = place::find(&schema, &|value| is_settled(value) && is_schema(value));
    let mut schema = schema.into_owned();
    for place in newer {
        take(&mut schema, &place, "prefixItems");
    }
    for place in settled {
        if let Some(condition) = schema.pointer_mut(&place).and_then(|schema| schema.get_mut("if")) {
            *condition = if *condition == Value::Bool(true) { json!({}) } else { json!({ "not": {} }) };
        }
    }
    for place in naming.iter().filter(|place| !place.is_empty()) {
        let inner = take(&mut schema, place, "$schema").unwrap_or_default();
        if Draft::default().detect(&json!({ "$schema": inner })) != draft {
            warnings.push(format!("{place} names another draft, {}; read by the draft of the whole", shorten(&inner)));
        }
    }
    Cow::Owned(schema)
}

fn take(schema: &mut Value, place: &str, keyword: &str) -> Option<Value> {
    schema.pointer_mut(place)?.as_object_mut()?.shift_remove(keyword)
}
