//! Which names and items of a value some schema has looked at, for `unevaluatedProperties` and `unevaluatedItems`.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::Walk;
use crate::schema::graph::Id;

impl Walk<'_> {
    /// The names that the schema `id` or one beside it has looked at; `None` where that is all of them.
    pub(super) fn evaluated_names<'v>(
        &mut self,
        id: Id,
        value: &'v Value,
        map: &'v Map<String, Value>,
    ) -> Option<HashSet<&'v str>> {
        let mut seen = HashSet::new();
        for id in self.successful(id, value) {
            let node = self.graph.node(id.schema);
            if node.additional.is_some() || (node.unevaluated_properties.is_some() && !id.own) {
                return None;
            }
            self.spend(map.len() * (1 + node.properties.len() / 16 + node.patterns.len()));
            for key in map.keys() {
                let listed = node.properties.iter().any(|(name, _)| name == key);
                if listed || !self.graph.by_pattern(id.schema, key).is_empty() {
                    seen.insert(key.as_str());
                }
            }
        }
        Some(seen)
    }

    /// The items that the schema `id` or one beside it has looked at; `None` where that is all of them.
    pub(super) fn evaluated_items(&mut self, id: Id, value: &Value, items: &[Value]) -> Option<HashSet<usize>> {
        let mut seen = HashSet::new();
        for id in self.successful(id, value) {
            let node = self.graph.node(id.schema);
            if node.items.is_some() || (node.unevaluated_items.is_some() && !id.own) {
                return None;
            }
            seen.extend(0..node.front.len());
            if let Some(contains) = node.contains {
                for (index, item) in items.iter().enumerate() {
                    if self.visit_part(&index.to_string(), contains.schema, item).is_empty() {
                        seen.insert(index);
                    }
                }
            }
        }
        Some(seen)
    }

    /// `id` and the schemas that it applies to `value` with success.
    fn successful(&mut self, id: Id, value: &Value) -> Vec<Successful> {
        let mut found = vec![Successful { schema: id, own: true }];
        let mut next = 0;
        while let Some(&Successful { schema, .. }) = found.get(next) {
            next += 1;
            let graph = self.graph;
            let node = graph.node(schema);
            let mut inner: Vec<Id> =
                graph.always(schema).chain(node.any_of.iter().chain(&node.one_of).copied()).collect();
            if let Some(condition) = node.condition {
                let holds = self.visit(condition, value).is_empty();
                inner.extend([Some(condition), if holds { node.then } else { node.otherwise }].into_iter().flatten());
            }
            inner.extend(node.dependent.iter().filter(|(name, _)| value.get(name).is_some()).map(|(_, id)| *id));
            self.spend(found.len() * inner.len() / 16);
            for schema in inner {
                let known = found.iter().any(|other| other.schema == schema);
                if !known && self.visit(schema, value).is_empty() {
                    found.push(Successful { schema, own: false });
                }
            }
        }
        found
    }
}

#[derive(Clone, Copy)]
struct Successful {
    schema: Id,
    /// Whether it is the schema that asks.
    own: bool,
}
