//! `anyOf` and `oneOf`: finding the intended alternative.

use std::rc::Rc;

use serde_json::{Map, Value};

use super::{Walk, keywords, phrase};
use crate::feedback::{Problem, ProblemKind, quote_whole_name, suggest, summarize, write_whole};
use crate::schema::graph::{Graph, NodeId};

/// An alternative and its problems with the value.
struct Branch {
    id: NodeId,
    problems: Rc<[Problem]>,
}

impl Walk<'_> {
    /// Adds the problems that `value` has with `anyOf` and `oneOf` of `id`.
    pub(super) fn check_unions(&mut self, id: NodeId, value: &Value, out: &mut Vec<Problem>) {
        let node = self.graph.node(id);
        for (ids, exactly_one) in [(&node.any_of, false), (&node.one_of, true)] {
            let (mut branches, mut fitting) = (Vec::new(), Vec::new());
            for &id in ids {
                let problems = self.visit(id, value);
                if problems.is_empty() {
                    fitting.push(id);
                } else {
                    branches.push(Branch { id, problems });
                }
            }
            match fitting.as_slice() {
                [] if !ids.is_empty() => out.extend(self.explain_misfit(id, ids, branches, value)),
                [first, second, ..] if exactly_one => {
                    let (first, second) = (phrase::describe(self.graph, *first), phrase::describe(self.graph, *second));
                    let expected = format!("only one of {} alternatives to fit", ids.len());
                    let got = format!("{}, which is both {first} and {second}", summarize(value));
                    out.push(self.problem(ProblemKind::Invalid, expected).got(got));
                }
                _ => {}
            }
        }
    }

    /// Explains why `value` fits none of the branches, which are the alternatives `ids` of `whole`.
    fn explain_misfit(&mut self, whole: NodeId, ids: &[NodeId], branches: Vec<Branch>, value: &Value) -> Vec<Problem> {
        let of_type: Vec<Branch> = branches.into_iter().filter(|branch| !self.is_other_type(branch)).collect();
        match of_type.as_slice() {
            [] => vec![self.wrong_type_problem(whole, ids, value)],
            [only] => only.problems.to_vec(),
            several => self.explain_nearest(several, value),
        }
    }

    /// Explains the branch that the model probably meant, of several branches that accept the type of `value`.
    fn explain_nearest(&mut self, branches: &[Branch], value: &Value) -> Vec<Problem> {
        if let Value::Object(map) = value
            && let Some(problems) = self.explain_by_tag(branches, map).or_else(|| self.explain_by_key(branches, map))
        {
            return problems;
        }
        if let Some(branch) = self.nearest_branch(branches, value) {
            return branch.problems.to_vec();
        }
        let ids: Vec<NodeId> = branches.iter().map(|branch| branch.id).collect();
        let expected = phrase::describe_alternatives(self.graph, &ids);
        vec![self.problem(ProblemKind::Invalid, expected).got(summarize(value))]
    }

    /// Returns whether the branch rejects the whole value, because of its type or because it expects another value.
    fn is_other_type(&self, branch: &Branch) -> bool {
        let refuses = |problem: &Problem| matches!(problem.kind, ProblemKind::WrongType | ProblemKind::NotAllowed);
        branch.problems.iter().any(|problem| problem.path == self.path && refuses(problem))
    }

    fn wrong_type_problem(&mut self, whole: NodeId, ids: &[NodeId], value: &Value) -> Problem {
        let lists: Vec<Option<Vec<Value>>> = ids.iter().map(|&id| phrase::allowed_values(self.graph, id)).collect();
        if lists.iter().all(Option::is_some) {
            let all = deduplicate(lists.iter().flatten().flatten());
            return keywords::not_allowed(self, whole, value, all);
        }
        let variants: Vec<NodeId> =
            ids.iter().zip(&lists).filter(|(_, list)| list.is_none()).map(|(id, _)| *id).collect();
        let listed: Vec<Value> = lists.into_iter().flatten().flatten().collect();
        let mut problem = keywords::wrong_type(self, ids, whole, value);
        problem.expected = phrase::describe_alternatives(self.graph, ids);
        if listed.iter().any(Value::is_string) && value.is_string() {
            problem.kind = ProblemKind::NotAllowed;
            problem.suggestion = problem.suggestion.or_else(|| keywords::suggest_value(value, &listed));
        }
        problem.suggestion = problem.suggestion.or_else(|| self.suggest_variant(&variants, value.as_str()?));
        problem
    }

    /// Returns the object with the tag that the text `given` is or nearly is: a variant of `ids` whose name was given alone.
    fn suggest_variant(&self, ids: &[NodeId], given: &str) -> Option<String> {
        let ids = phrase::alternatives(self.graph, ids);
        let (tag, values) = phrase::find_tag(self.graph, &ids)?;
        let names = || values.iter().flatten().filter_map(Value::as_str);
        let name =
            names().find(|name| name.eq_ignore_ascii_case(given)).or_else(|| suggest::nearest(given, names()))?;
        let (id, _) = ids.iter().zip(&values).find(|(_, values)| values.iter().any(|value| value == name))?;
        let object = Value::Object(Map::from_iter([(tag.clone(), Value::from(name))]));
        if self.fits(*id, &object, keywords::MAX_GUESS_COST) {
            return write_whole(&object);
        }
        let name = write_whole(&Value::from(name))?;
        Some(phrase::describe_tagged(self.graph, *id, &tag, &name))
    }

    /// Explains the branch whose tag the value has, as in `{"type": "circle", …}`, or a missing or wrong tag.
    fn explain_by_tag(&mut self, branches: &[Branch], map: &Map<String, Value>) -> Option<Vec<Problem>> {
        let ids: Vec<NodeId> = branches.iter().map(|branch| branch.id).collect();
        self.spend(ids.len() * self.graph.known_names(ids[0]).len());
        let (tag, values) = phrase::find_tag(self.graph, &ids)?;
        let all = || deduplicate(values.iter().flatten());
        let Some(given) = map.get(&tag) else {
            let expected = phrase::one_of(&all());
            return Some(vec![self.problem_at(&tag, ProblemKind::Missing, expected).allowed(all())]);
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
                let problem = self.problem_at(&tag, ProblemKind::NotAllowed, phrase::one_of(&allowed));
                let suggestion = keywords::suggest_value(given, &allowed);
                Some(vec![problem.got(summarize(given)).suggest(suggestion).allowed(allowed)])
            }
            several => {
                let best = several.iter().min_by_key(|branch| branch.problems.len())?;
                Some(best.problems.to_vec())
            }
        }
    }

    /// Explains the branch whose only name the value has, as in `{"circle": …}`, or a missing or wrong name.
    fn explain_by_key(&mut self, branches: &[Branch], map: &Map<String, Value>) -> Option<Vec<Problem>> {
        let graph = self.graph;
        let keys: Vec<&str> = branches.iter().map(|branch| only_key(graph, branch.id)).collect::<Option<_>>()?;
        if let Some(index) = keys.iter().position(|key| map.contains_key(*key)) {
            return Some(branches[index].problems.to_vec());
        }
        let expected = phrase::one_of_names(&keys);
        Some(match map.keys().next() {
            Some(key) if map.len() == 1 => {
                let near = suggest::nearest(key, keys.iter().copied()).and_then(quote_whole_name);
                vec![self.problem_at(key, ProblemKind::Unknown, expected).suggest(near)]
            }
            _ => {
                let expected = format!("an object with {expected}");
                vec![self.problem(ProblemKind::Invalid, expected).got(summarize(&Value::Object(map.clone())))]
            }
        })
    }

    /// Returns the nearest branch. It has the fewest unknown names, then the fewest missing names, then the fewest problems,
    /// then the deepest problems. Returns `None` if two branches are equally near and have different problems.
    fn nearest_branch<'b>(&self, branches: &'b [Branch], value: &Value) -> Option<&'b Branch> {
        let distance = |branch: &Branch| {
            let known = self.find_names(branch.id);
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

/// Returns the only name that objects of an alternative can have, if it is required.
fn only_key(graph: &Graph, id: NodeId) -> Option<&str> {
    let places = graph.same_value_closure(id);
    let mut required = places.iter().flat_map(|id| &graph.node(*id).required);
    let only = required.next()?;
    (required.next().is_none() && graph.known_names(id).len() == 1).then_some(only.as_str())
}

fn deduplicate<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for value in values {
        if !all.contains(value) {
            all.push(value.clone());
        }
    }
    all
}
