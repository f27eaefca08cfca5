//! The draft that a schema names, and the check against the meta-schema of that draft.

use serde_json::Value;

use super::error::{CompileError, truncate};
use crate::feedback::summarize;
use crate::schema::{
    draft::Draft,
    graph::{Graph, address},
    keywords::{expected_form, find_fault},
    places, pointer,
};

/// Returns the draft of `schema`. An unknown `$schema` means 2020-12, with a warning. A different draft below the root also
/// adds a warning, and the root's draft applies.
pub fn read_draft(schema: &Value, warnings: &mut Vec<String>) -> Draft {
    let draft = match uri(schema) {
        None => Draft::Twenty,
        Some(uri) => Draft::by_uri(uri).unwrap_or_else(|| {
            let name = schema.get("$schema").map(summarize).unwrap_or_default();
            warnings.push(format!("`$schema` is {name}, which is not a known draft; read as 2020-12"));
            Draft::Twenty
        }),
    };
    for place in inner_drafts(schema, draft) {
        let uri = schema.pointer(&place).and_then(uri).unwrap_or_default();
        if Draft::by_uri(uri) != Some(draft) {
            let uri = summarize(&Value::from(uri));
            warnings.push(format!("{place} names another draft, {uri}; read by the draft of the root"));
        }
    }
    draft
}

/// Returns the URI of the draft that `schema` names.
fn uri(schema: &Value) -> Option<&str> {
    schema.get("$schema")?.as_str()
}

/// Returns the places of the schemas below the root of `schema` that name a draft.
pub fn inner_drafts(schema: &Value, draft: Draft) -> Vec<String> {
    let is_inner = |value: &Value| address(value) != address(schema) && uri(value).is_some();
    if places::find(schema, &is_inner).is_empty() {
        return Vec::new();
    }
    let (_, ids) = Graph::build(schema, draft);
    // A schema without a node is data, or is never used.
    places::find(schema, &|value| is_inner(value) && ids.contains_key(&address(value)))
}

/// Checks the values of the keywords of `schema` and of the schemas inside it. Fails if one is invalid.
pub fn check(schema: &Value, draft: Draft) -> Result<(), CompileError> {
    check_below(schema, draft, "")
}

fn check_below(schema: &Value, draft: Draft, at: &str) -> Result<(), CompileError> {
    if let Some((word, expected)) = find_fault(schema, draft) {
        let got = schema.get(word).unwrap_or(schema);
        let at = if word.is_empty() { at.to_owned() } else { pointer::join(at, word) };
        let at = if at.is_empty() { String::new() } else { format!("at {}: ", truncate(&at)) };
        return Err(CompileError(format!("{at}expected {expected}, got {}", summarize(got))));
    }
    let mut inside = places::children(schema, at).into_iter().filter(|(word, ..)| expected_form(word, draft).is_some());
    inside.try_for_each(|(_, at, inner)| check_below(inner, draft, &at))
}
