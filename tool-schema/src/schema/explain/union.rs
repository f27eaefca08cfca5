//! `anyOf` and `oneOf`: finding the intended alternative.

use std::rc::Rc;

use serde_json::Value;

use super::{Walk, keywords, phrase};
use crate::feedback::{Problem, ProblemKind, name, names, shorten, suggest};
use crate::schema::graph::Id;
use crate::schema::pointer::segment;

/// An alternative and its problems with the value.
struct Branch {
    id: Id,
    problems: Rc<[Problem]>,
}

impl Walk<'_> {
    /// Adds the problems of `value` with the alternatives `ids` of `whole`.
    pub(super) fn union(&mut self, whole: Id, ids: &[Id], exactly_one: bool, value: &Value, out: &mut Vec<Problem>) {
        let mut branches = Vec::new();
        let mut fitting = Vec::new();
        for &id in ids {
            let problems = self.visit(id, value);
            if problems.is_empty() {
                fitting.push(id);
            } else {
                branches.push(Branch { id, problems });
            }
        }
        match fitting.as_slice() {
            [] => self.none_fits(whole, ids, branches, value, out),
            [first, second, ..] if exactly_one => {
                let (first, second) = (phrase::of(self.graph, *first), phrase::of(self.graph, *second));
                let expected = format!("only one of {} alternatives to fit", ids.len());
                let got = format!("{}, which is both {first} and {second}", shorten(value));
                out.push(self.problem(ProblemKind::Invalid, expected).got(got));
            }
            _ => {}
        }
    }

    fn none_fits(&mut self, whole: Id, ids: &[Id], branches: Vec<Branch>, value: &Value, out: &mut Vec<Problem>) {
        let of_type: Vec<Branch> = branches.into_iter().filter(|branch| !self.is_other_type(branch)).collect();
        match of_type.as_slice() {
            [] => out.push(self.no_type_fits(whole, ids, value)),
            [only] => out.extend_from_slice(&only.problems),
            several => self.several_fit_by_type(several, value, out),
        }
    }

    fn several_fit_by_type(&mut self, branches: &[Branch], value: &Value, out: &mut Vec<Problem>) {
        if let Value::Object(map) = value
            && let Some(problems) = self.by_tag(branches, map).or_else(|| self.by_key(branches, map))
        {
            out.extend(problems);
        } else if let Some(branch) = self.nearest(branches, value) {
            out.extend_from_slice(&branch.problems);
        } else {
            let ids: Vec<Id> = branches.iter().map(|branch| branch.id).collect();
            let expected = phrase::alternatives(self.graph, &ids);
            out.push(self.problem(ProblemKind::Invalid, expected).got(shorten(value)));
        }
    }

    /// Returns whether the branch rejects the whole value, because of its type or because it expects another value.
    fn is_other_type(&self, branch: &Branch) -> bool {
        let refuses = |problem: &Problem| matches!(problem.kind, ProblemKind::WrongType | ProblemKind::NotAllowed);
        branch.problems.iter().any(|problem| problem.path == self.path && refuses(problem))
    }

    fn no_type_fits(&mut self, whole: Id, ids: &[Id], value: &Value) -> Problem {
        let lists: Vec<Option<Vec<Value>>> = ids.iter().map(|&id| phrase::allowed_values(self.graph, id)).collect();
        if lists.iter().all(Option::is_some) {
            let all = distinct(lists.iter().flatten().flatten());
            return keywords::not_allowed(self, whole, value, all);
        }
        let listed: Vec<Value> = lists.into_iter().flatten().flatten().collect();
        let mut problem = keywords::wrong_type(self, ids, whole, value);
        problem.expected = phrase::alternatives(self.graph, ids);
        if listed.iter().any(Value::is_string) && value.is_string() {
            problem.kind = ProblemKind::NotAllowed;
            problem.suggestion = problem.suggestion.or_else(|| keywords::nearest(value, &listed));
        }
        problem
    }

    /// Explains the branch whose tag the value has: `{"type": "circle", …}`.
    fn by_tag(&mut self, branches: &[Branch], map: &serde_json::Map<String, Value>) -> Option<Vec<Problem>> {
        let (tag, values) = self.tag(branches)?;
        let all = || distinct(values.iter().flatten());
        let Some(given) = map.get(&tag) else {
            let expected = phrase::one_of(&all());
            return Some(vec![self.problem_at(&segment(&tag), ProblemKind::Missing, expected).allowed(all())]);
        };
        let matching: Vec<&Branch> = branches
            .iter()
            .zip(&values)
            .filter(|(_, values)| values.contains(given))
            .map(|(branch, _)| branch)
            .collect();
        match matching.as_slice() {
            [] => {
                let allowed = all();
                let problem = self.problem_at(&segment(&tag), ProblemKind::NotAllowed, phrase::one_of(&allowed));
                let suggestion = keywords::nearest(given, &allowed);
                Some(vec![problem.got(shorten(given)).suggest(suggestion).allowed(allowed)])
            }
            several => {
                let best = several.iter().min_by_key(|branch| branch.problems.len())?;
                Some(best.problems.to_vec())
            }
        }
    }

    /// Returns the name that every branch requires with values of its own, and these values for each branch.
    fn tag(&self, branches: &[Branch]) -> Option<(String, Vec<Vec<Value>>)> {
        let graph = self.graph;
        let property = |id: Id, name: &str| {
            let places = graph.in_place(id);
            let mut properties = places.iter().flat_map(|id| &graph.node(*id).properties);
            properties.find(|(other, _)| other == name).and_then(|(_, id)| phrase::allowed_values(graph, *id))
        };
        let requires = |id: Id, name: &str| {
            graph.in_place(id).iter().any(|id| graph.node(*id).required.iter().any(|other| other == name))
        };
        let names = graph.known_names(branches.first()?.id);
        self.spend(names.len() * branches.len());
        names.into_iter().find_map(|name| {
            let values: Option<Vec<Vec<Value>>> =
                branches.iter().map(|branch| property(branch.id, name).filter(|_| requires(branch.id, name))).collect();
            let values = values?;
            let differ = values.windows(2).any(|pair| pair[0] != pair[1]);
            differ.then(|| (name.to_owned(), values))
        })
    }

    /// Explains the branch whose only name the value has: `{"circle": …}`.
    fn by_key(&mut self, branches: &[Branch], map: &serde_json::Map<String, Value>) -> Option<Vec<Problem>> {
        let graph = self.graph;
        let keys: Vec<&str> = branches.iter().map(|branch| only_key(graph, branch.id)).collect::<Option<_>>()?;
        if let Some(index) = keys.iter().position(|key| map.contains_key(*key)) {
            return Some(branches[index].problems.to_vec());
        }
        let expected =
            if keys.len() == 1 { name(keys[0]) } else { format!("one of {}", names(keys.iter().copied(), "or")) };
        Some(match map.keys().next() {
            Some(key) if map.len() == 1 => {
                let near = suggest::nearest(key, keys.iter().copied()).map(name);
                vec![self.problem_at(&segment(key), ProblemKind::Unknown, expected).suggest(near)]
            }
            _ => {
                let expected = format!("an object with {expected}");
                vec![self.problem(ProblemKind::Invalid, expected).got(shorten(&Value::Object(map.clone())))]
            }
        })
    }

    /// Returns the nearest branch, if it is unique: the fewest unknown and missing names, then the fewest problems, then the
    /// deepest.
    fn nearest<'b>(&self, branches: &'b [Branch], value: &Value) -> Option<&'b Branch> {
        let distance = |branch: &Branch| {
            let known = self.graph.known_names(branch.id);
            self.spend(100 + 4 * known.len());
            let strange =
                value.as_object().map_or(0, |map| map.keys().filter(|key| !known.contains(&key.as_str())).count());
            let missing = branch.problems.iter().filter(|problem| problem.kind == ProblemKind::Missing).count();
            let depth = branch.problems.iter().map(|problem| problem.path.matches('/').count()).min().unwrap_or(0);
            (strange, missing, branch.problems.len(), usize::MAX - depth)
        };
        let mut ranked: Vec<_> = branches.iter().map(|branch| (distance(branch), branch)).collect();
        ranked.sort_by_key(|(distance, _)| *distance);
        match ranked.as_slice() {
            [(best, first), (next, second), ..] => (best < next || first.problems == second.problems).then_some(first),
            [(_, only)] => Some(only),
            [] => None,
        }
    }
}

/// Returns the only name that objects of an alternative have.
fn only_key(graph: &crate::schema::graph::Graph, id: Id) -> Option<&str> {
    let places = graph.in_place(id);
    let mut required = places.iter().flat_map(|id| &graph.node(*id).required);
    let only = required.next()?;
    (required.next().is_none() && graph.known_names(id).len() == 1).then_some(only.as_str())
}

fn distinct<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for value in values {
        if !all.contains(value) {
            all.push(value.clone());
        }
    }
    all
}
