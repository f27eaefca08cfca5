//! The names and values of an object, and the items of a list.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::{Walk, phrase};
use crate::feedback::{Problem, ProblemKind, beginning, name, names, shorten, suggest};
use crate::schema::{
    graph::{Contains, Id},
    judge,
    pointer::segment,
};

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
                let found = self.visit_part(&segment(key), *schema, part);
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
            && let Some(seen) = judge::evaluated_names(self, graph, id, value, map)
        {
            for (key, part) in map.iter().filter(|(key, _)| !seen.contains(key.as_str())) {
                if graph.node(schema).constant == Some(false) {
                    out.push(self.unknown(&graph.known_names(id), key, map));
                } else {
                    out.extend_from_slice(&self.visit_part(&segment(key), schema, part));
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
        let listed: HashSet<&str> = node.properties.iter().map(|(key, _)| key.as_str()).collect();
        for (key, part) in map {
            // Enough is wrong already, and there is no telling how many names are left.
            if self.steps.get() == 0 && !out.is_empty() {
                return;
            }
            if let Some(schema) = node.names
                && !self.fits(schema, &Value::from(key.as_str()), usize::MAX)
            {
                let expected = format!("names that are each {}", phrase::of(graph, schema));
                out.push(self.problem_at(&segment(&beginning(key)), ProblemKind::Unknown, expected));
                continue;
            }
            self.spend(node.patterns.len());
            let matched: Vec<Id> = graph.by_pattern(id, key).collect();
            for schema in &matched {
                out.extend_from_slice(&self.visit_part(&segment(key), *schema, part));
            }
            let Some(additional) = node.additional.filter(|_| matched.is_empty() && !listed.contains(key.as_str()))
            else {
                continue;
            };
            if graph.node(additional).constant == Some(false) {
                let known: Vec<&str> = node.properties.iter().map(|(key, _)| key.as_str()).collect();
                out.push(self.unknown(&known, key, map));
            } else {
                out.extend_from_slice(&self.visit_part(&segment(key), additional, part));
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
        let mut problem = self.problem_at(&segment(key), ProblemKind::Missing, expected);
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
        self.problem_at(&segment(&beginning(key)), ProblemKind::Unknown, expected).suggest(near.map(name))
    }

    /// For `null` in place of a value that need not be given: that it can be left out.
    fn or_left_out(&self, key: &str, problem: &Problem) -> Problem {
        let mut problem = problem.clone();
        let here = problem.path.len() == self.path.len() + 1 + segment(key).len();
        if here && matches!(problem.kind, ProblemKind::WrongType | ProblemKind::NotAllowed) {
            problem.expected = format!("{}, or no {} at all", problem.expected, name(key));
        }
        problem
    }
}

/// The most items of one list for which one mistake is reported.
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
            self.check_contains(contains, items, out);
        }
        if let Some(schema) = node.unevaluated_items
            && let Some(seen) = judge::evaluated_items(self, graph, id, value, items)
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
            let expected = format!("a list of{}", phrase::count_of(items.len() - strange, " at most", "item"));
            out.push(self.problem(ProblemKind::WrongLength, expected).got(shorten(value)));
        }
        out.extend(self.fold_alike(found));
    }

    fn check_contains(&mut self, contains: Contains, items: &[Value], out: &mut Vec<Problem>) {
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

    /// Returns `found`, with one mistake in many items reported for the first three and counted for the others.
    fn fold_alike(&self, found: Vec<Problem>) -> Vec<Problem> {
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
