//! A schema as a graph: subschemas are nodes, keywords that apply them are edges, and local references are resolved.
//!
//! The graph answers whether a value fits, and how much work a check can take ([`Cost`]). It also answers which names and values
//! a place allows, and which of several alternatives is nearest to a value.

mod build;
mod cost;

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Number, Value};

use super::canonical;
use super::data::{self, Kind};
use super::draft::Draft;
use super::format::{self, Format};
use super::pattern::Pattern;
pub use build::address;
pub use cost::{Cost, MAX_DEPTH};

/// The index of a node.
pub type Id = usize;

/// A schema as a graph. The root is node 0.
#[derive(Debug)]
pub struct Graph {
    nodes: Vec<Node>,
    draft: Draft,
    /// The number of parts with an `$id`.
    pub resources: usize,
}

/// One subschema, with every keyword that decides which values fit.
#[derive(Debug, Default)]
pub struct Node {
    /// Set if the schema is a boolean.
    pub constant: Option<bool>,
    /// The keywords about the value itself instead of its parts.
    pub leaf: Map<String, Value>,
    pub references: Vec<Id>,
    pub all_of: Vec<Id>,
    pub any_of: Vec<Id>,
    pub one_of: Vec<Id>,
    pub not: Option<Id>,
    pub condition: Option<Id>,
    pub then: Option<Id>,
    pub otherwise: Option<Id>,
    /// Schemas that apply if the object has the name.
    pub dependent: Vec<(String, Id)>,
    /// Names that are required if the object has the name.
    pub dependent_required: Vec<(String, Vec<String>)>,
    pub required: Vec<String>,
    pub properties: Vec<(String, Id)>,
    pub patterns: Vec<(String, Id)>,
    pub additional: Option<Id>,
    pub names: Option<Id>,
    /// The schemas of `prefixItems`.
    pub front: Vec<Id>,
    pub items: Option<Id>,
    pub contains: Option<Contains>,
    pub unevaluated_properties: Option<Id>,
    pub unevaluated_items: Option<Id>,
    /// A part of the node that the graph does not model.
    pub gap: Option<Gap>,
    /// The compiled checks of [`leaf`](Self::leaf).
    pub checks: Vec<Check>,
    /// The compiled names of [`patterns`](Self::patterns).
    name_checks: Vec<Pattern>,
}

/// A part of a schema that the graph does not model.
#[derive(Clone, Debug)]
pub enum Gap {
    /// A reference without a target.
    Nowhere(String),
    /// A value that is not a schema, with the reason.
    Malformed(String),
    /// A keyword that only the library `jsonschema` supports.
    Foreign(&'static str),
}

/// The keyword `contains` and its bounds.
#[derive(Clone, Copy, Debug)]
pub struct Contains {
    pub schema: Id,
    pub least: u64,
    pub most: Option<u64>,
}

impl Graph {
    pub fn draft(&self) -> Draft {
        self.draft
    }

    pub fn node_mut(&mut self, id: Id) -> &mut Node {
        &mut self.nodes[id]
    }

    pub fn nodes(&self) -> impl Iterator<Item = (Id, &Node)> {
        self.nodes.iter().enumerate()
    }

    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    pub fn effort(&self, id: Id) -> usize {
        cost::effort(&self.nodes[id])
    }

    /// Compiles the keywords about the value itself. A pattern that is missing in `patterns` is not checked.
    pub fn compile(&mut self, patterns: &HashMap<String, Pattern>) {
        for node in &mut self.nodes {
            let pattern = node.leaf.get("pattern").and_then(Value::as_str).and_then(|text| patterns.get(text));
            node.checks = checks(self.draft, &node.leaf, pattern.cloned());
            node.add_foreign(self.draft);
            node.name_checks = node.patterns.iter().filter_map(|(text, _)| patterns.get(text).cloned()).collect();
        }
    }

    /// Returns the schemas that `patternProperties` of a node applies to `name`.
    pub fn by_pattern(&self, id: Id, name: &str) -> impl Iterator<Item = Id> {
        let node = &self.nodes[id];
        let matching = node.patterns.iter().zip(&node.name_checks).filter(move |(_, check)| check.is_match(name));
        matching.map(|((_, id), _)| *id)
    }

    /// Returns the schemas that always apply to the value of `id`: references and `allOf`.
    pub fn always(&self, id: Id) -> impl Iterator<Item = Id> {
        let node = &self.nodes[id];
        node.references.iter().chain(&node.all_of).copied()
    }

    /// Returns `id` and all schemas that can apply to the same value, without repetitions, nearest first.
    pub fn in_place(&self, id: Id) -> Vec<Id> {
        let mut seen = vec![id];
        let mut next = 0;
        while let Some(&id) = seen.get(next) {
            next += 1;
            let node = &self.nodes[id];
            let alternatives = node.any_of.iter().chain(&node.one_of);
            let branches = [node.condition, node.then, node.otherwise].into_iter().flatten();
            let dependent = node.dependent.iter().map(|(_, id)| *id);
            for id in self.always(id).chain(alternatives.copied()).chain(branches).chain(dependent) {
                if !seen.contains(&id) {
                    seen.push(id);
                }
            }
            if seen.len() > 512 {
                break;
            }
        }
        seen
    }

    /// Returns the names that objects can have here, in the schema's order.
    pub fn known_names(&self, id: Id) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for id in self.in_place(id) {
            for (name, _) in &self.nodes[id].properties {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
            if names.len() > 512 {
                break;
            }
        }
        names
    }
}

impl Node {
    /// Adds the check of a format that only the library `jsonschema` supports.
    fn add_foreign(&mut self, draft: Draft) {
        if !has_foreign_format(draft, &self.leaf) {
            return;
        }
        #[cfg(feature = "jsonschema")]
        self.checks
            .extend(super::compiled::foreign::format(draft, &self.leaf["format"]).map(Box::new).map(Check::Foreign));
        #[cfg(not(feature = "jsonschema"))]
        {
            self.gap = Some(Gap::Foreign("format"));
        }
    }

    /// Returns the schemas that this one applies to the same value.
    pub fn here(&self) -> impl Iterator<Item = Id> {
        let lists = [&self.references, &self.all_of, &self.any_of, &self.one_of].into_iter().flatten().copied();
        let single = [self.not, self.condition, self.then, self.otherwise].into_iter().flatten();
        lists.chain(single).chain(self.dependent.iter().map(|(_, id)| *id))
    }

    /// Returns the schemas that this one applies to parts of the value.
    pub fn deeper(&self) -> impl Iterator<Item = Id> {
        let named = self.properties.iter().chain(&self.patterns).map(|(_, id)| *id);
        let contains = self.contains.map(|contains| contains.schema);
        let single = [self.additional, self.names, self.items, contains, self.unevaluated_properties];
        let single = single.into_iter().chain([self.unevaluated_items]).flatten();
        named.chain(self.front.iter().copied()).chain(single)
    }
}

/// The maximum length of a list whose items are compared one by one. In longer lists, their canonical texts are
/// compared.
const FEW_ITEMS: usize = 16;

#[derive(Debug)]
pub enum Check {
    Type(Vec<Kind>, Draft),
    Const(Value),
    Enum(Vec<Value>),
    Minimum(Number),
    Maximum(Number),
    ExclusiveMinimum(Number),
    ExclusiveMaximum(Number),
    MultipleOf(Number),
    MinLength(u64),
    MaxLength(u64),
    MinItems(u64),
    MaxItems(u64),
    MinProperties(u64),
    MaxProperties(u64),
    Pattern(Pattern),
    Format(format::Check),
    /// `contentEncoding` and `contentMediaType`.
    Content(format::Check),
    UniqueItems,
    /// A check by the library `jsonschema`.
    #[cfg(feature = "jsonschema")]
    Foreign(Box<jsonschema::Validator>),
}

/// Returns the checks of `keywords`, the cheapest first. `pattern` is their compiled pattern.
fn checks(draft: Draft, keywords: &Map<String, Value>, pattern: Option<Pattern>) -> Vec<Check> {
    let get = |key: &str| keywords.get(key);
    let bound = |key: &str| get(key).and_then(Value::as_number).cloned();
    // No text or list reaches a length above `u64::MAX`.
    let count = |key: &str| get(key).map(|value| data::count(value).unwrap_or(u64::MAX));
    // In draft 4, `exclusiveMinimum: true` makes `minimum` exclusive.
    let is_strict = |key: &str| draft == Draft::Four && get(key) == Some(&Value::Bool(true));
    let minimum = if is_strict("exclusiveMinimum") { Check::ExclusiveMinimum } else { Check::Minimum };
    let maximum = if is_strict("exclusiveMaximum") { Check::ExclusiveMaximum } else { Check::Maximum };
    let format = get("format").and_then(Value::as_str).map(|name| Format::named(draft, name));
    let format = if let Some(Format::Checked(check)) = format { Some(check) } else { None };
    let text = |key: &str| get(key).and_then(Value::as_str);
    // Since 2019-09, these keywords are only annotations.
    let content = matches!(draft, Draft::Six | Draft::Seven)
        .then(|| format::content_check(text("contentEncoding"), text("contentMediaType")))
        .flatten();
    let is_unique = get("uniqueItems") == Some(&Value::Bool(true));
    let checks = [
        data::named_kinds(keywords).map(|kinds| Check::Type(kinds, draft)),
        get("const").filter(|_| draft >= Draft::Six).cloned().map(Check::Const),
        get("enum").and_then(Value::as_array).cloned().map(Check::Enum),
        bound("minimum").map(minimum),
        bound("maximum").map(maximum),
        bound("exclusiveMinimum").map(Check::ExclusiveMinimum),
        bound("exclusiveMaximum").map(Check::ExclusiveMaximum),
        bound("multipleOf").map(Check::MultipleOf),
        count("minLength").map(Check::MinLength),
        count("maxLength").map(Check::MaxLength),
        count("minItems").map(Check::MinItems),
        count("maxItems").map(Check::MaxItems),
        count("minProperties").map(Check::MinProperties),
        count("maxProperties").map(Check::MaxProperties),
        pattern.map(Check::Pattern),
        format.map(Check::Format),
        content.map(Check::Content),
        is_unique.then_some(Check::UniqueItems),
    ];
    checks.into_iter().flatten().collect()
}

/// Returns whether only the library `jsonschema` supports the format in `keywords`.
fn has_foreign_format(draft: Draft, keywords: &Map<String, Value>) -> bool {
    let name = keywords.get("format").and_then(Value::as_str);
    name.is_some_and(|name| matches!(Format::named(draft, name), Format::Foreign))
}

impl Check {
    pub fn passes(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Type(kinds, draft), value) => kinds.iter().any(|kind| kind.accepts(value, *draft)),
            (Self::Const(constant), value) => data::same(constant, value),
            (Self::Enum(values), value) => values.iter().any(|other| data::same(other, value)),
            (Self::Minimum(bound), Value::Number(value)) => data::compare(value, bound).is_ge(),
            (Self::Maximum(bound), Value::Number(value)) => data::compare(value, bound).is_le(),
            (Self::ExclusiveMinimum(bound), Value::Number(value)) => data::compare(value, bound).is_gt(),
            (Self::ExclusiveMaximum(bound), Value::Number(value)) => data::compare(value, bound).is_lt(),
            (Self::MultipleOf(step), Value::Number(value)) => data::is_multiple(value, step),
            (Self::MinLength(least), Value::String(text)) => text.chars().count() as u64 >= *least,
            (Self::MaxLength(most), Value::String(text)) => text.chars().count() as u64 <= *most,
            (Self::MinItems(least), Value::Array(items)) => items.len() as u64 >= *least,
            (Self::MaxItems(most), Value::Array(items)) => items.len() as u64 <= *most,
            (Self::MinProperties(least), Value::Object(map)) => map.len() as u64 >= *least,
            (Self::MaxProperties(most), Value::Object(map)) => map.len() as u64 <= *most,
            (Self::Pattern(pattern), Value::String(text)) => pattern.is_match(text),
            (Self::Format(check) | Self::Content(check), Value::String(text)) => check(text),
            (Self::UniqueItems, Value::Array(items)) => are_different(items),
            #[cfg(feature = "jsonschema")]
            (Self::Foreign(validator), value) => validator.is_valid(value),
            _ => true,
        }
    }
}

pub fn are_different(items: &[Value]) -> bool {
    if items.len() > FEW_ITEMS {
        let mut seen = HashSet::new();
        return items.iter().all(|item| seen.insert(canonical(item)));
    }
    items.iter().enumerate().all(|(index, item)| !items[..index].iter().any(|other| data::same(other, item)))
}
