//! The maximum cost of checking a value against a schema.
//!
//! A check visits a part of the value once for each path from the schema's root to a subschema of that part. References multiply
//! paths: thirty definitions that each refer to the next one twice take a few hundred bytes and a billion visits. So this module
//! computes, for each depth, the maximum cost of one part at that depth. The unit of cost is a visit.

use serde_json::Value;

use super::{Graph, Node, NodeId};

/// The maximum depth of a value that is checked.
pub const MAX_DEPTH: usize = 128;

/// The number at which counting stops, because it is above every limit.
const MANY: u64 = 1 << 40;

/// The number of comparisons of names or values that cost as much as a visit.
pub const COMPARISONS_PER_VISIT: usize = 16;

/// The number of bytes of a text whose check costs as much as a visit.
pub const BYTES_PER_VISIT: usize = 64;

/// The maximum cost of a check.
#[derive(Debug)]
pub struct Cost {
    /// The maximum cost of one part, by the part's depth. The last number also holds for all deeper parts.
    by_depth: Vec<u64>,
    /// The maximum number of schemas that are active for one part, which determines the stack for each level.
    pub nesting: usize,
    /// The number of paths that `jsonschema` follows while it compiles: for the tags of alternatives, and for the names and
    /// items that other schemas evaluate. It follows a path again at each use, because it caches no results.
    pub paths: u64,
}

/// The maximum cost of one part, for a check that starts at one node.
#[derive(Clone, Copy, PartialEq)]
struct PartCost {
    /// The cost of checking the part.
    check: u64,
    /// The cost of finding its evaluated names and items, for `unevaluatedProperties` and `unevaluatedItems`.
    mark: u64,
}

impl Cost {
    /// Returns the cost of `graph`. Returns `None` if a schema refers to itself without going deeper into the value, or through
    /// `unevaluatedProperties` or `unevaluatedItems`: `jsonschema` would follow such references forever.
    pub fn of(graph: &Graph) -> Option<Self> {
        let order = sort_topologically(graph.nodes.len(), |id| graph.nodes[id].same_value().collect())?;
        if has_endless_unevaluated(graph) {
            return None;
        }
        let mut nesting = vec![1; graph.nodes.len()];
        for &id in &order {
            nesting[id] = 1 + graph.nodes[id].same_value().map(|id| nesting[id]).max().unwrap_or(0);
        }
        let mut before = vec![PartCost { check: 0, mark: 0 }; graph.nodes.len()];
        let mut by_depth = Vec::new();
        for depth in 0..=MAX_DEPTH {
            let mut now = before.clone();
            for &id in &order {
                now[id] = part_cost(&graph.nodes[id], &now, &before, depth);
            }
            by_depth.push(now[0].check);
            if (depth > 1 && now == before) || now[0].check >= MANY {
                break;
            }
            before = now;
        }
        Some(Self { by_depth, nesting: nesting.into_iter().max().unwrap_or(1), paths: count_paths(graph, &order) })
    }

    /// Returns the maximum cost of a part at `depth`.
    pub fn at(&self, depth: usize) -> u64 {
        self.by_depth.get(depth).or(self.by_depth.last()).copied().unwrap_or(1)
    }
}

/// Computes [`Cost::paths`].
fn count_paths(graph: &Graph, order: &[NodeId]) -> u64 {
    let mut sure = vec![1; graph.nodes.len()];
    let mut possible = vec![1; graph.nodes.len()];
    for &id in order {
        sure[id] = graph.unconditional(id).fold(1, |sum: u64, id| sum.saturating_add(sure[id]));
        possible[id] = graph.nodes[id].same_value().fold(1, |sum: u64, id| sum.saturating_add(possible[id]));
    }
    let mut sum = 0_u64;
    for (id, node) in graph.nodes() {
        for id in node.any_of.iter().chain(&node.one_of) {
            sum = sum.saturating_add(sure[*id]);
        }
        if has_unevaluated(node) {
            sum = sum.saturating_add(possible[id]);
        }
    }
    sum
}

fn has_unevaluated(node: &Node) -> bool {
    node.unevaluated_properties.is_some() || node.unevaluated_items.is_some()
}

/// Returns whether `jsonschema` would never finish compiling `unevaluatedProperties` or `unevaluatedItems`.
///
/// `jsonschema` follows the references beside such a keyword, compiles the parts of their targets, and can meet the keyword
/// again. At other references, it stops.
fn has_endless_unevaluated(graph: &Graph) -> bool {
    let count = graph.nodes.len();
    if !graph.nodes.iter().any(has_unevaluated) {
        return false;
    }
    let compiled = |node: &Node, id: NodeId| {
        // `same_value` returns the references first. Skip them.
        let inner = node.same_value().skip(node.references.len()).chain(node.parts());
        inner.chain(has_unevaluated(node).then_some(count + id)).collect()
    };
    let looked_through = |node: &Node| node.parts().chain(node.same_value().map(|id| count + id)).collect();
    let parts = |id: NodeId| match graph.nodes.get(id) {
        Some(node) => compiled(node, id),
        None => looked_through(&graph.nodes[id - count]),
    };
    sort_topologically(2 * count, parts).is_none()
}

/// Returns the numbers below `count`, each after its `parts`. Returns `None` if the parts form a cycle.
fn sort_topologically(count: usize, parts: impl Fn(NodeId) -> Vec<NodeId>) -> Option<Vec<NodeId>> {
    let mut waiting_for: Vec<usize> = (0..count).map(|id| parts(id).len()).collect();
    let mut waited_by: Vec<Vec<NodeId>> = vec![Vec::new(); count];
    for id in 0..count {
        for inner in parts(id) {
            waited_by[inner].push(id);
        }
    }
    let mut order: Vec<NodeId> = (0..count).filter(|&id| waiting_for[id] == 0).collect();
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

/// Returns the cost of a part that is `depth` levels below the value of `node`. `now` has the costs at `depth` for the nodes
/// that `node` applies to the same value. `before` has the costs at `depth - 1` for all nodes.
fn part_cost(node: &Node, now: &[PartCost], before: &[PartCost], depth: usize) -> PartCost {
    let (mut check, mut mark): (u64, u64) =
        if depth == 0 { (own_cost(node) as u64, 1) } else { (cost_through_parts(node, before, depth), 0) };
    for id in node.same_value() {
        check = check.saturating_add(now[id].check);
        mark = mark.saturating_add(now[id].check).saturating_add(now[id].mark);
    }
    if has_unevaluated(node) {
        check = check.saturating_add(mark);
    }
    PartCost { check: check.min(MANY), mark: mark.min(MANY) }
}

/// Returns the cost of a node's own keywords. A pattern for names costs as much as a visit.
pub fn own_cost(node: &Node) -> usize {
    let values = node.leaf.get("enum").and_then(Value::as_array).map_or(0, Vec::len);
    let listed = values + node.properties.len() + node.required.len();
    1 + listed / COMPARISONS_PER_VISIT + node.pattern_properties.len()
}

/// Returns the cost of a part that is `depth` levels below. Nodes that `node` applies to the same value do not count.
fn cost_through_parts(node: &Node, before: &[PartCost], depth: usize) -> u64 {
    let max = |ids: &mut dyn Iterator<Item = NodeId>| ids.map(|id| before[id].check).max().unwrap_or(0);
    let named =
        node.properties.iter().map(|(_, id)| *id).chain(node.additional_properties).chain(node.unevaluated_properties);
    let mut in_object = max(&mut named.into_iter());
    for (_, id) in &node.pattern_properties {
        in_object = in_object.saturating_add(before[*id].check);
    }
    if let Some(names) = node.property_names.filter(|_| depth == 1) {
        in_object = in_object.saturating_add(before[names].check);
    }
    let items = node.prefix_items.iter().copied().chain(node.items).chain(node.unevaluated_items);
    let contains = node.contains.map_or(0, |contains| before[contains.schema].check);
    in_object.max(max(&mut items.into_iter()).saturating_add(contains))
}
