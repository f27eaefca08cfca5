//! Which schemas are compiled, and which of their patterns.

use std::collections::HashMap;

use serde_json::Value;

use super::{MOST_NESTING, MOST_RESOURCES, MOST_WAYS, Uncompilable};
use crate::feedback::excerpt;
use crate::schema::graph::{Cost, Gap, Graph, Id, address};
use crate::schema::pattern::{self, Pattern};
use crate::schema::places;

const MOST_BYTES: usize = 1 << 20;
const MOST_VALUES: usize = 50_000;
const MOST_DEPTH: usize = 128;

/// Refuses a schema that is too large to compile.
pub fn size(schema: &Value) -> Result<(), Uncompilable> {
    let (mut bytes, mut values) = (0, 0);
    let mut todo = vec![(schema, 0)];
    while let Some((value, depth)) = todo.pop() {
        values += 1;
        bytes += match value {
            Value::String(text) => text.len() + 2,
            Value::Object(map) => 2 + map.keys().map(|key| key.len() + 4).sum::<usize>(),
            _ => 2,
        };
        if depth > MOST_DEPTH {
            return Err(Uncompilable(format!("it is nested deeper than {MOST_DEPTH} levels")));
        }
        if values > MOST_VALUES {
            return Err(Uncompilable(format!("it has more than {MOST_VALUES} values")));
        }
        if bytes > MOST_BYTES {
            return Err(Uncompilable(format!("it is larger than {MOST_BYTES} bytes")));
        }
        match value {
            Value::Array(items) => todo.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(map) => todo.extend(map.values().map(|part| (part, depth + 1))),
            _ => {}
        }
    }
    Ok(())
}

/// Returns the cost of checks. Refuses a schema that cannot be compiled or run on a stack and in a time of ordinary size.
pub fn cost(graph: &Graph) -> Result<Cost, Uncompilable> {
    let refused = |text: String| Err(Uncompilable(text));
    let Some(cost) = Cost::of(graph) else {
        return refused("a `$ref` leads back to itself without a property or an item in between".to_owned());
    };
    if cost.nesting > MOST_NESTING {
        return refused(format!(
            "{} schemas apply to one value inside each other, more than {MOST_NESTING}",
            cost.nesting
        ));
    }
    if cost.ways > MOST_WAYS {
        return refused("references multiply beyond what can be compiled".to_owned());
    }
    if graph.resources > MOST_RESOURCES {
        return refused(format!("it has {} parts with an `$id`, more than {MOST_RESOURCES}", graph.resources));
    }
    Ok(cost)
}

/// Returns the keyword of `graph` that only the library `jsonschema` can follow, with its place. Refuses a schema with a
/// reference that leads nowhere.
pub fn foreign(
    schema: &Value,
    graph: &Graph,
    ids: &HashMap<usize, Id>,
) -> Result<Option<(String, &'static str)>, Uncompilable> {
    let mut found = None;
    for (id, node) in graph.nodes() {
        match &node.gap {
            None => {}
            Some(Gap::Nowhere(reference)) => {
                let text = format!("a reference leads nowhere (nothing is fetched): `{reference}`");
                return Err(Uncompilable(cut(&text)));
            }
            Some(Gap::Malformed(text)) => {
                return Err(Uncompilable(format!("a reference leads to what is no schema: {text}")));
            }
            Some(Gap::Foreign(keyword)) => {
                found = found.or(Some((id, *keyword)));
            }
        }
    }
    let place_of =
        |id: Id| places::find(schema, &|value| ids.get(&address(value)) == Some(&id)).pop().unwrap_or_default();
    Ok(found.map(|(id, keyword)| (place_of(id), keyword)))
}

/// Refuses a schema for a keyword that only the library `jsonschema` can follow.
pub fn needs_feature(place: &str, keyword: &str) -> Uncompilable {
    Uncompilable(format!("{} needs the feature `jsonschema` of tool-runtime", cut(&format!("{place}/{keyword}"))))
}

/// Returns a foreign text on one line, shortened.
pub fn cut(text: &str) -> String {
    excerpt(text, 300)
}

/// Sizes of a compiled pattern that are tried; the last one is the largest that is accepted.
const SIZES: [usize; 3] = [1 << 14, 1 << 17, pattern::MOST_BYTES];

/// How large the patterns of one schema may be together.
const MOST_PATTERN_BYTES: usize = 16 << 20;

/// Compiles the patterns of `graph`, and takes those out of it that we cannot run. Each of them is named in `warnings`.
pub fn compile_patterns(
    schema: &Value,
    graph: &mut Graph,
    ids: &HashMap<usize, Id>,
    warnings: &mut Vec<String>,
) -> Result<HashMap<String, Pattern>, Uncompilable> {
    let mut tried = HashMap::new();
    let mut left = MOST_PATTERN_BYTES;
    let mut dropped: Vec<Id> = Vec::new();
    for (id, node) in graph.nodes() {
        if let Some((name, _)) = node.patterns.iter().find(|(name, _)| !runs(name, &mut tried, &mut left)) {
            return Err(pattern_refusal("patternProperties", name));
        }
        let pattern = node.leaf.get("pattern").and_then(Value::as_str);
        if pattern.is_some_and(|pattern| !runs(pattern, &mut tried, &mut left)) {
            dropped.push(id);
        }
    }
    if !dropped.is_empty() {
        drop_patterns(schema, graph, ids, &dropped, warnings)?;
    }
    Ok(tried.into_iter().filter_map(|(text, pattern)| Some((text, pattern?))).collect())
}

/// Returns whether `pattern` runs within the bytes that are `left`. It is tried once.
fn runs(pattern: &str, tried: &mut HashMap<String, Option<Pattern>>, left: &mut usize) -> bool {
    if let Some(known) = tried.get(pattern) {
        return known.is_some();
    }
    let sizes = SIZES.into_iter().filter(|most| most <= left);
    let found = sizes.into_iter().find_map(|most| Some((most, Pattern::compile(pattern, most)?)));
    *left -= found.as_ref().map_or(0, |(size, _)| *size);
    let compiled = found.map(|(_, compiled)| compiled);
    let runs = compiled.is_some();
    tried.insert(pattern.to_owned(), compiled);
    runs
}

fn drop_patterns(
    schema: &Value,
    graph: &mut Graph,
    ids: &HashMap<usize, Id>,
    dropped: &[Id],
    warnings: &mut Vec<String>,
) -> Result<(), Uncompilable> {
    let text = |graph: &Graph, id: Id| {
        graph.node(id).leaf.get("pattern").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let guarded = find_guarded(graph);
    if let Some(id) = dropped.iter().find(|id| guarded[**id]) {
        return Err(pattern_refusal("not, if, oneOf or contains", &text(graph, *id)));
    }
    let id_of = |value: &Value| ids.get(&address(value)).copied().filter(|id| dropped.contains(id));
    for place in places::find(schema, &|value| id_of(value).is_some()) {
        if let Some(id) = schema.pointer(&place).and_then(id_of) {
            warnings.push(format!("{place}/pattern is not checked, {}", why(&text(graph, id))));
        }
    }
    for &id in dropped {
        graph.node_mut(id).leaf.shift_remove("pattern");
    }
    Ok(())
}

fn pattern_refusal(keyword: &str, pattern: &str) -> Uncompilable {
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
fn find_guarded(graph: &Graph) -> Vec<bool> {
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
