//! The items of a list.

use std::collections::HashMap;

use serde_json::Value;

use super::{Walk, phrase};
use crate::feedback::{Problem, ProblemKind, shorten};
use crate::schema::graph::{Contains, Id};

/// How often the same mistake is told for items of one list.
const MOST_ALIKE: usize = 3;

impl Walk<'_> {
    /// Adds what is wrong with the items of a list.
    pub(super) fn list(&mut self, id: Id, value: &Value, items: &[Value], out: &mut Vec<Problem>) {
        let graph = self.graph;
        let node = graph.node(id);
        let mut found = Vec::new();
        let mut strange = 0;
        for (index, item) in items.iter().enumerate() {
            let Some(schema) = node.front.get(index).copied().or(node.items) else { continue };
            if index >= node.front.len() && graph.node(schema).constant == Some(false) {
                strange += 1;
            } else {
                found.extend_from_slice(&self.visit_part(&index.to_string(), schema, item));
            }
        }
        if let Some(contains) = node.contains {
            self.contained(contains, items, out);
        }
        if let Some(schema) = node.unevaluated_items
            && let Some(seen) = self.evaluated_items(id, value, items)
        {
            for (index, item) in items.iter().enumerate().filter(|(index, _)| !seen.contains(index)) {
                if graph.node(schema).constant == Some(false) {
                    strange += 1;
                } else {
                    found.extend_from_slice(&self.visit_part(&index.to_string(), schema, item));
                }
            }
        }
        if strange > 0 {
            let expected = format!("a list of{}", phrase::counted(items.len() - strange, " at most", "item"));
            out.push(self.problem(ProblemKind::WrongLength, expected).got(shorten(value)));
        }
        out.extend(self.folded(found));
    }

    fn contained(&mut self, contains: Contains, items: &[Value], out: &mut Vec<Problem>) {
        let matching = (0..).zip(items).filter(|(index, item)| {
            let index: usize = *index;
            self.visit_part(&index.to_string(), contains.schema, item).is_empty()
        });
        let count = u64::try_from(matching.count()).unwrap_or(u64::MAX);
        let what = phrase::of(self.graph, contains.schema);
        let expected = if count < contains.least {
            format!("a list with at least {} that is {what}", phrase::number_of(contains.least, "item"))
        } else if let Some(most) = contains.most.filter(|most| count > *most) {
            format!("a list with at most {} that is {what}", phrase::number_of(most, "item"))
        } else {
            return;
        };
        out.push(self.problem(ProblemKind::Invalid, expected).got(format!("{count} of {} items", items.len())));
    }

    /// `found`, where the same mistake in many items is told for the first three, and then counted.
    fn folded(&self, found: Vec<Problem>) -> Vec<Problem> {
        if found.len() <= MOST_ALIKE {
            return found;
        }
        let start = self.path.len() + 1;
        let mut alike: HashMap<(String, ProblemKind, String), Vec<usize>> = HashMap::new();
        let mut kept: Vec<Problem> = Vec::new();
        for problem in found {
            let inside = problem.path[start..].split_once('/').map_or("", |(_, inside)| inside).to_owned();
            let places = alike.entry((inside, problem.kind, problem.expected.clone())).or_default();
            // Beyond the first ones, only how many there are counts.
            places.push(kept.len());
            if places.len() <= MOST_ALIKE {
                kept.push(problem);
            }
        }
        for places in alike.values().filter(|places| places.len() > MOST_ALIKE) {
            let more = phrase::number_of((places.len() - MOST_ALIKE) as u64, "more item");
            let last = &mut kept[places[MOST_ALIKE - 1]];
            let got = last.got.take().map_or_else(String::new, |got| format!("{got} "));
            last.got = Some(format!("{got}(and the same mistake in {more})"));
        }
        kept
    }
}
