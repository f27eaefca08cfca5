//! Patterns that cannot run in linear time.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Value, json};

use super::{Uncompilable, options, place};
use crate::feedback::excerpt;
use crate::schema::graph::{Graph, Id, address};

/// Sizes of a compiled pattern that are tried; the last one is the largest that is accepted.
const SIZES: [usize; 3] = [1 << 14, 1 << 17, super::MOST_PATTERN];

/// How large the patterns of one schema may be together.
const MOST_BYTES: usize = 16 << 20;

/// `schema` without the patterns that we cannot run, each named in `warnings`.
pub(super) fn without_unrunnable<'a>(
    schema: Cow<'a, Value>,
    graph: &mut Graph,
    ids: &HashMap<usize, Id>,
    warnings: &mut Vec<String>,
) -> Result<Cow<'a, Value>, Uncompilable> {
    let mut checked = HashMap::new();
    let mut left = MOST_BYTES;
    let mut runs = |pattern: &str| {
        *checked.entry(pattern.to_owned()).or_insert_with(|| {
            let schema = json!({ "pattern": pattern });
            let size = SIZES.into_iter().find(|&most| most <= left && options(most).build(&schema).is_ok());
            left -= size.unwrap_or(0);
            size.is_some()
        })
    };
    let mut dropped: Vec<Id> = Vec::new();
    for (id, node) in graph.nodes() {
        if let Some((name, _)) = node.patterns.iter().find(|(name, _)| !runs(name)) {
            return Err(refused("patternProperties", name));
        }
        if node.leaf.get("pattern").and_then(Value::as_str).is_some_and(|pattern| !runs(pattern)) {
            dropped.push(id);
        }
    }
    if dropped.is_empty() {
        return Ok(schema);
    }
    let guarded = guarded(graph);
    for &id in &dropped {
        let pattern = graph.node(id).leaf.get("pattern").and_then(Value::as_str).unwrap_or_default();
        if guarded[id] {
            return Err(refused("not, if, oneOf or contains", pattern));
        }
    }
    let places = place::find(&schema, &|value| ids.get(&address(value)).is_some_and(|id| dropped.contains(id)));
    let mut schema = schema.into_owned();
    for place in places {
        let map = schema.pointer_mut(&place).and_then(Value::as_object_mut);
        if let Some(Value::String(pattern)) = map.and_then(|map| map.shift_remove("pattern")) {
            warnings.push(format!("{place}/pattern is not checked, {}", why(&pattern)));
        }
    }
    for id in dropped {
        graph.node_mut(id).leaf.shift_remove("pattern");
    }
    Ok(Cow::Owned(schema))
}

fn refused(keyword: &str, pattern: &str) -> Uncompilable {
    Uncompilable(format!("a pattern inside {keyword} cannot be left out, {}", why(pattern)))
}

fn why(pattern: &str) -> String {
    format!(
        "as it is no regular expression that runs in linear time and bounded space (avoid look-around, back-references \
         and large counts): `{}`",
        excerpt(pattern, 80)
    )
}

/// For each node, whether it counts for something else than "and": accepting more there can refuse more elsewhere.
fn guarded(graph: &Graph) -> Vec<bool> {
    let mut guarded: Vec<bool> = graph.nodes().map(|_| false).collect();
    let mut waiting: Vec<Id> = Vec::new();
    for (_, node) in graph.nodes() {
        waiting.extend(node.not.iter().chain(&node.condition).chain(&node.one_of));
        waiting.extend(node.contains.map(|contains| contains.schema));
    }
    while let Some(id) = waiting.pop() {
        if !std::mem::replace(&mut guarded[id], true) {
            waiting.extend(graph.node(id).here().chain(graph.node(id).deeper()));
        }
    }
    guarded
}
