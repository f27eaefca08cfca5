//! Explanation of all problems of a value, in words that a model can act on.
//!
//! A walk visits the schema's [`Graph`] and the value together. It guesses the intended alternative of a union, and the name
//! that a misspelt name stands for. It removes problems that are only consequences of others.

mod keywords;
mod phrase;
#[cfg(test)]
mod tests;
mod union;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use serde_json::Value;

use super::evaluate::{Evaluator, Validate};
use super::graph::{Graph, NodeId, address};
use super::pointer::{self, escape_token};
use crate::feedback::{Problem, ProblemKind, quote_name, summarize};

/// The maximum cost of a walk. A visit takes well below a microsecond.
const MAX_COST: usize = 1_000_000;

/// The costs of describing a problem, of finding the known names of a schema, and of each of these names.
const COST_OF_PROBLEM: usize = 200;
const COST_OF_NAMES: usize = 100;
const COST_OF_NAME: usize = 4;

/// The result of a walk.
pub struct Findings {
    /// At most 32 problems, or as many as parameters have problems, up to 64. They are in the order of the schema's names.
    pub problems: Vec<Problem>,
    /// Set if the walk visited everything, and the graph models it all. Then a value without problems fits.
    pub complete: bool,
}

/// Returns the problems that `value` has with the root of `graph`.
pub fn find_problems(graph: &Graph, value: &Value) -> Findings {
    let mut walk = Walk::new(graph);
    let problems = cap(tidy(walk.visit(0, value).to_vec()));
    Findings { problems, complete: !walk.is_exhausted() && !walk.met_gap }
}

/// A walk over a value.
struct Walk<'a> {
    graph: &'a Graph,
    /// The JSON Pointer of the current value.
    path: String,
    /// The problems by schema and by the value's address. Each pair is visited once.
    known: HashMap<(NodeId, usize), Rc<[Problem]>>,
    remaining_cost: Cell<usize>,
    /// Set if the walk has met a schema that the graph does not model.
    met_gap: bool,
}

impl<'a> Walk<'a> {
    fn new(graph: &'a Graph) -> Self {
        let remaining_cost = Cell::new(MAX_COST);
        Self { graph, path: String::new(), known: HashMap::new(), remaining_cost, met_gap: false }
    }

    /// Returns the problems that `value` has with the schema `id`.
    fn visit(&mut self, id: NodeId, value: &Value) -> Rc<[Problem]> {
        let key = (id, address(value));
        if let Some(known) = self.known.get(&key) {
            return Rc::clone(known);
        }
        if self.is_exhausted() {
            return Rc::default();
        }
        self.spend(self.graph.own_cost(id));
        let mut found = Vec::new();
        self.check(id, value, &mut found);
        let found: Rc<[Problem]> = found.into();
        self.known.insert(key, Rc::clone(&found));
        found
    }

    /// Returns the problems that `value`, the part `name` of the current value, has with the schema `id`.
    fn visit_part(&mut self, name: &str, id: NodeId, value: &Value) -> Rc<[Problem]> {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(&escape_token(name));
        let found = self.visit(id, value);
        self.path.truncate(length);
        found
    }

    /// Adds the problems that `value` has with the schema `id`.
    fn check(&mut self, id: NodeId, value: &Value, out: &mut Vec<Problem>) {
        let graph = self.graph;
        let node = graph.node(id);
        self.met_gap |= node.gap.is_some();
        if graph.is_false(id) {
            out.push(self.problem(ProblemKind::NotAllowed, "nothing here").got(summarize(value)));
        }
        keywords::check(self, id, value, out);
        for inner in graph.unconditional(id) {
            out.extend_from_slice(&self.visit(inner, value));
        }
        self.check_unions(id, value, out);
        if let Some(not) = node.not
            && self.visit(not, value).is_empty()
        {
            let expected = match phrase::describe(graph, not).as_str() {
                "any value" => "another value (a `not` in the schema refuses this one)".to_owned(),
                refused => format!("anything but {refused}"),
            };
            out.push(self.problem(ProblemKind::NotAllowed, expected).got(summarize(value)));
        }
        if let Some(if_) = node.if_ {
            let branch = if self.visit(if_, value).is_empty() { node.then } else { node.else_ };
            if let Some(branch) = branch {
                out.extend_from_slice(&self.visit(branch, value));
            }
        }
        match value {
            Value::Object(map) => self.check_object(id, value, map, out),
            Value::Array(items) => self.check_list(id, value, items, out),
            _ => {}
        }
        remove_repeated(out);
        self.sort(id, out);
    }

    /// Sorts problems by the order of the schema's names and the list's items. Unknown names come last.
    fn sort(&self, id: NodeId, out: &mut [Problem]) {
        if out.len() < 2 {
            return;
        }
        let names: Vec<String> = self.find_names(id).into_iter().map(escape_token).collect();
        let place = |problem: &Problem| {
            let Some(rest) = problem.path[self.path.len()..].strip_prefix('/') else { return 0 };
            let first = rest.split('/').next().unwrap_or_default();
            let known = names.iter().position(|name| name == first);
            known.or_else(|| first.parse().ok()).map_or(usize::MAX, |index: usize| index.saturating_add(1))
        };
        out.sort_by_cached_key(place);
    }

    /// Returns the names that objects of `id` can have.
    fn find_names(&self, id: NodeId) -> Vec<&'a str> {
        let names = self.graph.known_names(id);
        self.spend(COST_OF_NAMES + COST_OF_NAME * names.len());
        names
    }

    /// Returns whether `value`, which is no part of the walked value, fits the schema `id`. Returns `false` above `max_cost`.
    fn fits(&self, id: NodeId, value: &Value, max_cost: usize) -> bool {
        let max_cost = self.remaining_cost.get().min(max_cost);
        let evaluator = Evaluator::new(self.graph, max_cost);
        let fits = evaluator.accepts(id, value);
        self.spend(max_cost - evaluator.remaining_cost());
        fits
    }

    fn spend(&self, cost: usize) {
        self.remaining_cost.set(self.remaining_cost.get().saturating_sub(cost));
    }

    fn is_exhausted(&self) -> bool {
        self.remaining_cost.get() == 0
    }

    /// Returns a problem with the current value.
    fn problem(&self, kind: ProblemKind, expected: impl Into<String>) -> Problem {
        self.spend(COST_OF_PROBLEM);
        Problem::new(self.path.as_str(), kind, expected)
    }

    /// Returns a problem with the part `name` of the current value.
    fn problem_at(&self, name: &str, kind: ProblemKind, expected: impl Into<String>) -> Problem {
        self.spend(COST_OF_PROBLEM);
        Problem::new(pointer::join(&self.path, name), kind, expected)
    }
}

impl Validate for Walk<'_> {
    fn validates(&mut self, item: Option<usize>, id: NodeId, value: &Value) -> bool {
        match item {
            Some(index) => self.visit_part(&index.to_string(), id, value).is_empty(),
            None => self.visit(id, value).is_empty(),
        }
    }

    fn spend(&self, cost: usize) {
        Walk::spend(self, cost);
    }
}

/// The maximum number of problems that are reported.
const MAX_PROBLEMS: usize = 32;

/// The maximum number of reported problems if many parameters have problems. `#[tool]` allows at most 64 parameters.
const MAX_PARAMETERS: usize = 64;

/// The maximum number of problems that are collected for one value.
const MAX_COLLECTED: usize = 1_000;

/// Removes repeated problems. Otherwise, the problems that several schemas report about one value would double with each level.
pub fn remove_repeated(problems: &mut Vec<Problem>) {
    if problems.len() > 1 {
        let mut seen = HashSet::new();
        problems.retain(|problem| {
            seen.insert((problem.path.clone(), problem.kind, problem.expected.clone(), problem.got.clone()))
        });
        problems.truncate(MAX_COLLECTED);
    }
}

/// Removes problems that are only consequences of another one.
pub fn tidy(mut problems: Vec<Problem>) -> Vec<Problem> {
    let wrong: HashSet<String> =
        of_kind(&problems, ProblemKind::WrongType).map(|problem| problem.path.clone()).collect();
    let mut first = HashSet::new();
    // A value of the wrong type is one mistake. Its other problems are consequences.
    problems.retain(|problem| {
        !wrong.contains(&problem.path) || (problem.kind == ProblemKind::WrongType && first.insert(problem.path.clone()))
    });
    // A misspelt name is one mistake, not an unknown name and a missing one.
    let misspelt: HashSet<(String, String)> = of_kind(&problems, ProblemKind::Unknown)
        .filter_map(|problem| Some((parent(&problem.path).to_owned(), problem.suggestion.clone()?)))
        .collect();
    let mut named = HashSet::new();
    problems.retain(|problem| match problem.kind {
        ProblemKind::Missing => {
            let last = pointer::last(&problem.path);
            !misspelt.contains(&(parent(&problem.path).to_owned(), quote_name(&last)))
                && named.insert(problem.path.clone())
        }
        _ => true,
    });
    problems
}

/// Keeps the first problems. If some are dropped, the last problem states how many.
pub fn cap(mut problems: Vec<Problem>) -> Vec<Problem> {
    let max = count_parameters(&problems).clamp(MAX_PROBLEMS, MAX_PARAMETERS);
    if problems.len() > max {
        let at_least = if problems.len() < MAX_COLLECTED { "" } else { "at least " };
        let more = problems.len() - (max - 1);
        problems.truncate(max - 1);
        let expected = format!("the rest to fit too: {at_least}{more} more problems are not listed");
        problems.push(Problem::new("", ProblemKind::Invalid, expected));
    }
    problems
}

/// Returns the number of parameters that have problems. An unknown name does not count.
fn count_parameters(problems: &[Problem]) -> usize {
    let known = problems.iter().filter(|problem| problem.kind != ProblemKind::Unknown);
    known.filter_map(Problem::parameter).collect::<HashSet<_>>().len()
}

fn of_kind(problems: &[Problem], kind: ProblemKind) -> impl Iterator<Item = &Problem> {
    problems.iter().filter(move |problem| problem.kind == kind)
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}
