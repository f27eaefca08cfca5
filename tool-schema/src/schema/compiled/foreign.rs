//! Schemas that only the library `jsonschema` supports.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{Uncompilable, cut};
use crate::schema::draft::{self, Draft};
use crate::schema::graph::{Graph, Id, address};
use crate::schema::{pattern, places};

/// Compiles `schema`, without the patterns that were removed from `graph`.
pub(super) fn compile(
    schema: &Value,
    graph: &Graph,
    ids: &HashMap<usize, Id>,
) -> Result<jsonschema::Validator, Uncompilable> {
    let schema = clean(schema, graph, ids);
    options(graph.draft()).build(&schema).map_err(|error| Uncompilable(refusal(&error)))
}

#[cfg(feature = "jsonschema")]
pub(in crate::schema) fn format(draft: Draft, name: &Value) -> Option<jsonschema::Validator> {
    options(draft).build(&json!({ "format": name })).ok()
}

/// Returns options that check formats, fetch nothing, and run regular expressions of bounded size in linear time.
fn options(draft: Draft) -> jsonschema::ValidationOptions<'static> {
    let patterns =
        jsonschema::PatternOptions::regex().size_limit(pattern::MAX_BYTES).dfa_size_limit(pattern::MAX_BYTES);
    jsonschema::options()
        .with_draft(match draft {
            Draft::Four => jsonschema::Draft::Draft4,
            Draft::Six => jsonschema::Draft::Draft6,
            Draft::Seven => jsonschema::Draft::Draft7,
            Draft::Nineteen => jsonschema::Draft::Draft201909,
            Draft::Twenty => jsonschema::Draft::Draft202012,
        })
        .with_retriever(Offline)
        .should_validate_formats(true)
        .with_pattern_options(patterns)
}

/// Returns `schema` without the parts that `jsonschema` 0.46 does not read as the draft demands:
///
/// - `$schema` below the root. Below an older one, it does not see `additionalProperties`, `allOf` and others, so it
///   would accept more than the schema does;
/// - `$schema` at the root, which may name a draft that it does not know;
/// - `prefixItems` before 2020-12, which it heeds beside `items`.
///
/// A boolean in `if` is replaced by a schema, because otherwise the branches' evaluated members would not count.
fn clean(schema: &Value, graph: &Graph, ids: &HashMap<usize, Id>) -> Value {
    let draft = graph.draft();
    let id = |value: &Value| ids.get(&address(value)).copied();
    let is_newer = |value: &Value| draft < Draft::Twenty && value.get("prefixItems").is_some() && id(value).is_some();
    let is_settled = |value: &Value| value.get("if").is_some_and(Value::is_boolean) && id(value).is_some();
    let is_dropped = |value: &Value| {
        value.get("pattern").is_some() && id(value).is_some_and(|id| !graph.node(id).leaf.contains_key("pattern"))
    };
    let newer = places::find(schema, &is_newer);
    let settled = places::find(schema, &is_settled);
    let unrunnable = places::find(schema, &is_dropped);
    let naming = draft::inner_names(schema, draft).into_iter().chain([String::new()]);
    let mut schema = schema.clone();
    let named = newer.into_iter().map(|place| (place, "prefixItems"));
    let named = named.chain(unrunnable.into_iter().map(|place| (place, "pattern")));
    for (place, keyword) in named.chain(naming.map(|place| (place, "$schema"))) {
        if let Some(map) = schema.pointer_mut(&place).and_then(Value::as_object_mut) {
            map.shift_remove(keyword);
        }
    }
    for place in settled {
        if let Some(condition) = schema.pointer_mut(&place).and_then(|schema| schema.get_mut("if")) {
            *condition = if *condition == Value::Bool(true) { json!({}) } else { json!({ "not": {} }) };
        }
    }
    schema
}

/// Returns the reason why `jsonschema` refused a schema.
fn refusal(error: &jsonschema::ValidationError<'_>) -> String {
    if let jsonschema::error::ValidationErrorKind::Referencing(error) = error.kind() {
        return cut(&format!("a reference has no target (the target is never downloaded): {error}"));
    }
    let place = error.instance_path().as_str();
    let place = if place.is_empty() { String::new() } else { format!("at {}: ", cut(place)) };
    format!("{place}{}", cut(&error.to_string()))
}

/// A retriever that fetches nothing, even if another crate of the program turns on the features of `jsonschema` for fetching.
struct Offline;

impl jsonschema::Retrieve for Offline {
    fn retrieve(&self, uri: &jsonschema::Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("`{uri}` is not part of the schema").into())
    }
}
