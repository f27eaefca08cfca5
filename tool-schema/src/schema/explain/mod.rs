//! Explanation of all problems of a value, in words that a model can act on.
//!
//! It walks over the schema's [`Graph`] and the value together. It guesses the intended alternative of a union and the intended
//! name for a misspelt one. It removes problems that follow from others.

mod keywords;
mod phrase;
#[cfg(test)]
mod tests;
mod union;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use serde_json::Value;

use super::evaluate::{Evaluator, Holds};
use super::graph::{Graph, Id, address};
use super::pointer::{self, segment};
use crate::feedback::{Problem, ProblemKind, name, shorten};

/// The maximum number of steps of a walk. A step compares one value with one schema, in well below a microsecond.
const MAX_STEPS: usize = 1_000_000;

const STEPS_FOR_WORDS: usize = 200;

/// The result of a walk.
pub struct Findings {
    /// At most 32 problems, or 64 if each belongs to a different parameter, in the order of the schema's names.
    pub problems: Vec<Problem>,
    /// Set if everything was visited. Then the value fits if there are no problems.
    pub complete: bool,
}

pub fn findings(graph: &Graph, value: &Value) -> Findings {
    let mut walk = Walk::new(graph, MAX_STEPS);
    let problems = cap(tidy(walk.visit(0, value).to_vec()));
    Findings { problems, complete: walk.steps.get() > 0 && !walk.doubtful }
}

/// A walk over a value.
struct Walk<'a> {
    graph: &'a Graph,
    /// The JSON Pointer of the current value.
    path: String,
    /// A cache of problems by schema and value address. Each pair is visited once.
    known: HashMap<(Id, usize), Rc<[Problem]>>,
    steps: Cell<usize>,
    /// Set if the walk has met a schema that the graph does not model.
    doubtful: bool,
}

impl<'a> Walk<'a> {
    fn new(graph: &'a Graph, steps: usize) -> Self {
        Self { graph, path: String::new(), known: HashMap::new(), steps: Cell::new(steps), doubtful: false }
    }

    /// Returns the problems of `value` by the schema `id`.
    fn visit(&mut self, id: Id, value: &Value) -> Rc<[Problem]> {
        let key = (id, address(value));
        if let Some(known) = self.known.get(&key) {
            return Rc::clone(known);
        }
        if self.steps.get() == 0 {
            return Rc::default();
        }
        self.spend(self.graph.effort(id));
        let mut found = Vec::new();
        self.check(id, value, &mut found);
        let found: Rc<[Problem]> = found.into();
        self.known.insert(key, Rc::clone(&found));
        found
    }

    /// Visits a part of the value, like [`visit`](Self::visit).
    fn visit_part(&mut self, segment: &str, id: Id, value: &Value) -> Rc<[Problem]> {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(segment);
        let found = self.visit(id, value);
        self.path.truncate(length);
        found
    }

    /// Adds the problems of `value` by the schema `id`.
    fn check(&mut self, id: Id, value: &Value, out: &mut Vec<Problem>) {
        let graph = self.graph;
        let node = graph.node(id);
        self.doubtful |= node.gap.is_some();
        if node.constant == Some(false) {
            out.push(self.problem(ProblemKind::NotAllowed, "nothing here").got(shorten(value)));
        }
        keywords::check(self, id, value, out);
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
        remove_repeated(out);
        self.sort(id, out);
    }

    /// Sorts problems by the order of the schema's names and the list's items. Unknown names come last.
    fn sort(&self, id: Id, out: &mut [Problem]) {
        if out.len() < 2 {
            return;
        }
        let names: Vec<String> = self.graph.known_names(id).into_iter().map(segment).collect();
        self.spend(100 + 4 * names.len());
        let place = |problem: &Problem| {
            let Some(rest) = problem.path[self.path.len()..].strip_prefix('/') else { return 0 };
            let first = rest.split('/').next().unwrap_or_default();
            let known = names.iter().position(|name| name == first);
            known.or_else(|| first.parse().ok()).map_or(usize::MAX, |index: usize| index.saturating_add(1))
        };
        out.sort_by_cached_key(place);
    }

    /// Returns whether `value` fits the schema `id`. `value` lies outside the walked value. Gives up after `most` steps, with
    /// `false`.
    fn fits(&self, id: Id, value: &Value, most: usize) -> bool {
        let steps = self.steps.get().min(most);
        let judge = Evaluator::new(self.graph, steps);
        let fits = judge.accepts(id, value);
        self.spend(steps - judge.steps());
        fits
    }

    fn spend(&self, steps: usize) {
        self.steps.set(self.steps.get().saturating_sub(steps));
    }

    /// Returns a problem with the current value.
    fn problem(&self, kind: ProblemKind, expected: impl Into<String>) -> Problem {
        self.spend(STEPS_FOR_WORDS);
        Problem::new(self.path.as_str(), kind, expected)
    }

    /// Returns a problem with a part of the current value.
    fn problem_at(&self, segment: &str, kind: ProblemKind, expected: impl Into<String>) -> Problem {
        self.spend(STEPS_FOR_WORDS);
        Problem::new(format!("{}/{segment}", self.path), kind, expected)
    }
}

impl Holds for Walk<'_> {
    fn holds(&mut self, item: Option<usize>, id: Id, value: &Value) -> bool {
        match item {
            Some(index) => self.visit_part(&index.to_string(), id, value).is_empty(),
            None => self.visit(id, value).is_empty(),
        }
    }

    fn spend(&self, steps: usize) {
        Walk::spend(self, steps);
    }
}

/// The maximum number of problems that are reported.
const MAX_PROBLEMS: usize = 32;

/// The maximum number of reported problems if each belongs to a different parameter. `#[tool]` allows at most 64 parameters.
const MAX_PARAMETERS: usize = 64;

/// The maximum number of problems that are collected.
const MAX_KEPT: usize = 1_000;

/// Removes repeated problems. Otherwise problems that several schemas report about one value would double with each level.
pub fn remove_repeated(problems: &mut Vec<Problem>) {
    if problems.len() > 1 {
        let mut seen = HashSet::new();
        problems.retain(|problem| {
            seen.insert((problem.path.clone(), problem.kind, problem.expected.clone(), problem.got.clone()))
        });
        problems.truncate(MAX_KEPT);
    }
}

/// Removes problems that only follow from another one.
pub fn tidy(mut problems: Vec<Problem>) -> Vec<Problem> {
    let wrong: HashSet<String> =
        of_kind(&problems, ProblemKind::WrongType).map(|problem| problem.path.clone()).collect();
    let mut first = HashSet::new();
    // A value of the wrong type is one mistake, whatever other problems follow from it.
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
            !misspelt.contains(&(parent(&problem.path).to_owned(), name(&last))) && named.insert(problem.path.clone())
        }
        _ => true,
    });
    problems
}

/// Keeps the first problems. If it drops any, a last one states their number.
pub fn cap(mut problems: Vec<Problem>) -> Vec<Problem> {
    let most = parameters(&problems).clamp(MAX_PROBLEMS, MAX_PARAMETERS);
    if problems.len() > most {
        let at_least = if problems.len() < MAX_KEPT { "" } else { "at least " };
        let more = problems.len() - (most - 1);
        problems.truncate(most - 1);
        let expected = format!("the rest to fit too: {at_least}{more} more problems are not listed");
        problems.push(Problem::new("", ProblemKind::Invalid, expected));
    }
    problems
}

/// Returns the number of the value's own names that have problems.
fn parameters(problems: &[Problem]) -> usize {
    let known = problems.iter().filter(|problem| problem.kind != ProblemKind::Unknown);
    known.filter_map(Problem::parameter).collect::<HashSet<_>>().len()
}

fn of_kind(problems: &[Problem], kind: ProblemKind) -> impl Iterator<Item = &Problem> {
    problems.iter().filter(move |problem| problem.kind == kind)
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}
