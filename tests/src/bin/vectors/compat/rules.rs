//! The rules of tool2agent for the graph of requirements, and for the contexts of validators.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::javascript;

/// Names that every JavaScript object has. A requirement of such a name counts as met.
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

/// Returns the cycles in the requirements, each once, without repeating the first name. Unknown names end a path.
pub(crate) fn cycles(requires: &[(&str, &[String])]) -> Vec<Vec<String>> {
    let (mut seen, mut found) = (HashSet::new(), Vec::new());
    for (name, _) in requires {
        follow(requires, name, &mut Vec::new(), &mut seen, &mut found);
    }
    found
}

/// Follows the requirements of `name`, and collects the cycles that lead back into `way`.
fn follow<'a>(
    requires: &[(&'a str, &'a [String])],
    name: &'a str,
    way: &mut Vec<&'a str>,
    seen: &mut HashSet<&'a str>,
    found: &mut Vec<Vec<String>>,
) {
    if let Some(start) = way.iter().position(|before| *before == name) {
        found.push(way[start..].iter().map(|name| (*name).to_owned()).collect());
        return;
    }
    let Some((_, required)) = requires.iter().find(|(known, _)| *known == name) else { return };
    if !seen.insert(name) {
        return;
    }
    way.push(name);
    for next in *required {
        follow(requires, next, way, seen, found);
    }
    way.pop();
}

/// Returns the order in which parameters are validated, as indices: each after its requirements, and the least name first.
///
/// Returns `None` if parameters wait for each other, or for an unknown one.
pub(crate) fn order(requires: &[(&str, &[String])]) -> Option<Vec<usize>> {
    let mut left: Vec<usize> = (0..requires.len()).collect();
    left.sort_by(|a, b| javascript::compare(requires[*a].0, requires[*b].0));
    let mut order: Vec<usize> = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let is_asked = |name: &String| order.iter().any(|index| requires[*index].0 == name);
        let next = left.iter().position(|index| requires[*index].1.iter().all(is_asked))?;
        order.push(left.remove(next));
    }
    Some(order)
}

/// Returns the context for the validator of `field`: its requirements, the static and unknown parameters, then the other dynamic
/// parameters in `valid`.
///
/// Fails with the missing requirements.
pub(crate) fn context(
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
