//! How much work it can become to check a value against a schema.
//!
//! A check visits each part of a value once for every way that leads from the root of the schema to a subschema of that
//! part. References make those ways multiply: thirty definitions of which each names the next one twice are a few
//! hundred bytes and a thousand million visits. So the ways are counted here:
//! for each depth, how often one part of a value at that depth can be visited at most.

use serde_json::Value;

use super::{Graph, Id, Node};

/// Deeper values are not checked.
pub const MOST_DEPTH: usize = 128;

/// More visits of one part than this are all the same: too many.
const MANY: u64 = 1 << 40;

/// The work that a check can become.
#[derive(Debug)]
pub struct Cost {
    /// For each depth, how often a part at that depth can be visited; the last one holds for all that are deeper.
    visits: Vec<u64>,
    /// How many schemas can look at one part inside each other: the stack that a check needs for each level.
    pub nesting: usize,
    /// How many ways `jsonschema` follows while it compiles, which it does not remember: to find out what tells
    /// alternatives apart, and which names and items other schemas evaluate.
    pub ways: u64,
}

/// The visits of one part that begin at one node.
#[derive(Clone, Copy, PartialEq)]
struct Visits {
    /// To check it.
    check: u64,
    /// To find out which of its names and items have been evaluated, for `unevaluatedProperties` and its like.
    mark: u64,
}

impl Cost {
    /// Returns the cost of `graph`; `None` if it has a schema that refers to itself without going deeper into the value,
    /// or through `unevaluatedProperties` or `unevaluatedItems`, which `jsonschema` would follow for ever.
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
        for depth in 0..=MOST_DEPTH {
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

    /// Returns how often a part at `depth` can be visited.
    pub fn at(&self, depth: usize) -> u64 {
        self.visits.get(depth).or(self.visits.last()).copied().unwrap_or(1)
    }
}

/// See [`Cost::ways`].
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

/// Returns whether `jsonschema` would follow references for ever while it compiles what `unevaluatedProperties` and its like
/// need to know: it follows them beside the keyword, compiles the parts of what it finds, and meets the keyword again.
/// Where it compiles a part for itself, it stops at references.
fn has_endless_unevaluated(graph: &Graph) -> bool {
    let count = graph.nodes.len();
    if !graph.nodes.iter().any(is_unevaluated) {
        return false;
    }
    let compiled = |node: &Node, id: Id| {
        // References come first.
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

/// Returns the numbers below `count`, each after its `parts`; `None` where that goes in a circle.
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

/// Returns the work of a node's own keywords: most are a comparison, lists of values or names are one for each.
pub fn effort(node: &Node) -> usize {
    let values = node.leaf.get("enum").and_then(Value::as_array).map_or(0, Vec::len);
    let lists = values + node.properties.len() + node.required.len() + 16 * node.patterns.len();
    1 + lists / 16
}

/// Returns the visits of one part of the value, one level down.
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
