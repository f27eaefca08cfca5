//! What a schema expects, as a phrase that follows "expected".

mod facts;

use std::cell::Cell;

use serde_json::Value;

use crate::feedback::{join, shorten};
use crate::schema::graph::{Graph, Id};
use facts::Facts;

/// How many values a phrase lists.
const MOST_VALUES: usize = 24;

/// How many alternatives a phrase lists.
const MOST_ALTERNATIVES: usize = 8;

/// How many schemas are looked at for one phrase.
const MOST_LOOKS: usize = 1_000;

/// What is left of [`MOST_LOOKS`].
struct Looks(Cell<usize>);

impl Looks {
    fn new() -> Self {
        Self(Cell::new(MOST_LOOKS))
    }

    /// Whether one more is left; takes it.
    fn take(&self) -> bool {
        self.0.replace(self.0.get().saturating_sub(1)) > 0
    }
}

/// What the schema `id` expects.
pub(super) fn of(graph: &Graph, id: Id) -> String {
    nested(graph, id, 3, &Looks::new())
}

fn nested(graph: &Graph, id: Id, depth: usize, looks: &Looks) -> String {
    if !looks.take() {
        return "any value".to_owned();
    }
    if let Some(values) = listed(graph, id, 8, looks) {
        return one_of(&values);
    }
    let facts = Facts::of(graph, id);
    let types = facts.types();
    if types.is_empty() && !facts.alternatives.is_empty() && depth > 0 {
        return several(graph, facts.alternatives, depth - 1, looks);
    }
    let mut phrases: Vec<String> = types
        .iter()
        .map(|kind| match *kind {
            "integer" => facts.number("a whole number"),
            "number" => facts.number("a number"),
            "string" => facts.text(),
            "boolean" => "true or false".to_owned(),
            "null" => "null".to_owned(),
            "array" => facts.list(depth, looks),
            "object" => facts.object(),
            _ => "any value".to_owned(),
        })
        .collect();
    phrases.dedup();
    match phrases.as_slice() {
        [] if graph.node(id).constant == Some(false) => "nothing".to_owned(),
        [] => "any value".to_owned(),
        phrases => join(phrases, "or"),
    }
}

/// What one of several schemas expects.
pub(super) fn alternatives(graph: &Graph, ids: &[Id]) -> String {
    several(graph, ids, 2, &Looks::new())
}

fn several(graph: &Graph, ids: &[Id], depth: usize, looks: &Looks) -> String {
    let mut values = Vec::new();
    let mut phrases: Vec<String> = Vec::new();
    let mut null = false;
    for &id in ids {
        match listed(graph, id, 8, looks) {
            Some(listed) if listed == [Value::Null] => null = true,
            Some(listed) => values.extend(listed),
            None => {
                let phrase = nested(graph, id, depth, looks);
                if !phrases.contains(&phrase) {
                    phrases.push(phrase);
                }
            }
        }
    }
    if !values.is_empty() {
        phrases.insert(0, one_of(&values));
    }
    if phrases.len() > MOST_ALTERNATIVES {
        let more = phrases.len() - MOST_ALTERNATIVES;
        phrases.truncate(MOST_ALTERNATIVES);
        phrases.push(format!("{more} more alternatives"));
    }
    if null {
        phrases.push("null".to_owned());
    }
    join(&phrases, "or")
}

/// "one of" some values.
pub(super) fn one_of(values: &[Value]) -> String {
    let shown = |values: &[Value]| values.iter().map(shorten).collect::<Vec<_>>().join(", ");
    match values {
        [] => "nothing".to_owned(),
        [only] => shorten(only),
        values if values.len() <= MOST_VALUES => format!("one of {}", shown(values)),
        values => format!("one of {} values such as {}", values.len(), shown(&values[..5])),
    }
}

/// The values that the schema `id` allows, where it lists them: by `enum`, `const`, or alternatives of these, also behind
/// references.
pub(super) fn allowed_values(graph: &Graph, id: Id) -> Option<Vec<Value>> {
    listed(graph, id, 8, &Looks::new())
}

fn listed(graph: &Graph, id: Id, depth: usize, looks: &Looks) -> Option<Vec<Value>> {
    if !looks.take() {
        return None;
    }
    let node = graph.node(id);
    if let Some(Value::Array(values)) = node.leaf.get("enum") {
        return Some(values.clone());
    }
    if let Some(value) = node.leaf.get("const") {
        return Some(vec![value.clone()]);
    }
    if node.leaf.get("type").and_then(Value::as_str) == Some("null") {
        return Some(vec![Value::Null]);
    }
    let depth = depth.checked_sub(1)?;
    for alternatives in [&node.any_of, &node.one_of] {
        let mut all: Vec<Value> = Vec::new();
        let complete = !alternatives.is_empty()
            && alternatives.iter().all(|&id| {
                let values = listed(graph, id, depth, looks).filter(|_| all.len() < 1_000);
                values.is_some_and(|values| {
                    all.extend(values);
                    true
                })
            });
        if complete {
            return Some(all);
        }
    }
    graph.always(id).take(8).find_map(|id| listed(graph, id, depth, looks))
}

/// The size that a list must have.
pub(super) fn list_size(graph: &Graph, id: Id) -> String {
    let facts = Facts::of(graph, id);
    facts.sized("a list", "items", "minItems", "maxItems")
}

/// The size that an object must have.
pub(super) fn object_size(graph: &Graph, id: Id) -> String {
    let facts = Facts::of(graph, id);
    facts.sized("an object", "names", "minProperties", "maxProperties")
}

/// ` (2 characters)`, or with `of`: ` of 2 characters`.
pub(super) fn counted(count: usize, of: &str, what: &str) -> String {
    format!("{of} {}", number_of(count as u64, what))
}

/// A count with its noun.
pub(super) fn number_of(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
