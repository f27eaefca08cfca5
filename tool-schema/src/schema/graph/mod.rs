//! A schema as a graph: subschemas are nodes, keywords that apply them are edges, and local references are resolved.
//!
//! Three modules read the graph: `evaluate` decides whether a value fits, and `cost` bounds the work. `explain` finds names,
//! values and alternatives to suggest.

mod build;
mod cost;

use std::collections::HashMap;

use serde_json::{Map, Number, Value};

use super::data::{self, Kind};
use super::draft::Draft;
use super::format::{self, Format};
use super::pattern::Pattern;
pub use build::address;
pub use cost::{BYTES_PER_VISIT, COMPARISONS_PER_VISIT, Cost, MAX_DEPTH};

/// The index of a node.
pub type NodeId = usize;

/// A schema as a graph. The root is node 0.
#[derive(Debug)]
pub struct Graph {
    nodes: Vec<Node>,
    draft: Draft,
    /// The number of different `$id`s.
    pub id_count: usize,
}

/// One subschema, with every keyword that decides which values fit. Fields are named after their keywords.
#[derive(Debug, Default)]
pub struct Node {
    /// Set if the schema is a boolean.
    pub constant: Option<bool>,
    /// The keywords about the value itself instead of its parts.
    pub leaf: Map<String, Value>,
    pub references: Vec<NodeId>,
    pub all_of: Vec<NodeId>,
    pub any_of: Vec<NodeId>,
    pub one_of: Vec<NodeId>,
    pub not: Option<NodeId>,
    pub if_: Option<NodeId>,
    pub then: Option<NodeId>,
    pub else_: Option<NodeId>,
    /// Schemas, each with the name of a property. A schema applies to an object that has this property.
    pub dependent_schemas: Vec<(String, NodeId)>,
    /// Required names, each list with the name of a property. The list applies to an object that has this property.
    pub dependent_required: Vec<(String, Vec<String>)>,
    pub required: Vec<String>,
    pub properties: Vec<(String, NodeId)>,
    pub pattern_properties: Vec<(String, NodeId)>,
    pub additional_properties: Option<NodeId>,
    pub property_names: Option<NodeId>,
    pub prefix_items: Vec<NodeId>,
    pub items: Option<NodeId>,
    pub contains: Option<Contains>,
    pub unevaluated_properties: Option<NodeId>,
    pub unevaluated_items: Option<NodeId>,
    /// A part of the node that the graph does not model.
    pub gap: Option<Gap>,
    /// The compiled checks of [`leaf`](Self::leaf).
    pub checks: Vec<Check>,
    /// The compiled patterns of [`pattern_properties`](Self::pattern_properties).
    name_patterns: Vec<Pattern>,
}

/// A part of a schema that the graph does not model.
#[derive(Clone, Debug)]
pub enum Gap {
    /// A reference without a target.
    UnresolvedReference(String),
    /// A reference to a value that is not a schema, with the reason.
    NotASchema(String),
    /// A keyword that only the library `jsonschema` supports.
    Foreign(&'static str),
}

/// The keyword `contains`, with `minContains` and `maxContains`.
#[derive(Clone, Copy, Debug)]
pub struct Contains {
    pub schema: NodeId,
    pub min: u64,
    pub max: Option<u64>,
}

/// The maximum number of schemas for one value, and of names for one object. Beyond this number, suggestions are incomplete.
const MAX_RELATED: usize = 512;

impl Graph {
    pub fn draft(&self) -> Draft {
        self.draft
    }

    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id]
    }

    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate()
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }

    /// Returns whether the schema is `false`.
    pub fn is_false(&self, id: NodeId) -> bool {
        self.nodes[id].constant == Some(false)
    }

    /// Returns the cost of the own keywords of a node.
    pub fn own_cost(&self, id: NodeId) -> usize {
        cost::own_cost(&self.nodes[id])
    }

    /// Compiles the keywords about the value itself. `compiled` holds patterns by their texts. Other patterns are not checked.
    pub fn compile(&mut self, compiled: &HashMap<String, Pattern>) {
        for node in &mut self.nodes {
            let pattern = node.leaf.get("pattern").and_then(Value::as_str).and_then(|text| compiled.get(text));
            node.checks = compile_checks(self.draft, &node.leaf, pattern.cloned());
            node.add_foreign_check(self.draft);
            let patterns = node.pattern_properties.iter();
            node.name_patterns = patterns.filter_map(|(text, _)| compiled.get(text).cloned()).collect();
        }
    }

    /// Returns the schemas that `patternProperties` of a node applies to `name`.
    pub fn pattern_schemas(&self, id: NodeId, name: &str) -> impl Iterator<Item = NodeId> {
        let node = &self.nodes[id];
        let all = node.pattern_properties.iter().zip(&node.name_patterns);
        all.filter(move |(_, pattern)| pattern.is_match(name)).map(|((_, id), _)| *id)
    }

    /// Returns the schemas that `id` always applies to its value: references and `allOf`.
    pub fn unconditional(&self, id: NodeId) -> impl Iterator<Item = NodeId> {
        let node = &self.nodes[id];
        node.references.iter().chain(&node.all_of).copied()
    }

    /// Returns `id` and all schemas that can apply to the same value, except in `not`. The nearest come first, and each once.
    pub fn same_value_closure(&self, id: NodeId) -> Vec<NodeId> {
        let mut seen = vec![id];
        let mut next = 0;
        while let Some(&id) = seen.get(next) {
            next += 1;
            let node = &self.nodes[id];
            let alternatives = node.any_of.iter().chain(&node.one_of);
            let branches = [node.if_, node.then, node.else_].into_iter().flatten();
            let dependent = node.dependent_schemas.iter().map(|(_, id)| *id);
            for id in self.unconditional(id).chain(alternatives.copied()).chain(branches).chain(dependent) {
                if !seen.contains(&id) {
                    seen.push(id);
                }
            }
            if seen.len() > MAX_RELATED {
                break;
            }
        }
        seen
    }

    /// Returns the names that objects of `id` can have. Those of the nearest schema come first.
    pub fn known_names(&self, id: NodeId) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for id in self.same_value_closure(id) {
            for (name, _) in &self.nodes[id].properties {
                if !names.contains(&name.as_str()) {
                    names.push(name);
                }
            }
            if names.len() > MAX_RELATED {
                break;
            }
        }
        names
    }
}

impl Node {
    /// Adds the check of a format that only the library `jsonschema` supports.
    fn add_foreign_check(&mut self, draft: Draft) {
        if !has_foreign_format(draft, &self.leaf) {
            return;
        }
        #[cfg(feature = "jsonschema")]
        self.checks
            .extend(super::library::compile_format(draft, &self.leaf["format"]).map(Box::new).map(Check::Foreign));
        #[cfg(not(feature = "jsonschema"))]
        {
            self.gap = Some(Gap::Foreign("format"));
        }
    }

    /// Returns the schemas that this node applies to the same value.
    pub fn same_value(&self) -> impl Iterator<Item = NodeId> {
        let lists = [&self.references, &self.all_of, &self.any_of, &self.one_of].into_iter().flatten().copied();
        let single = [self.not, self.if_, self.then, self.else_].into_iter().flatten();
        lists.chain(single).chain(self.dependent_schemas.iter().map(|(_, id)| *id))
    }

    /// Returns the schemas that this node applies to parts of the value.
    pub fn parts(&self) -> impl Iterator<Item = NodeId> {
        let named = self.properties.iter().chain(&self.pattern_properties).map(|(_, id)| *id);
        let contains = self.contains.map(|contains| contains.schema);
        let single =
            [self.additional_properties, self.property_names, self.items, contains, self.unevaluated_properties];
        let single = single.into_iter().chain([self.unevaluated_items]).flatten();
        named.chain(self.prefix_items.iter().copied()).chain(single)
    }
}

/// A compiled keyword about the value itself.
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

/// Compiles `keywords` to checks, the cheapest first. `pattern` is the compiled form of the keyword `pattern`.
fn compile_checks(draft: Draft, keywords: &Map<String, Value>, pattern: Option<Pattern>) -> Vec<Check> {
    let get = |key: &str| keywords.get(key);
    let bound = |key: &str| get(key).and_then(Value::as_number).cloned();
    // No length reaches a bound above `u64::MAX`, so the bound saturates.
    let count = |key: &str| get(key).map(|value| data::to_count(value).unwrap_or(u64::MAX));
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
            (Self::Const(constant), value) => data::are_equal(constant, value),
            (Self::Enum(values), value) => values.iter().any(|other| data::are_equal(other, value)),
            (Self::Minimum(bound), Value::Number(value)) => data::compare(value, bound).is_ge(),
            (Self::Maximum(bound), Value::Number(value)) => data::compare(value, bound).is_le(),
            (Self::ExclusiveMinimum(bound), Value::Number(value)) => data::compare(value, bound).is_gt(),
            (Self::ExclusiveMaximum(bound), Value::Number(value)) => data::compare(value, bound).is_lt(),
            (Self::MultipleOf(step), Value::Number(value)) => data::is_multiple(value, step),
            (Self::MinLength(min), Value::String(text)) => text.chars().count() as u64 >= *min,
            (Self::MaxLength(max), Value::String(text)) => text.chars().count() as u64 <= *max,
            (Self::MinItems(min), Value::Array(items)) => items.len() as u64 >= *min,
            (Self::MaxItems(max), Value::Array(items)) => items.len() as u64 <= *max,
            (Self::MinProperties(min), Value::Object(map)) => map.len() as u64 >= *min,
            (Self::MaxProperties(max), Value::Object(map)) => map.len() as u64 <= *max,
            (Self::Pattern(pattern), Value::String(text)) => pattern.is_match(text),
            (Self::Format(check) | Self::Content(check), Value::String(text)) => check(text),
            (Self::UniqueItems, Value::Array(items)) => data::all_unique(items),
            #[cfg(feature = "jsonschema")]
            (Self::Foreign(validator), value) => validator.is_valid(value),
            _ => true,
        }
    }
}
