//! The names and values of an object.

use serde_json::{Map, Value};

use super::{Walk, escaped, phrase};
use crate::feedback::{Problem, ProblemKind, beginning, name, names, suggest};
use crate::schema::graph::Id;

/// How many unknown names may be what a missing one was misspelt for.
const MOST_COMPARED: usize = 100;

/// The steps that it takes to compare two names.
const STEPS_TO_COMPARE: usize = 10;

impl Walk<'_> {
    /// Adds what is wrong with the parts of an object.
    pub(super) fn object(&mut self, id: Id, value: &Value, map: &Map<String, Value>, out: &mut Vec<Problem>) {
        let graph = self.graph;
        let node = graph.node(id);
        for (key, schema) in &node.properties {
            if let Some(part) = map.get(key) {
                let found = self.visit_part(&escaped(key), *schema, part);
                let optional = part.is_null() && !node.required.contains(key);
                out.extend(
                    found.iter().map(|problem| if optional { self.or_left_out(key, problem) } else { problem.clone() }),
                );
            }
        }
        for key in node.required.iter().filter(|key| !map.contains_key(*key)) {
            out.push(self.missing(id, key, map));
        }
        for (given, required) in node.dependent_required.iter().filter(|(given, _)| map.contains_key(given)) {
            for key in required.iter().filter(|key| !map.contains_key(*key)) {
                let mut problem = self.missing(id, key, map);
                problem.expected = format!("{} (required beside {})", problem.expected, name(given));
                out.push(problem);
            }
        }
        for (_, schema) in node.dependent.iter().filter(|(given, _)| map.contains_key(given)) {
            out.extend_from_slice(&self.visit(*schema, value));
        }
        self.other_names(id, map, out);
        if let Some(schema) = node.unevaluated_properties
            && let Some(seen) = self.evaluated_names(id, value, map)
        {
            for (key, part) in map.iter().filter(|(key, _)| !seen.contains(key.as_str())) {
                if graph.node(schema).constant == Some(false) {
                    out.push(self.unknown(&graph.known_names(id), key, map));
                } else {
                    out.extend_from_slice(&self.visit_part(&escaped(key), schema, part));
                }
            }
        }
    }

    /// The names that `properties` does not list.
    fn other_names(&mut self, id: Id, map: &Map<String, Value>, out: &mut Vec<Problem>) {
        let graph = self.graph;
        let node = graph.node(id);
        if node.patterns.is_empty() && node.additional.is_none() && node.names.is_none() {
            return;
        }
        let listed: std::collections::HashSet<&str> = node.properties.iter().map(|(key, _)| key.as_str()).collect();
        for (key, part) in map {
            // Enough is wrong already, and there is no telling how many names are left.
            if self.steps.get() == 0 && !out.is_empty() {
                return;
            }
            if let Some(schema) = node.names
                && !self.fits(schema, &Value::from(key.as_str()), usize::MAX)
            {
                let expected = format!("names that are each {}", phrase::of(graph, schema));
                out.push(self.problem_at(&escaped(&beginning(key)), ProblemKind::Unknown, expected));
                continue;
            }
            self.spend(node.patterns.len());
            let matched = graph.by_pattern(id, key);
            for schema in &matched {
                out.extend_from_slice(&self.visit_part(&escaped(key), *schema, part));
            }
            let Some(additional) = node.additional.filter(|_| matched.is_empty() && !listed.contains(key.as_str()))
            else {
                continue;
            };
            if graph.node(additional).constant == Some(false) {
                let known: Vec<&str> = node.properties.iter().map(|(key, _)| key.as_str()).collect();
                out.push(self.unknown(&known, key, map));
            } else {
                out.extend_from_slice(&self.visit_part(&escaped(key), additional, part));
            }
        }
    }

    fn missing(&self, id: Id, key: &str, map: &Map<String, Value>) -> Problem {
        let graph = self.graph;
        let places = graph.in_place(id);
        let mut properties = places.iter().flat_map(|id| &graph.node(*id).properties);
        let schema = properties.find(|(other, _)| other == key).map(|(_, schema)| *schema);
        let expected = schema.map_or_else(|| "a value".to_owned(), |schema| phrase::of(graph, schema));
        let allowed = schema.and_then(|schema| phrase::allowed_values(graph, schema)).unwrap_or_default();
        let mut problem = self.problem_at(&escaped(key), ProblemKind::Missing, expected);
        if allowed.len() > 1 && allowed.len() <= 50 {
            problem = problem.allowed(allowed);
        }
        let known = graph.known_names(id);
        let strange = map.keys().map(String::as_str).filter(|other| !known.contains(other)).take(MOST_COMPARED);
        self.spend(strange.clone().count() * STEPS_TO_COMPARE);
        match suggest::nearest(key, strange) {
            Some(near) => problem.got(format!("the name {} instead", name(near))),
            None => problem,
        }
    }

    fn unknown(&self, known: &[&str], key: &str, map: &Map<String, Value>) -> Problem {
        let free: Vec<&str> = known.iter().copied().filter(|other| !map.contains_key(*other)).collect();
        let near = suggest::nearest(key, free.iter().copied()).or_else(|| suggest::nearest(key, known.iter().copied()));
        let expected = match (known, free.as_slice()) {
            ([], _) => "an object without names".to_owned(),
            (known, []) => format!("no more than {}", names(known.iter().copied(), "and")),
            (_, [free]) => name(free),
            (_, free) => format!("one of {}", names(free.iter().copied(), "or")),
        };
        self.problem_at(&escaped(&beginning(key)), ProblemKind::Unknown, expected).suggest(near.map(name))
    }

    /// For `null` in place of a value that need not be given: that it can be left out.
    fn or_left_out(&self, key: &str, problem: &Problem) -> Problem {
        let mut problem = problem.clone();
        let here = problem.path.len() == self.path.len() + 1 + escaped(key).len();
        if here && matches!(problem.kind, ProblemKind::WrongType | ProblemKind::NotAllowed) {
            problem.expected = format!("{}, or no {} at all", problem.expected, name(key));
        }
        problem
    }
}
