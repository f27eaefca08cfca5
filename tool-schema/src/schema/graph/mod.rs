//! A schema as a graph: its subschemas as nodes, what applies them as edges, every local reference resolved.
//!
//! The graph answers three questions that a compiled `jsonschema` validator does not: how much work a check can become
//! ([`Cost`]), what is known about a place (its names, its allowed values), and which of several alternatives a value
//! comes near to.

mod build;
mod cost;
mod resolve;

use std::sync::OnceLock;

use jsonschema::Draft;
use serde_json::{Map, Value};

pub(super) use cost::{Cost, MOST_DEPTH};
pub(super) use resolve::address;

/// The index of a node.
pub(super) type Id = usize;

/// A schema as a graph. The root is node 0.
#[derive(Debug)]
pub(super) struct Graph {
    nodes: Vec<Node>,
    draft: Draft,
    /// How many parts of the schema have a name of their own, by `$id`.
    pub(super) resources: usize,
}

/// One subschema.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// `Some(false)` for the schema `false`.
    pub(super) constant: Option<bool>,
    /// The keywords that look at the value itself, not at its parts.
    pub(super) leaf: Map<String, Value>,
    pub(super) references: Vec<Id>,
    pub(super) all_of: Vec<Id>,
    pub(super) any_of: Vec<Id>,
    pub(super) one_of: Vec<Id>,
    pub(super) not: Option<Id>,
    pub(super) condition: Option<Id>,
    pub(super) then: Option<Id>,
    pub(super) otherwise: Option<Id>,
    /// Schemas that apply when a name is given.
    pub(super) dependent: Vec<(String, Id)>,
    /// Names that are required when a name is given.
    pub(super) dependent_required: Vec<(String, Vec<String>)>,
    pub(super) required: Vec<String>,
    pub(super) properties: Vec<(String, Id)>,
    pub(super) patterns: Vec<(String, Id)>,
    pub(super) additional: Option<Id>,
    pub(super) names: Option<Id>,
    /// The items at the front of a list, each with its own schema.
    pub(super) front: Vec<Id>,
    pub(super) items: Option<Id>,
    pub(super) contains: Option<Contains>,
    pub(super) unevaluated_properties: Option<Id>,
    pub(super) unevaluated_items: Option<Id>,
    /// Whether the node says something that the graph does not model (a reference by a scheme of its own).
    pub(super) opaque: bool,
    /// [`leaf`](Self::leaf), compiled when first needed; `None` where there is nothing to check.
    compiled: OnceLock<Option<jsonschema::Validator>>,
    /// The names of [`patterns`](Self::patterns), compiled when first needed.
    name_checks: OnceLock<Vec<Option<jsonschema::Validator>>>,
}

/// The keyword `contains` with its bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contains {
    pub(super) schema: Id,
    pub(super) least: u64,
    pub(super) most: Option<u64>,
}

impl Graph {
    pub(super) fn node_mut(&mut self, id: Id) -> &mut Node {
        &mut self.nodes[id]
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = (Id, &Node)> {
        self.nodes.iter().enumerate()
    }

    pub(super) fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    /// The work that a node's own keywords take.
    pub(super) fn effort(&self, id: Id) -> usize {
        cost::effort(&self.nodes[id])
    }

    /// The check of a node's leaf keywords.
    pub(super) fn leaf(&self, id: Id) -> Option<&jsonschema::Validator> {
        let node = &self.nodes[id];
        let compile = || {
            if node.leaf.is_empty() {
                return None;
            }
            compile_part(self.draft, node.leaf.clone())
        };
        node.compiled.get_or_init(compile).as_ref()
    }

    /// The schemas that `patternProperties` of a node applies to `name`.
    pub(super) fn by_pattern(&self, id: Id, name: &str) -> Vec<Id> {
        let node = &self.nodes[id];
        if node.patterns.is_empty() {
            return Vec::new();
        }
        let compile = |pattern: &String| {
            compile_part(self.draft, Map::from_iter([("pattern".to_owned(), Value::from(pattern.as_str()))]))
        };
        let checks =
            node.name_checks.get_or_init(|| node.patterns.iter().map(|(pattern, _)| compile(pattern)).collect());
        let name = Value::from(name);
        let matching =
            |check: &Option<jsonschema::Validator>| check.as_ref().is_some_and(|check| check.is_valid(&name));
        node.patterns.iter().zip(checks).filter(|(_, check)| matching(check)).map(|((_, id), _)| *id).collect()
    }

    /// The schemas that look at the same value as `id` does, whatever the value: references and `allOf`.
    pub(super) fn always(&self, id: Id) -> impl Iterator<Item = Id> {
        let node = &self.nodes[id];
        node.references.iter().chain(&node.all_of).copied()
    }

    /// `id` and everything that can look at the same value, each once, nearest first.
    pub(super) fn in_place(&self, id: Id) -> Vec<Id> {
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

    /// The names that objects at this place can have, in the schema's order.
    pub(super) fn known_names(&self, id: Id) -> Vec<&str> {
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
    /// The schemas that this one applies to the same value.
    pub(super) fn here(&self) -> impl Iterator<Item = Id> {
        let lists = [&self.references, &self.all_of, &self.any_of, &self.one_of].into_iter().flatten().copied();
        let single = [self.not, self.condition, self.then, self.otherwise].into_iter().flatten();
        lists.chain(single).chain(self.dependent.iter().map(|(_, id)| *id))
    }

    /// The schemas that this one applies to parts of the value.
    pub(super) fn deeper(&self) -> impl Iterator<Item = Id> {
        let named = self.properties.iter().chain(&self.patterns).map(|(_, id)| *id);
        let contains = self.contains.map(|contains| contains.schema);
        let single = [self.additional, self.names, self.items, contains, self.unevaluated_properties];
        let single = single.into_iter().chain([self.unevaluated_items]).flatten();
        named.chain(self.front.iter().copied()).chain(single)
    }
}

/// Compiles keywords that apply no other schema.
fn compile_part(draft: Draft, keywords: Map<String, Value>) -> Option<jsonschema::Validator> {
    super::validator::options(super::validator::MOST_PATTERN).with_draft(draft).build(&Value::Object(keywords)).ok()
}
