//! Where references lead.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use tool_schema::schema::{places, pointer};

/// How many definitions one may lead to and still be compared with others.
const MOST_REACHED: usize = 64;

/// How many places are visited in search of a circle; what is then unknown counts as one.
const MOST_STEPS: usize = 10_000;

/// Returns the place that `schema` itself refers to, and the schema there.
pub fn reference<'a>(root: &'a Value, at: &str, schema: &Value) -> Option<(String, &'a Value)> {
    let link = ["$ref", "$dynamicRef"].iter().find_map(|word| schema.get(*word)?.as_str())?;
    pointer::resolve(root, at, link)
}

/// Returns the identity of a definition: its place, and all that it leads to. `None` if that is too much.
pub fn identity(root: &Value, at: &str) -> Option<String> {
    let mut reached = BTreeMap::from([(at.to_owned(), root.pointer(at)?)]);
    let mut todo = vec![at.to_owned()];
    while let Some(at) = todo.pop() {
        let mut found = Vec::new();
        references(root, &at, root.pointer(&at)?, &mut found);
        for (at, target) in found {
            if reached.insert(at.clone(), target).is_none() {
                todo.push(at);
            }
        }
        if reached.len() > MOST_REACHED {
            return None;
        }
    }
    serde_json::to_string(&(at, reached)).ok()
}

/// Finds all that `schema` refers to, except in the definitions that it holds for others.
fn references<'a>(root: &'a Value, at: &str, schema: &'a Value, found: &mut Vec<(String, &'a Value)>) {
    found.extend(reference(root, at, schema));
    for (word, at, one) in places::children(schema, at) {
        if !places::is_structure(word) {
            references(root, &at, one, found);
        }
    }
}

/// Returns `true` if the type of the schema at `from` would have to be known to know that of the one at `to`. An alias may
/// lead back
/// to itself inside an object or a list, and nowhere else.
pub fn needs(root: &Value, from: &str, to: &str) -> bool {
    let mut seen = HashSet::new();
    let mut todo = vec![from.to_owned()];
    while let Some(at) = todo.pop() {
        if at == to || seen.len() > MOST_STEPS {
            return true;
        }
        let Some(schema) = root.pointer(&at).filter(|_| !seen.contains(&at)) else { continue };
        todo.extend(reference(root, &at, schema).map(|(at, _)| at));
        let beside = places::children(schema, &at).into_iter();
        todo.extend(beside.filter(|(word, ..)| matches!(*word, "allOf" | "anyOf" | "oneOf")).map(|(_, at, _)| at));
        seen.insert(at);
    }
    false
}
