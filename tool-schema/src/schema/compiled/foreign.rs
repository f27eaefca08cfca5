//! Compilation of schemas that only the library `jsonschema` supports.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{CompileError, truncate};
use crate::schema::draft::{self, Draft};
use crate::schema::graph::{Graph, NodeId, address};
use crate::schema::{pattern, places};

/// Compiles `schema` without the patterns that were removed from `graph`.
pub(super) fn compile(
    schema: &Value,
    graph: &Graph,
    ids: &HashMap<usize, NodeId>,
) -> Result<jsonschema::Validator, CompileError> {
    let schema = clean(schema, graph, ids);
    options(graph.draft()).build(&schema).map_err(|error| CompileError(explain_error(&error)))
}

#[cfg(feature = "jsonschema")]
pub(in crate::schema) fn compile_format(draft: Draft, name: &Value) -> Option<jsonschema::Validator> {
    options(draft).build(&json!({ "format": name })).ok()
}

/// Returns options that check formats and fetch nothing. Regular expressions have a bounded size and run in linear time.
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

/// Returns `schema` without the patterns that were removed from `graph`, and without the parts that `jsonschema` 0.46 does not
/// read as the draft demands:
///
/// - `$schema` below the root: below that of an older draft, `jsonschema` ignores `additionalProperties`, `allOf` and others
/// - `$schema` at the root: it may name an unknown draft
/// - `prefixItems` before 2020-12: `jsonschema` checks it beside `items`
///
/// A schema replaces a boolean in `if`, because otherwise the members that the branches evaluate would not count.
fn clean(schema: &Value, graph: &Graph, ids: &HashMap<usize, NodeId>) -> Value {
    let draft = graph.draft();
    let id = |value: &Value| ids.get(&address(value)).copied();
    let has_newer_items = |value: &Value| value.get("prefixItems").is_some() && id(value).is_some();
    let has_boolean_if = |value: &Value| value.get("if").is_some_and(Value::is_boolean) && id(value).is_some();
    let has_dropped_pattern = |value: &Value| {
        value.get("pattern").is_some() && id(value).is_some_and(|id| !graph.node(id).leaf.contains_key("pattern"))
    };
    let newer = if draft < Draft::Twenty { places::find(schema, &has_newer_items) } else { Vec::new() };
    let naming = [draft::inner_drafts(schema, draft), vec![String::new()]].concat();
    let dropped = places::find(schema, &has_dropped_pattern);
    let boolean = places::find(schema, &has_boolean_if);
    let mut schema = schema.clone();
    for (keyword, places) in [("prefixItems", newer), ("$schema", naming), ("pattern", dropped)] {
        for place in places {
            if let Some(map) = schema.pointer_mut(&place).and_then(Value::as_object_mut) {
                map.shift_remove(keyword);
            }
        }
    }
    for place in boolean {
        if let Some(condition) = schema.pointer_mut(&place).and_then(|schema| schema.get_mut("if")) {
            *condition = if *condition == Value::Bool(true) { json!({}) } else { json!({ "not": {} }) };
        }
    }
    schema
}

/// Returns the reason why `jsonschema` refused a schema.
fn explain_error(error: &jsonschema::ValidationError<'_>) -> String {
    if let jsonschema::error::ValidationErrorKind::Referencing(error) = error.kind() {
        return truncate(&format!("a reference has no target (the target is never downloaded): {error}"));
    }
    let place = error.instance_path().as_str();
    let place = if place.is_empty() { String::new() } else { format!("at {}: ", truncate(place)) };
    format!("{place}{}", truncate(&error.to_string()))
}

/// A retriever that fetches nothing, even if another crate of the program turns on the features of `jsonschema` for fetching.
struct Offline;

impl jsonschema::Retrieve for Offline {
    fn retrieve(&self, uri: &jsonschema::Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("`{uri}` is not part of the schema").into())
    }
}
