//! Compilation of schemas that only the library `jsonschema` supports.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::declared::inner_drafts;
use super::error::{CompileError, truncate};
use crate::schema::draft::Draft;
use crate::schema::graph::{Graph, NodeId, address};
use crate::schema::{library, places};

/// Compiles `schema` without the patterns that were removed from `graph`.
pub(super) fn compile(
    schema: &Value,
    graph: &Graph,
    ids: &HashMap<usize, NodeId>,
) -> Result<jsonschema::Validator, CompileError> {
    let schema = clean(schema, graph, ids);
    library::options(graph.draft()).build(&schema).map_err(|error| CompileError(explain_error(&error)))
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
    let naming = [inner_drafts(schema, draft), vec![String::new()]].concat();
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
