//! The evaluator of schemas: it decides whether values fit a schema, and which names and items a schema has evaluated.

use std::cell::Cell;
use std::collections::HashSet;

use serde_json::{Map, Value};

use super::draft::Draft;
use super::graph::{Graph, Id, Node};

/// The maximum number of listed names that are compared one by one.
const FEW_NAMES: usize = 8;

/// A validation of values with a bounded number of steps.
///
/// It is separate from the walk that explains problems: nearly all values fit, and this walk does not allocate.
#[derive(Debug)]
pub struct Evaluator<'a> {
    graph: &'a Graph,
    steps: Cell<usize>,
}

impl<'a> Evaluator<'a> {
    /// Creates a judge that gives up after `steps`. A step is a comparison of one value with one schema.
    pub fn new(graph: &'a Graph, steps: usize) -> Self {
        Self { graph, steps: Cell::new(steps) }
    }

    /// Returns the number of steps that are left. It is 0 if the judge gave up.
    pub fn steps(&self) -> usize {
        self.steps.get()
    }

    /// Returns whether `value` fits the schema `id`. Returns `false` if the judge gave up.
    pub fn accepts(&self, id: Id, value: &Value) -> bool {
        if !self.spends(self.graph.effort(id)) {
            return false;
        }
        let node = self.graph.node(id);
        node.constant != Some(false)
            && node.checks.iter().all(|check| check.passes(value))
            && self.graph.always(id).all(|id| self.accepts(id, value))
            && self.alternatives(node, value)
            && node.not.is_none_or(|id| !self.accepts(id, value) && self.steps() > 0)
            && self.branch(node, value).is_none_or(|id| self.accepts(id, value))
            && match value {
                Value::Object(map) => self.object(id, value, map),
                Value::Array(items) => self.list(id, value, items),
                _ => true,
            }
    }

    fn alternatives(&self, node: &Node, value: &Value) -> bool {
        let any = node.any_of.is_empty() || node.any_of.iter().any(|id| self.accepts(*id, value));
        any && (node.one_of.is_empty()
            || node.one_of.iter().filter(|id| self.accepts(**id, value)).take(2).count() == 1)
    }

    /// Returns the branch of a condition that applies to `value`.
    fn branch(&self, node: &Node, value: &Value) -> Option<Id> {
        let condition = node.condition.filter(|_| node.then.or(node.otherwise).is_some())?;
        if self.accepts(condition, value) { node.then } else { node.otherwise }
    }

    fn object(&self, id: Id, value: &Value, map: &Map<String, Value>) -> bool {
        let node = self.graph.node(id);
        let is_given = |name: &str| map.contains_key(name);
        node.required.iter().all(|name| is_given(name))
            && node.properties.iter().all(|(name, id)| map.get(name).is_none_or(|part| self.accepts(*id, part)))
            && node
                .dependent_required
                .iter()
                .all(|(name, required)| !is_given(name) || required.iter().all(|name| is_given(name)))
            && node.dependent.iter().all(|(name, id)| !is_given(name) || self.accepts(*id, value))
            && self.other_names(id, node, map)
            && self.unevaluated_names(id, node, value, map)
    }

    /// Returns whether the members that `properties` does not list fit.
    fn other_names(&self, id: Id, node: &Node, map: &Map<String, Value>) -> bool {
        if node.patterns.is_empty() && node.additional.is_none() && node.names.is_none() {
            return true;
        }
        let names = || node.properties.iter().map(|(name, _)| name.as_str());
        let listed: HashSet<&str> = if node.properties.len() > FEW_NAMES { names().collect() } else { HashSet::new() };
        let is_listed = |name: &str| listed.contains(name) || (listed.is_empty() && names().any(|other| other == name));
        map.iter().all(|(name, part)| {
            if node.names.is_some_and(|id| !self.accepts(id, &Value::from(name.as_str())))
                || !self.spends(node.patterns.len())
            {
                return false;
            }
            let mut matches = false;
            let fits = self.graph.by_pattern(id, name).all(|id| {
                matches = true;
                self.accepts(id, part)
            });
            let additional = node.additional.filter(|_| !matches && !is_listed(name));
            fits && additional.is_none_or(|id| self.accepts(id, part))
        })
    }

    fn unevaluated_names(&self, id: Id, node: &Node, value: &Value, map: &Map<String, Value>) -> bool {
        let Some(schema) = node.unevaluated_properties else { return true };
        let Some(seen) = evaluated_names(&mut &*self, self.graph, id, value, map) else { return true };
        map.iter().all(|(name, part)| seen.contains(name.as_str()) || self.accepts(schema, part))
    }

    fn list(&self, id: Id, value: &Value, items: &[Value]) -> bool {
        let node = self.graph.node(id);
        let schema = |index: usize| node.front.get(index).copied().or(node.items);
        items.iter().enumerate().all(|(index, item)| schema(index).is_none_or(|id| self.accepts(id, item)))
            && node.contains.is_none_or(|contains| {
                let matching = items.iter().filter(|item| self.accepts(contains.schema, item)).count() as u64;
                matching >= contains.least && contains.most.is_none_or(|most| matching <= most)
            })
            && self.unevaluated_items(id, node, value, items)
    }

    fn unevaluated_items(&self, id: Id, node: &Node, value: &Value, items: &[Value]) -> bool {
        let Some(schema) = node.unevaluated_items else { return true };
        let Some(seen) = evaluated_items(&mut &*self, self.graph, id, value, items) else { return true };
        items.iter().enumerate().all(|(index, item)| seen.contains(&index) || self.accepts(schema, item))
    }

    fn spends(&self, steps: usize) -> bool {
        self.steps.set(self.steps.get().saturating_sub(steps));
        self.steps.get() > 0
    }
}

impl Holds for &Evaluator<'_> {
    fn holds(&mut self, _item: Option<usize>, id: Id, value: &Value) -> bool {
        self.accepts(id, value)
    }

    fn spend(&self, steps: usize) {
        self.spends(steps);
    }
}

/// A walk over a value that can test schemas.
pub trait Holds {
    /// Returns whether `value` fits the schema `id`. `value` is the item at index `item` of the current list, or the current
    /// value.
    fn holds(&mut self, item: Option<usize>, id: Id, value: &Value) -> bool;

    fn spend(&self, steps: usize);
}

/// Returns the names that the schema `id` or an adjacent one has evaluated, or `None` if all are evaluated.
pub fn evaluated_names<'v>(
    walk: &mut impl Holds,
    graph: &Graph,
    id: Id,
    value: &'v Value,
    map: &'v Map<String, Value>,
) -> Option<HashSet<&'v str>> {
    let mut seen = HashSet::new();
    for id in find_successful(walk, graph, id, value) {
        let node = graph.node(id.schema);
        if node.additional.is_some() || (node.unevaluated_properties.is_some() && !id.own) {
            return None;
        }
        walk.spend(map.len() * (1 + node.properties.len() / 16 + node.patterns.len()));
        for key in map.keys() {
            let listed = node.properties.iter().any(|(name, _)| name == key);
            if listed || graph.by_pattern(id.schema, key).next().is_some() {
                seen.insert(key.as_str());
            }
        }
    }
    Some(seen)
}

/// Returns the items that the schema `id` or an adjacent one has evaluated, or `None` if all are evaluated.
pub fn evaluated_items(
    walk: &mut impl Holds,
    graph: &Graph,
    id: Id,
    value: &Value,
    items: &[Value],
) -> Option<HashSet<usize>> {
    let mut seen = HashSet::new();
    for id in find_successful(walk, graph, id, value) {
        let node = graph.node(id.schema);
        if node.items.is_some() || (node.unevaluated_items.is_some() && !id.own) {
            return None;
        }
        seen.extend(0..node.front.len());
        // In 2019-09, items that match `contains` do not count as evaluated.
        let contains = node.contains.filter(|_| graph.draft() >= Draft::Twenty);
        for (index, item) in items.iter().enumerate() {
            if contains.is_some_and(|contains| walk.holds(Some(index), contains.schema, item)) {
                seen.insert(index);
            }
        }
    }
    Some(seen)
}

#[derive(Clone, Copy)]
struct Successful {
    schema: Id,
    /// Set for the schema whose keyword needs the answer.
    own: bool,
}

/// Returns `id` and the schemas that it applies successfully to `value`.
fn find_successful(walk: &mut impl Holds, graph: &Graph, id: Id, value: &Value) -> Vec<Successful> {
    let mut found = vec![Successful { schema: id, own: true }];
    let mut next = 0;
    while let Some(&Successful { schema, .. }) = found.get(next) {
        next += 1;
        let node = graph.node(schema);
        let mut inner: Vec<Id> = graph.always(schema).chain(node.any_of.iter().chain(&node.one_of).copied()).collect();
        if let Some(condition) = node.condition {
            let holds = walk.holds(None, condition, value);
            inner.extend([Some(condition), if holds { node.then } else { node.otherwise }].into_iter().flatten());
        }
        inner.extend(node.dependent.iter().filter(|(name, _)| value.get(name).is_some()).map(|(_, id)| *id));
        walk.spend(found.len() * inner.len() / 16);
        for schema in inner {
            let known = found.iter().any(|other| other.schema == schema);
            if !known && walk.holds(None, schema, value) {
                found.push(Successful { schema, own: false });
            }
        }
    }
    found
}
