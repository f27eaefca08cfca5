//! The evaluator: it decides whether a value fits a schema, and which names and items the schema has evaluated.

use std::cell::Cell;
use std::collections::HashSet;

use serde_json::{Map, Value};

use super::draft::Draft;
use super::graph::{COMPARISONS_PER_VISIT, Graph, Node, NodeId};

/// The maximum number of listed names that are compared one by one.
const FEW_NAMES: usize = 8;

/// An evaluator of the schemas in a graph, at a bounded cost.
///
/// It is separate from the walk that explains problems: nearly all values fit, and the evaluator rarely allocates.
#[derive(Debug)]
pub struct Evaluator<'a> {
    graph: &'a Graph,
    remaining_cost: Cell<usize>,
}

impl<'a> Evaluator<'a> {
    /// Creates an evaluator that gives up when it has spent `max_cost`.
    pub fn new(graph: &'a Graph, max_cost: usize) -> Self {
        Self { graph, remaining_cost: Cell::new(max_cost) }
    }

    /// Returns the remaining part of the maximum cost. It is 0 if the evaluator gave up.
    pub fn remaining_cost(&self) -> usize {
        self.remaining_cost.get()
    }

    /// Returns whether `value` fits the schema `id`. Returns `false` if the evaluator gave up.
    pub fn accepts(&self, id: NodeId, value: &Value) -> bool {
        if !self.spend(self.graph.own_cost(id)) {
            return false;
        }
        let node = self.graph.node(id);
        node.constant != Some(false)
            && node.checks.iter().all(|check| check.passes(value))
            && self.graph.unconditional(id).all(|id| self.accepts(id, value))
            && self.accepts_alternatives(node, value)
            && node.not.is_none_or(|id| !self.accepts(id, value) && self.remaining_cost() > 0)
            && self.choose_branch(node, value).is_none_or(|id| self.accepts(id, value))
            && match value {
                Value::Object(map) => self.accepts_object(id, value, map),
                Value::Array(items) => self.accepts_list(id, value, items),
                _ => true,
            }
    }

    fn accepts_alternatives(&self, node: &Node, value: &Value) -> bool {
        let any = node.any_of.is_empty() || node.any_of.iter().any(|id| self.accepts(*id, value));
        any && (node.one_of.is_empty()
            || node.one_of.iter().filter(|id| self.accepts(**id, value)).take(2).count() == 1)
    }

    /// Returns `then` if `value` fits `if`, and `else` otherwise. Returns `None` if that keyword is missing.
    fn choose_branch(&self, node: &Node, value: &Value) -> Option<NodeId> {
        let if_ = node.if_.filter(|_| node.then.or(node.else_).is_some())?;
        if self.accepts(if_, value) { node.then } else { node.else_ }
    }

    fn accepts_object(&self, id: NodeId, value: &Value, map: &Map<String, Value>) -> bool {
        let node = self.graph.node(id);
        let is_given = |name: &str| map.contains_key(name);
        node.required.iter().all(|name| is_given(name))
            && node.properties.iter().all(|(name, id)| map.get(name).is_none_or(|part| self.accepts(*id, part)))
            && node
                .dependent_required
                .iter()
                .all(|(name, required)| !is_given(name) || required.iter().all(|name| is_given(name)))
            && node.dependent_schemas.iter().all(|(name, id)| !is_given(name) || self.accepts(*id, value))
            && self.accepts_other_members(id, node, map)
            && self.accepts_unevaluated_properties(id, node, value, map)
    }

    /// Returns whether the members that `properties` does not list fit.
    fn accepts_other_members(&self, id: NodeId, node: &Node, map: &Map<String, Value>) -> bool {
        if node.pattern_properties.is_empty() && node.additional_properties.is_none() && node.property_names.is_none() {
            return true;
        }
        let names = || node.properties.iter().map(|(name, _)| name.as_str());
        let listed: HashSet<&str> = if node.properties.len() > FEW_NAMES { names().collect() } else { HashSet::new() };
        let is_listed = |name: &str| listed.contains(name) || (listed.is_empty() && names().any(|other| other == name));
        map.iter().all(|(name, part)| {
            if node.property_names.is_some_and(|id| !self.accepts(id, &Value::from(name.as_str())))
                || !self.spend(node.pattern_properties.len())
            {
                return false;
            }
            let mut matches = false;
            let fits = self.graph.pattern_schemas(id, name).all(|id| {
                matches = true;
                self.accepts(id, part)
            });
            let additional = node.additional_properties.filter(|_| !matches && !is_listed(name));
            fits && additional.is_none_or(|id| self.accepts(id, part))
        })
    }

    fn accepts_unevaluated_properties(&self, id: NodeId, node: &Node, value: &Value, map: &Map<String, Value>) -> bool {
        let Some(schema) = node.unevaluated_properties else { return true };
        let Some(seen) = find_evaluated_names(&mut &*self, self.graph, id, value, map) else { return true };
        map.iter().all(|(name, part)| seen.contains(name.as_str()) || self.accepts(schema, part))
    }

    fn accepts_list(&self, id: NodeId, value: &Value, items: &[Value]) -> bool {
        let node = self.graph.node(id);
        let schema = |index: usize| node.prefix_items.get(index).copied().or(node.items);
        items.iter().enumerate().all(|(index, item)| schema(index).is_none_or(|id| self.accepts(id, item)))
            && node.contains.is_none_or(|contains| {
                let matching = items.iter().filter(|item| self.accepts(contains.schema, item)).count() as u64;
                matching >= contains.min && contains.max.is_none_or(|most| matching <= most)
            })
            && self.accepts_unevaluated_items(id, node, value, items)
    }

    fn accepts_unevaluated_items(&self, id: NodeId, node: &Node, value: &Value, items: &[Value]) -> bool {
        let Some(schema) = node.unevaluated_items else { return true };
        let Some(seen) = find_evaluated_items(&mut &*self, self.graph, id, value, items) else { return true };
        items.iter().enumerate().all(|(index, item)| seen.contains(&index) || self.accepts(schema, item))
    }

    /// Subtracts `cost` from the remaining cost. Returns whether any cost remains.
    fn spend(&self, cost: usize) -> bool {
        self.remaining_cost.set(self.remaining_cost().saturating_sub(cost));
        self.remaining_cost() > 0
    }
}

impl Validate for &Evaluator<'_> {
    fn validates(&mut self, _item: Option<usize>, id: NodeId, value: &Value) -> bool {
        self.accepts(id, value)
    }

    fn spend(&self, cost: usize) {
        Evaluator::spend(self, cost);
    }
}

/// A walk over a value that validates parts of the value.
pub trait Validate {
    /// Returns whether `value` fits the schema `id`. `value` is the item at `item` of the current list, or the current value.
    fn validates(&mut self, item: Option<usize>, id: NodeId, value: &Value) -> bool;

    fn spend(&self, cost: usize);
}

/// Returns the names that `id`, or a schema that `id` applies to `value`, has evaluated. Returns `None` if it evaluates all.
pub fn find_evaluated_names<'v>(
    walk: &mut impl Validate,
    graph: &Graph,
    id: NodeId,
    value: &'v Value,
    map: &'v Map<String, Value>,
) -> Option<HashSet<&'v str>> {
    let mut seen = HashSet::new();
    for id in find_successful(walk, graph, id, value) {
        let node = graph.node(id.schema);
        if node.additional_properties.is_some() || (node.unevaluated_properties.is_some() && !id.own) {
            return None;
        }
        walk.spend(map.len() * (1 + node.properties.len() / COMPARISONS_PER_VISIT + node.pattern_properties.len()));
        for key in map.keys() {
            let listed = node.properties.iter().any(|(name, _)| name == key);
            if listed || graph.pattern_schemas(id.schema, key).next().is_some() {
                seen.insert(key.as_str());
            }
        }
    }
    Some(seen)
}

/// Returns the items that `id`, or a schema that `id` applies to `value`, has evaluated. Returns `None` if it evaluates all.
pub fn find_evaluated_items(
    walk: &mut impl Validate,
    graph: &Graph,
    id: NodeId,
    value: &Value,
    items: &[Value],
) -> Option<HashSet<usize>> {
    let mut seen = HashSet::new();
    for id in find_successful(walk, graph, id, value) {
        let node = graph.node(id.schema);
        if node.items.is_some() || (node.unevaluated_items.is_some() && !id.own) {
            return None;
        }
        seen.extend(0..node.prefix_items.len());
        // In 2019-09, items that match `contains` do not count as evaluated.
        let contains = node.contains.filter(|_| graph.draft() >= Draft::Twenty);
        for (index, item) in items.iter().enumerate() {
            if contains.is_some_and(|contains| walk.validates(Some(index), contains.schema, item)) {
                seen.insert(index);
            }
        }
    }
    Some(seen)
}

#[derive(Clone, Copy)]
struct Successful {
    schema: NodeId,
    /// Set for the schema whose `unevaluatedProperties` or `unevaluatedItems` is being checked.
    own: bool,
}

/// Returns `id` and the schemas that `id` applies successfully to `value`.
fn find_successful(walk: &mut impl Validate, graph: &Graph, id: NodeId, value: &Value) -> Vec<Successful> {
    let mut found = vec![Successful { schema: id, own: true }];
    let mut next = 0;
    while let Some(&Successful { schema, .. }) = found.get(next) {
        next += 1;
        let node = graph.node(schema);
        let mut inner: Vec<NodeId> =
            graph.unconditional(schema).chain(node.any_of.iter().chain(&node.one_of).copied()).collect();
        if let Some(if_) = node.if_ {
            let branch = if walk.validates(None, if_, value) { node.then } else { node.else_ };
            inner.extend([Some(if_), branch].into_iter().flatten());
        }
        inner.extend(node.dependent_schemas.iter().filter(|(name, _)| value.get(name).is_some()).map(|(_, id)| *id));
        walk.spend(found.len() * inner.len() / COMPARISONS_PER_VISIT);
        for schema in inner {
            let known = found.iter().any(|other| other.schema == schema);
            if !known && walk.validates(None, schema, value) {
                found.push(Successful { schema, own: false });
            }
        }
    }
    found
}
