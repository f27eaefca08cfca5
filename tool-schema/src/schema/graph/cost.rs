//! The maximum work of checking a value against a schema.
//!
//! A check visits a part of the value once for each path from the schema's root to a subschema of that part. References multiply
//! paths: thirty definitions that each refer to the next one twice take a few hundred bytes and a billion visits. So this module
//! computes, for each depth, the maximum number of visits of one part at that depth.

use serde_json::Value;

use super::{Graph, Id, Node};

/// The maximum depth of a value that is checked.
pub const MAX_DEPTH: usize = 128;

/// The number at which counting stops, because it is above every limit.
const MANY: u64 = 1 << 40;

/// The maximum work of a check.
#[derive(Debug)]
pub struct Cost {
    /// The maximum visits of one part, by its depth. The last number also holds for all deeper parts.
    visits: Vec<u64>,
    /// The maximum number of schemas that are active for one part, which determines the stack for each level.
    pub nesting: usize,
    /// The number of paths that `jsonschema` follows while it compiles, because it remembers none. It needs them for the tags of
    /// alternatives, and for the names and items that other schemas evaluate.
    pub ways: u64,
}

/// The visits of one part that start at one node.
#[derive(Clone, Copy, PartialEq)]
struct Visits {
    /// Visits that check the part.
    check: u64,
    /// Visits that find its evaluated names and items, for `unevaluatedProperties` and `unevaluatedItems`.
    mark: u64,
}

impl Cost {
    /// Returns the cost of `graph`. Returns `None` if a schema refers to itself without going deeper into the value, or through
    /// `unevaluatedProperties` or `unevaluatedItems`: `jsonschema` would follow such references forever.
    pub fn of(graph: &Graph) -> Option<Self> {
        let order = order(graph.nodes.len(), |id| graph.nodes[id].here().collect())?;
        if has_endless_unevaluated(graph) {
            return None;
        }
        let mut nesting = vec![1; graph.nodes.len()];
        for &id in &order {
            nesting[id] = 1 + graph.nodes[id].here().map(|id| nesting[id]).max().unwrap_or(0);
        }
        let mut before = vec![Visits { check: 0, mark: 0 }; graph.nodes.len()];
        let mut visits = Vec::new();
        for depth in 0..=MAX_DEPTH {
            let mut now = before.clone();
            for &id in &order {
                now[id] = visits_from(&graph.nodes[id], &now, &before, depth);
            }
            visits.push(now[0].check);
            if (depth > 1 && now == before) || now[0].check >= MANY {
                break;
            }
            before = now;
        }
        Some(Self { visits, nesting: nesting.into_iter().max().unwrap_or(1), ways: ways(graph, &order) })
    }

    /// Returns the maximum visits of a part at `depth`.
    pub fn at(&self, depth: usize) -> u64 {
        self.visits.get(depth).or(self.visits.last()).copied().unwrap_or(1)
    }
}

/// Computes [`Cost::ways`].
fn ways(graph: &Graph, order: &[Id]) -> u64 {
    let mut sure = vec![1; graph.nodes.len()];
    let mut possible = vec![1; graph.nodes.len()];
    for &id in order {
        sure[id] = graph.always(id).fold(1, |sum: u64, id| sum.saturating_add(sure[id]));
        possible[id] = graph.nodes[id].here().fold(1, |sum: u64, id| sum.saturating_add(possible[id]));
    }
    let mut sum = 0_u64;
    for (id, node) in graph.nodes() {
        for id in node.any_of.iter().chain(&node.one_of) {
            sum = sum.saturating_add(sure[*id]);
        }
        if is_unevaluated(node) {
            sum = sum.saturating_add(possible[id]);
        }
    }
    sum
}

fn is_unevaluated(node: &Node) -> bool {
    node.unevaluated_properties.is_some() || node.unevaluated_items.is_some()
}

/// Returns whether `jsonschema` would follow references forever while it compiles `unevaluatedProperties` or
/// `unevaluatedItems`.
///
/// It follows the references beside such a keyword, compiles the parts of their targets, and can meet the keyword again.
/// Elsewhere it stops at references.
fn has_endless_unevaluated(graph: &Graph) -> bool {
    let count = graph.nodes.len();
    if !graph.nodes.iter().any(is_unevaluated) {
        return false;
    }
    let compiled = |node: &Node, id: Id| {
        // `here` returns the references first. Skip them.
        let inner = node.here().skip(node.references.len()).chain(node.deeper());
        inner.chain(is_unevaluated(node).then_some(count + id)).collect()
    };
    let looked_through = |node: &Node| node.deeper().chain(node.here().map(|id| count + id)).collect();
    let parts = |id: Id| match graph.nodes.get(id) {
        Some(node) => compiled(node, id),
        None => looked_through(&graph.nodes[id - count]),
    };
    order(2 * count, parts).is_none()
}

/// Returns the numbers below `count`, each after its `parts`. Returns `None` if the parts form a cycle.
fn order(count: usize, parts: impl Fn(Id) -> Vec<Id>) -> Option<Vec<Id>> {
    let mut waiting_for: Vec<usize> = (0..count).map(|id| parts(id).len()).collect();
    let mut waited_by: Vec<Vec<Id>> = vec![Vec::new(); count];
    for id in 0..count {
        for inner in parts(id) {
            waited_by[inner].push(id);
        }
    }
    let mut order: Vec<Id> = (0..count).filter(|&id| waiting_for[id] == 0).collect();
    let mut next = 0;
    while let Some(&done) = order.get(next) {
        next += 1;
        for &id in &waited_by[done] {
            waiting_for[id] -= 1;
            if waiting_for[id] == 0 {
                order.push(id);
            }
        }
    }
    (order.len() == count).then_some(order)
}

fn visits_from(node: &Node, now: &[Visits], before: &[Visits], depth: usize) -> Visits {
    let (mut check, mut mark): (u64, u64) =
        if depth == 0 { (effort(node) as u64, 1) } else { (deeper(node, before, depth), 0) };
    for id in node.here() {
        check = check.saturating_add(now[id].check);
        mark = mark.saturating_add(now[id].check).saturating_add(now[id].mark);
    }
    if node.unevaluated_properties.is_some() || node.unevaluated_items.is_some() {
        check = check.saturating_add(mark);
    }
    Visits { check: check.min(MANY), mark: mark.min(MANY) }
}

/// Returns the work of a node's own keywords. Most take one comparison; lists of values or names take one for each
/// item.
pub fn effort(node: &Node) -> usize {
    let values = node.leaf.get("enum").and_then(Value::as_array).map_or(0, Vec::len);
    let lists = values + node.properties.len() + node.required.len() + 16 * node.patterns.len();
    1 + lists / 16
}

/// Returns the visits of one part that is one level deeper.
fn deeper(node: &Node, before: &[Visits], depth: usize) -> u64 {
    let most = |ids: &mut dyn Iterator<Item = Id>| ids.map(|id| before[id].check).max().unwrap_or(0);
    let named = node.properties.iter().map(|(_, id)| *id).chain(node.additional).chain(node.unevaluated_properties);
    let mut in_object = most(&mut named.into_iter());
    for (_, id) in &node.patterns {
        in_object = in_object.saturating_add(before[*id].check);
    }
    if let Some(names) = node.names.filter(|_| depth == 1) {
        in_object = in_object.saturating_add(before[names].check);
    }
    let items = node.front.iter().copied().chain(node.items).chain(node.unevaluated_items);
    let contains = node.contains.map_or(0, |contains| before[contains.schema].check);
    in_object.max(most(&mut items.into_iter()).saturating_add(contains))
}
