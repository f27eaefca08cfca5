//! How parameters wait for each other, by their places: cycles, and an order.

use std::{cmp::Ordering, collections::BTreeSet};

/// The cycles in which nodes wait for each other: `before[n]` is what `n` waits for, places beyond the end among them.
///
/// Each is the way from its first node to its last, which waits for the first; they are found by going from each node in
/// order, along what it waits for in order, without going through a node twice.
pub fn cycles(before: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    let mut seen = vec![false; before.len()];
    for root in 0..before.len() {
        if seen[root] {
            continue;
        }
        seen[root] = true;
        // The way from the root, each node with how many of its ways were gone.
        let mut way = vec![(root, 0)];
        while let Some((node, gone)) = way.last_mut() {
            let Some(next) = before[*node].get(*gone).copied() else {
                way.pop();
                continue;
            };
            *gone += 1;
            if let Some(start) = way.iter().position(|(node, _)| *node == next) {
                found.push(way[start..].iter().map(|(node, _)| *node).collect());
            } else if next < before.len() && !seen[next] {
                seen[next] = true;
                way.push((next, 0));
            }
        }
    }
    found
}

/// An order in which each node comes after what it waits for; of those that may come next, the least by `compare` does.
///
/// `None` where nodes wait for each other, or for a place beyond the end.
pub fn order(before: &[Vec<usize>], compare: impl Fn(usize, usize) -> Ordering) -> Option<Vec<usize>> {
    let mut by_name: Vec<usize> = (0..before.len()).collect();
    by_name.sort_by(|a, b| compare(*a, *b));
    let mut rank = vec![0; before.len()];
    for (place, node) in by_name.iter().enumerate() {
        rank[*node] = place;
    }
    let mut waits: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut behind = vec![Vec::new(); before.len()];
    for (node, before) in before.iter().enumerate() {
        for first in before {
            if let Some(behind) = behind.get_mut(*first) {
                behind.push(node);
            }
        }
    }
    let mut ready: BTreeSet<usize> =
        (0..before.len()).filter(|node| waits[*node] == 0).map(|node| rank[node]).collect();
    let mut order = Vec::with_capacity(before.len());
    while let Some(place) = ready.pop_first() {
        let node = by_name[place];
        order.push(node);
        for next in &behind[node] {
            waits[*next] -= 1;
            if waits[*next] == 0 {
                ready.insert(rank[*next]);
            }
        }
    }
    (order.len() == before.len()).then_some(order)
}
