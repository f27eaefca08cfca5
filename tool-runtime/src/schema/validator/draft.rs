//! The draft that a schema is read by: one for all of it.

use std::borrow::Cow;

use jsonschema::Draft;
use serde_json::Value;

use super::place;
use crate::feedback::shorten;
use crate::schema::graph::{Graph, address};

/// The schema and its draft. A `$schema` that names no draft that we know is taken for 2020-12, with a warning.
pub(super) fn of<'a>(schema: &'a Value, warnings: &mut Vec<String>) -> (Cow<'a, Value>, Draft) {
    let draft = Draft::default().detect(schema);
    if draft != Draft::Unknown {
        return (without_inner(Cow::Borrowed(schema), draft, warnings), draft);
    }
    let named = schema.get("$schema").map(shorten).unwrap_or_default();
    warnings.push(format!("`$schema` is {named}, which is not a known draft; read as 2020-12"));
    let mut schema = schema.clone();
    if let Some(map) = schema.as_object_mut() {
        map.shift_remove("$schema");
    }
    (without_inner(Cow::Owned(schema), Draft::default(), warnings), Draft::default())
}

/// `schema` with `$schema` at its root alone: below an older one, `jsonschema` 0.46 does not see `additionalProperties`,
/// `allOf` and others, and so would accept more than the schema does.
fn without_inner<'a>(schema: Cow<'a, Value>, draft: Draft, warnings: &mut Vec<String>) -> Cow<'a, Value> {
    let names_draft = |value: &Value| value.get("$schema").is_some_and(Value::is_string);
    if place::find(&schema, &names_draft).iter().all(String::is_empty) {
        return schema;
    }
    let (_, ids) = Graph::build(&schema, draft);
    // What has no node is data, or is never used.
    let mut places = place::find(&schema, &|value| names_draft(value) && ids.contains_key(&address(value)));
    places.retain(|place| !place.is_empty());
    let mut schema = schema.into_owned();
    for place in places {
        let map = schema.pointer_mut(&place).and_then(Value::as_object_mut);
        let inner = map.and_then(|map| map.shift_remove("$schema")).unwrap_or_default();
        if Draft::default().detect(&serde_json::json!({ "$schema": inner })) != draft {
            warnings.push(format!("{place} names another draft, {}; read by the draft of the whole", shorten(&inner)));
        }
    }
    Cow::Owned(schema)
}
