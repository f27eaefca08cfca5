//! One schema and one value.

use serde_json::Value;

use super::{Walk, finish, leaf, phrase};
use crate::feedback::{Problem, ProblemKind, shorten};
use crate::schema::graph::Id;

impl Walk<'_> {
    /// Adds what is wrong with `value` by the schema `id`.
    pub(super) fn check(&mut self, id: Id, value: &Value, out: &mut Vec<Problem>) {
        let graph = self.graph;
        let node = graph.node(id);
        self.doubtful |= node.opaque;
        if node.constant == Some(false) {
            out.push(self.problem(ProblemKind::NotAllowed, "nothing here").got(shorten(value)));
        }
        leaf::check(self, id, value, out);
        for inner in graph.always(id) {
            out.extend_from_slice(&self.visit(inner, value));
        }
        if !node.any_of.is_empty() {
            self.union(id, &node.any_of, false, value, out);
        }
        if !node.one_of.is_empty() {
            self.union(id, &node.one_of, true, value, out);
        }
        if let Some(not) = node.not
            && self.visit(not, value).is_empty()
        {
            let expected = match phrase::of(graph, not).as_str() {
                "any value" => "another value (a `not` in the schema refuses this one)".to_owned(),
                refused => format!("anything but {refused}"),
            };
            out.push(self.problem(ProblemKind::NotAllowed, expected).got(shorten(value)));
        }
        if let Some(condition) = node.condition {
            let holds = self.visit(condition, value).is_empty();
            if let Some(branch) = if holds { node.then } else { node.otherwise } {
                out.extend_from_slice(&self.visit(branch, value));
            }
        }
        match value {
            Value::Object(map) => self.object(id, value, map, out),
            Value::Array(items) => self.list(id, value, items, out),
            _ => {}
        }
        finish::once(out);
        self.sort(id, out);
    }

    /// Puts problems in the order of the schema's names and the list's items; unknown names come last.
    fn sort(&self, id: Id, out: &mut [Problem]) {
        if out.len() < 2 {
            return;
        }
        let names: Vec<String> = self.graph.known_names(id).into_iter().map(super::escaped).collect();
        self.spend(100 + 4 * names.len());
        let place = |problem: &Problem| {
            let Some(rest) = problem.path[self.path.len()..].strip_prefix('/') else { return 0 };
            let first = rest.split('/').next().unwrap_or_default();
            let known = names.iter().position(|name| name == first);
            known.or_else(|| first.parse().ok()).map_or(usize::MAX, |index: usize| index.saturating_add(1))
        };
        out.sort_by_cached_key(place);
    }
}
