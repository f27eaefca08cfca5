//! The graph and the contexts of tool2agent.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::{super::graph, javascript};

/// Names that every object of JavaScript has: a requirement of such a name counts as met.
const INHERITED: [&str; 12] = [
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "__lookupSetter__",
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
];

/// The cycles among parameters and what they require, each once, without its first name again at its end. Names that are
/// not among the parameters lead nowhere.
pub fn cycles(requires: &[(&str, &[String])]) -> Vec<Vec<String>> {
    let name = |place: usize| requires[place].0.to_owned();
    graph::cycles(&places(requires)).into_iter().map(|cycle| cycle.into_iter().map(name).collect()).collect()
}

/// The order in which parameters are asked, by their places: each after what it requires, as soon as its name is the least
/// of those that could be next.
///
/// `None` where parameters wait for each other, or for one that there is not.
pub fn order(requires: &[(&str, &[String])]) -> Option<Vec<usize>> {
    let compare = |a: usize, b: usize| -> Ordering { javascript::compare(requires[a].0, requires[b].0) };
    graph::order(&places(requires), compare)
}

fn places(requires: &[(&str, &[String])]) -> Vec<Vec<usize>> {
    let place = |name: &String| requires.iter().position(|(known, _)| known == name).unwrap_or(usize::MAX);
    requires.iter().map(|(_, required)| required.iter().map(place).collect()).collect()
}

/// What the validator of `field` is told: what it requires, the static and unknown parameters, then the other dynamic
/// parameters in `valid`.
///
/// Fails with what is missing of `requires`.
pub fn context(
    field: &str,
    requires: &[String],
    valid: &Map<String, Value>,
    is_dynamic: impl Fn(&str) -> bool,
) -> Result<Map<String, Value>, Vec<String>> {
    let is_there = |name: &str| valid.contains_key(name) || INHERITED.contains(&name);
    let missing: Vec<String> = requires.iter().filter(|name| !is_there(name)).cloned().collect();
    if !missing.is_empty() {
        return Err(missing);
    }
    let required = requires.iter().filter_map(|name| valid.get_key_value(name));
    let others =
        |dynamic: bool| valid.iter().filter(move |(name, _)| *name != field).map(move |entry| (dynamic, entry));
    let of_kind =
        |(dynamic, entry): (bool, (_, _))| Some(entry).filter(|(name, _): &(&String, _)| is_dynamic(name) == dynamic);
    let all = required.chain(others(false).chain(others(true)).filter_map(of_kind));
    let mut context = Map::new();
    for (name, value) in all {
        context.entry(name.clone()).or_insert_with(|| value.clone());
    }
    Ok(javascript::ordered(context))
}
