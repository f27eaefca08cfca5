//! The expectation of a schema, as a phrase that follows "expected".

use std::cell::Cell;

use serde_json::Value;

use crate::feedback::{excerpt, join, quote_name, quote_names, summarize};
use crate::schema::{
    format,
    graph::{Graph, NodeId},
};

/// The maximum numbers in a phrase: of values, of examples if there are more, of alternatives, and of a pattern's characters.
const MAX_VALUES: usize = 24;
const MAX_EXAMPLES: usize = 5;
const MAX_ALTERNATIVES: usize = 8;
const MAX_PATTERN: usize = 100;

/// The maximum number of collected values.
const MAX_COLLECTED: usize = 1_000;

/// The maximum number of schemas for one value that a phrase combines.
const MAX_COMBINED: usize = 32;

/// The maximum number of alternatives and lists around a schema that a phrase describes.
const MAX_DEPTH: usize = 3;

/// The maximum depth of the search for listed values, and the maximum number of references and `allOf` members at each depth.
const MAX_SEARCH: usize = 8;

/// The maximum number of schemas that one phrase visits.
const MAX_VISITS: usize = 1_000;

/// Counts a visit. Returns `false` if none remained.
fn spend_visit(remaining: &Cell<usize>) -> bool {
    remaining.replace(remaining.get().saturating_sub(1)) > 0
}

/// Returns a phrase for the values that the schema `id` accepts.
pub fn describe(graph: &Graph, id: NodeId) -> String {
    describe_within(graph, id, MAX_DEPTH, &Cell::new(MAX_VISITS))
}

/// Returns a phrase for the values that the schema `id` accepts, for somebody who gave `text`.
pub fn describe_for(graph: &Graph, id: NodeId, text: &str) -> String {
    let phrase = describe(graph, id);
    if text.contains("://") { phrase.replace(format::URI_IN_WORDS, ESCAPED_URI) } else { phrase }
}

fn describe_within(graph: &Graph, id: NodeId, depth: usize, remaining: &Cell<usize>) -> String {
    if !spend_visit(remaining) {
        return "any value".to_owned();
    }
    if let Some(values) = listed_values(graph, id, MAX_SEARCH, remaining) {
        return one_of(&values);
    }
    let facts = Facts::of(graph, id);
    let types = facts.types();
    if types.is_empty() && !facts.alternatives.is_empty() && depth > 0 {
        return describe_several(graph, facts.alternatives, depth - 1, remaining);
    }
    let mut phrases: Vec<String> = types
        .iter()
        .map(|kind| match *kind {
            "integer" => facts.describe_number("a whole number"),
            "number" => facts.describe_number("a number"),
            "string" => facts.describe_text(),
            "boolean" => "true or false".to_owned(),
            "null" => "null".to_owned(),
            "array" => facts.describe_list(depth, remaining),
            "object" => facts.describe_object(),
            _ => "any value".to_owned(),
        })
        .collect();
    phrases.dedup();
    match phrases.as_slice() {
        [] if graph.is_false(id) => "nothing".to_owned(),
        [] => "any value".to_owned(),
        phrases => join(phrases, "or"),
    }
}

/// Returns a phrase for the values that any of several schemas accepts.
pub fn describe_alternatives(graph: &Graph, ids: &[NodeId]) -> String {
    describe_several(graph, ids, MAX_DEPTH - 1, &Cell::new(MAX_VISITS))
}

fn describe_several(graph: &Graph, ids: &[NodeId], depth: usize, remaining: &Cell<usize>) -> String {
    let mut values = Vec::new();
    let mut phrases: Vec<String> = Vec::new();
    let mut others: Vec<NodeId> = Vec::new();
    let mut null = false;
    for &id in ids {
        match listed_values(graph, id, MAX_SEARCH, remaining) {
            Some(listed) if listed == [Value::Null] => null = true,
            Some(listed) => values.extend(listed),
            None => {
                others.push(id);
                let phrase = describe_within(graph, id, depth, remaining);
                if !phrases.contains(&phrase) {
                    phrases.push(phrase);
                }
            }
        }
    }
    if let Some((tag, tags)) = find_tag_within(graph, &others, remaining) {
        phrases = vec![format!("an object whose {} is {}", quote_name(&tag), one_of(&tags.concat()))];
    }
    if !values.is_empty() {
        phrases.insert(0, one_of(&values));
    }
    if phrases.len() > MAX_ALTERNATIVES {
        let more = phrases.len() - MAX_ALTERNATIVES;
        phrases.truncate(MAX_ALTERNATIVES);
        phrases.push(format!("{more} more alternatives"));
    }
    if null {
        phrases.push("null".to_owned());
    }
    join(&phrases, "or")
}

/// The maximum number of alternatives and of required names among which a tag is searched.
const MAX_VARIANTS: usize = 64;

/// A name, and the values that each of several schemas lists for it.
pub type Tag = (String, Vec<Vec<Value>>);

/// Returns a name that all of several schemas of objects require, and the values that each lists for it, which differ.
pub fn find_tag(graph: &Graph, ids: &[NodeId]) -> Option<Tag> {
    find_tag_within(graph, ids, &Cell::new(MAX_VISITS))
}

fn find_tag_within(graph: &Graph, ids: &[NodeId], remaining: &Cell<usize>) -> Option<Tag> {
    let [first, _, ..] = ids else { return None };
    if ids.len() > MAX_VARIANTS || !ids.iter().all(|_| spend_visit(remaining)) {
        return None;
    }
    let all: Vec<Vec<NodeId>> = ids.iter().map(|id| graph.same_value_closure(*id)).collect();
    let requires = |places: &[NodeId], name: &str| {
        places.iter().any(|id| graph.node(*id).required.iter().any(|other| other == name))
    };
    let values_of = |places: &[NodeId], name: &str| {
        let mut properties = places.iter().flat_map(|id| &graph.node(*id).properties);
        properties.find(|(other, _)| other == name).and_then(|(_, id)| listed_values(graph, *id, MAX_SEARCH, remaining))
    };
    let names = graph.known_names(*first).into_iter().filter(|name| requires(&all[0], name)).take(MAX_VARIANTS);
    names.into_iter().find_map(|name| {
        let values: Option<Vec<Vec<Value>>> =
            all.iter().map(|places| values_of(places, name).filter(|_| requires(places, name))).collect();
        let values = values?;
        let differ = values.windows(2).any(|pair| pair[0] != pair[1]);
        differ.then(|| (name.to_owned(), values))
    })
}

/// Returns a phrase for the objects that the schema `id` accepts with the value `value` of the tag `tag`.
pub fn describe_tagged(graph: &Graph, id: NodeId, tag: &str, value: &str) -> String {
    let others = Facts::of(graph, id).required().into_iter().filter(|name| *name != tag);
    let others = quote_names(others, "and");
    let and = if others.is_empty() { "" } else { " and " };
    format!("an object with {} {value}{and}{others}", quote_name(tag))
}

/// Returns the alternatives of several schemas; a schema without any is one itself.
pub fn alternatives(graph: &Graph, ids: &[NodeId]) -> Vec<NodeId> {
    let of = |id: &NodeId| {
        let facts = Facts::of(graph, *id);
        if facts.alternatives.is_empty() { vec![*id] } else { facts.alternatives.to_vec() }
    };
    ids.iter().flat_map(of).take(MAX_VARIANTS + 1).collect()
}

/// Returns a phrase such as `one of "a", "b"`. Many values are only counted, with examples.
pub fn one_of(values: &[Value]) -> String {
    let shown = |values: &[Value]| values.iter().map(summarize).collect::<Vec<_>>().join(", ");
    match values {
        [] => "nothing".to_owned(),
        [only] => summarize(only),
        values if values.len() <= MAX_VALUES => format!("one of {}", shown(values)),
        values => format!("one of {} values such as {}", values.len(), shown(&values[..MAX_EXAMPLES])),
    }
}

/// Returns a phrase such as "one of `a` or `b`".
pub fn one_of_names(names: &[&str]) -> String {
    match names {
        [only] => quote_name(only),
        names => format!("one of {}", quote_names(names.iter().copied(), "or")),
    }
}

/// Returns the values that `id` lists in `enum`, `const`, the type `null` or alternatives of these, also behind references.
pub fn allowed_values(graph: &Graph, id: NodeId) -> Option<Vec<Value>> {
    listed_values(graph, id, MAX_SEARCH, &Cell::new(MAX_VISITS))
}

fn listed_values(graph: &Graph, id: NodeId, depth: usize, remaining: &Cell<usize>) -> Option<Vec<Value>> {
    if !spend_visit(remaining) {
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
                let values = listed_values(graph, id, depth, remaining).filter(|_| all.len() < MAX_COLLECTED);
                values.is_some_and(|values| {
                    all.extend(values);
                    true
                })
            });
        if complete {
            return Some(all);
        }
    }
    graph.unconditional(id).take(MAX_SEARCH).find_map(|id| listed_values(graph, id, depth, remaining))
}

/// Returns a phrase for the lists or objects whose size the schema `id` accepts.
pub fn describe_size(graph: &Graph, id: NodeId, is_list: bool) -> String {
    let facts = Facts::of(graph, id);
    if is_list {
        facts.with_size("a list", "items", "minItems", "maxItems")
    } else {
        facts.with_size("an object", "names", "minProperties", "maxProperties")
    }
}

/// Returns a number of things, such as `1 item` or `2 items`.
pub fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// The keywords of a schema, and of the schemas that it always applies to its value.
struct Facts<'a> {
    graph: &'a Graph,
    ids: Vec<NodeId>,
    alternatives: &'a [NodeId],
}

impl<'a> Facts<'a> {
    fn of(graph: &'a Graph, id: NodeId) -> Self {
        let mut ids = vec![id];
        let mut next = 0;
        while let Some(&id) = ids.get(next).filter(|_| ids.len() < MAX_COMBINED) {
            next += 1;
            for inner in graph.unconditional(id) {
                if !ids.contains(&inner) {
                    ids.push(inner);
                }
            }
        }
        let lists = ids.iter().map(|id| graph.node(*id)).flat_map(|node| [&node.any_of, &node.one_of]);
        let alternatives = lists.into_iter().find(|list| !list.is_empty()).map_or(&[][..], Vec::as_slice);
        Self { graph, ids, alternatives }
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.ids.iter().find_map(|id| self.graph.node(*id).leaf.get(key))
    }

    fn types(&self) -> Vec<&'a str> {
        match self.get("type") {
            Some(Value::String(kind)) => return vec![kind],
            Some(Value::Array(kinds)) => return kinds.iter().filter_map(Value::as_str).collect(),
            _ => {}
        }
        let nodes = || self.ids.iter().map(|id| self.graph.node(*id));
        if self.has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
            vec!["number"]
        } else if self.has(&["minLength", "maxLength", "pattern", "format"]) {
            vec!["string"]
        } else if nodes().any(|node| !node.properties.is_empty() || !node.required.is_empty()) {
            vec!["object"]
        } else if self.has(&["minItems", "maxItems", "uniqueItems"]) || nodes().any(|node| node.items.is_some()) {
            vec!["array"]
        } else {
            Vec::new()
        }
    }

    fn bound_text(&self, key: &str) -> Option<String> {
        self.get(key).filter(|value| value.is_number()).map(Value::to_string)
    }

    fn describe_number(&self, noun: &str) -> String {
        let least = self.bound_text("minimum");
        let most = self.bound_text("maximum");
        // In draft 4, `exclusiveMinimum: true` makes `minimum` exclusive.
        let strict = |key: &str| self.get(key) == Some(&Value::Bool(true));
        let (above, least) =
            if strict("exclusiveMinimum") { (least, None) } else { (self.bound_text("exclusiveMinimum"), least) };
        let (below, most) =
            if strict("exclusiveMaximum") { (most, None) } else { (self.bound_text("exclusiveMaximum"), most) };
        let mut bounds = Vec::new();
        match (&least, &most) {
            (Some(least), Some(most)) => bounds.push(format!("from {least} to {most}")),
            (Some(least), None) => bounds.push(format!("of at least {least}")),
            (None, Some(most)) => bounds.push(format!("of at most {most}")),
            (None, None) => {}
        }
        bounds.extend(above.map(|bound| format!("greater than {bound}")));
        bounds.extend(below.map(|bound| format!("less than {bound}")));
        if let Some(step) = self.bound_text("multipleOf") {
            bounds.push(format!("that is a multiple of {step}"));
        }
        if bounds.is_empty() { noun.to_owned() } else { format!("{noun} {}", bounds.join(" and ")) }
    }

    fn describe_text(&self) -> String {
        let mut text = match self.get("format").and_then(Value::as_str).and_then(format::describe) {
            Some(known) => known.to_owned(),
            None => "a string".to_owned(),
        };
        text = match (self.bound_text("minLength"), self.bound_text("maxLength")) {
            (Some(least), None) if least == "1" => format!("{text} that is not empty"),
            _ => self.with_size(&text, "characters", "minLength", "maxLength"),
        };
        if let Some(pattern) = self.get("pattern").and_then(Value::as_str) {
            let and = if text.contains(" that ") { "and " } else { "that " };
            text = format!("{text} {and}matches `{}`", excerpt(pattern, MAX_PATTERN));
        }
        text
    }

    fn with_size(&self, noun: &str, what: &str, least: &str, most: &str) -> String {
        let one = |count: &str| if count == "1" { what.trim_end_matches('s').to_owned() } else { what.to_owned() };
        match (self.bound_text(least), self.bound_text(most)) {
            (Some(least), Some(most)) if least == most => format!("{noun} of exactly {least} {}", one(&least)),
            (Some(least), Some(most)) => format!("{noun} of {least} to {most} {what}"),
            (Some(least), None) => format!("{noun} of at least {least} {}", one(&least)),
            (None, Some(most)) => format!("{noun} of at most {most} {}", one(&most)),
            (None, None) => noun.to_owned(),
        }
    }

    fn describe_list(&self, depth: usize, remaining: &Cell<usize>) -> String {
        let sized = |items| self.with_size("a list", items, "minItems", "maxItems");
        let items = self.ids.iter().find_map(|id| self.graph.node(*id).items);
        let item = items.filter(|_| depth > 0).map(|items| describe_within(self.graph, items, depth - 1, remaining));
        let (list, plain) = (sized("items"), !self.has(&["minItems", "maxItems"]));
        let several = match item.as_deref() {
            None | Some("any value" | "nothing") => return list,
            Some("a string") => "strings",
            Some("a number") => "numbers",
            Some("a whole number") => "whole numbers",
            Some("an object") => "objects",
            Some(item) => return format!("{list}, each {item}"),
        };
        if plain { format!("a list of {several}") } else { sized(several) }
    }

    fn has(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.get(key).is_some())
    }

    fn required(&self) -> Vec<&'a str> {
        let mut required: Vec<&str> = Vec::new();
        for name in self.ids.iter().flat_map(|id| &self.graph.node(*id).required) {
            if !required.contains(&name.as_str()) {
                required.push(name);
            }
        }
        required
    }

    fn describe_object(&self) -> String {
        let required = self.required();
        if required.is_empty() {
            "an object".to_owned()
        } else {
            format!("an object with {}", quote_names(required, "and"))
        }
    }
}

/// A URI in words for somebody who wrote the scheme.
const ESCAPED_URI: &str = "a URI in which other characters are escaped, such as https://example.com/a%20b";
