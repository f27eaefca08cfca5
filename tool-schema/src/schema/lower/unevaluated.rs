//! `unevaluatedProperties` and `unevaluatedItems` in draft 7, which has neither.
//!
//! Where no schema is combined with others, they are `additionalProperties` and the items after the first ones. Where
//! schemas are combined, the names that the others speak of are added as properties that may be anything.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use super::rewrite::Source;
use crate::schema::{Severity, loss::Losses, pointer};

const PROPERTIES: &str = "unevaluatedProperties";
const ITEMS: &str = "unevaluatedItems";

/// The keyword that says in draft 7 what `unevaluatedItems` says in `schema`.
pub(super) fn items_name(schema: &Map<String, Value>) -> Option<&'static str> {
    if is_combined(schema) || schema.contains_key("contains") || schema.contains_key("items") {
        None
    } else if schema.contains_key("prefixItems") {
        Some("additionalItems")
    } else {
        Some("items")
    }
}

/// The keyword that says in draft 7 what `unevaluatedProperties` says in `schema`.
pub(super) fn properties_name(schema: &Map<String, Value>, source: &Source<'_>) -> Option<&'static str> {
    let sayable = !schema.contains_key("additionalProperties") && evaluated(schema, source).is_some();
    sayable.then_some("additionalProperties")
}

/// Names the properties of which others speak, and reports what could not be said.
pub(super) fn finish(from: &Map<String, Value>, to: &mut Map<String, Value>, source: &Source<'_>, losses: &mut Losses) {
    if from.contains_key(ITEMS) && items_name(from).is_none() && (is_combined(from) || from.contains_key("contains")) {
        losses.add(&source.at, ITEMS, Severity::Weakened, "draft 7 does not know it: left out");
    }
    if !from.contains_key(PROPERTIES) || from.contains_key("additionalProperties") {
        return;
    }
    let Some(evaluated) = evaluated(from, source) else {
        losses.add(&source.at, PROPERTIES, Severity::Weakened, "draft 7 does not know it: left out");
        return;
    };
    if !evaluated.certain {
        let note = "names that only some of the combined schemas know are allowed with all";
        losses.add(&source.at, PROPERTIES, Severity::Weakened, note);
    }
    for (word, names) in [("properties", evaluated.names), ("patternProperties", evaluated.patterns)] {
        if !names.is_empty() {
            let known = to.entry(word).or_insert_with(|| Map::new().into());
            for name in names {
                if let Some(known) = known.as_object_mut() {
                    known.entry(name).or_insert(Value::Bool(true));
                }
            }
        }
    }
}

fn is_combined(schema: &Map<String, Value>) -> bool {
    ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"]
        .iter()
        .any(|word| schema.contains_key(*word))
}

/// The properties of which the schemas combined with one speak.
#[derive(Default)]
struct Evaluated {
    names: BTreeSet<String>,
    patterns: BTreeSet<String>,
    /// Whether they speak of them in every case.
    certain: bool,
}

/// None if one of them speaks of all properties.
fn evaluated(schema: &Map<String, Value>, source: &Source<'_>) -> Option<Evaluated> {
    let mut found = Evaluated { certain: true, ..Evaluated::default() };
    let mut seen = HashSet::new();
    let mut todo: Vec<(String, &Value)> = Vec::new();
    inside(schema, &source.at, source, &mut found, &mut todo);
    while let Some((at, schema)) = todo.pop() {
        let Some(schema) = schema.as_object().filter(|_| seen.insert(at.clone())) else { continue };
        if schema.contains_key("additionalProperties") || schema.contains_key(PROPERTIES) {
            return None;
        }
        let names = |word: &str| schema.get(word).and_then(Value::as_object).into_iter().flat_map(Map::keys).cloned();
        found.names.extend(names("properties"));
        found.patterns.extend(names("patternProperties"));
        inside(schema, &at, source, &mut found, &mut todo);
    }
    found.certain |= found.names.is_empty() && found.patterns.is_empty();
    Some(found)
}

/// Adds the schemas that apply to the same value as `schema`.
fn inside<'a>(
    schema: &'a Map<String, Value>,
    at: &str,
    source: &Source<'a>,
    found: &mut Evaluated,
    todo: &mut Vec<(String, &'a Value)>,
) {
    for word in ["$ref", "$dynamicRef"] {
        let reference = schema.get(word).and_then(Value::as_str);
        todo.extend(reference.and_then(|reference| pointer::resolve(source.root, at, reference)));
    }
    for word in ["allOf", "anyOf", "oneOf"] {
        let members = schema.get(word).and_then(Value::as_array).into_iter().flatten().enumerate();
        let before = todo.len();
        todo.extend(members.map(|(i, one)| (format!("{at}/{word}/{i}"), one)));
        found.certain &= word == "allOf" || todo.len() == before;
    }
    for word in ["if", "then", "else"] {
        if let Some(one) = schema.get(word) {
            found.certain = false;
            todo.push((pointer::push(at, word), one));
        }
    }
    for (name, one) in schema.get("dependentSchemas").and_then(Value::as_object).into_iter().flatten() {
        found.certain = false;
        todo.push((pointer::push(&pointer::push(at, "dependentSchemas"), name), one));
    }
}
