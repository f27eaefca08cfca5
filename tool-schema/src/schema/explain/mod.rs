//! Everything that is wrong with a value, in words that a model can act on.
//!
//! A walk over the schema's [`Graph`] and the value at once. What a single keyword says about a single value is asked of
//! `jsonschema`; what the keywords mean together is told here: which of several alternatives was meant, what a name was
//! misspelt for, which of two complaints follows from the other.

mod check;
mod evaluated;
mod finish;
mod leaf;
mod list;
mod meant;
mod object;
mod phrase;
mod union;

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;

use super::graph::{Graph, Id, address};
use crate::feedback::{Problem, ProblemKind};

/// The work that one walk may become; a step is a look at one value with one schema, well below a microsecond.
const MOST_STEPS: usize = 1_000_000;

/// The steps that it takes to find the words for a problem.
const STEPS_FOR_WORDS: usize = 200;

/// What a walk found.
pub(super) struct Findings {
    /// At most 32 problems, or 64 of as many parameters, in the order of the schema's names.
    pub(super) problems: Vec<Problem>,
    /// Whether everything was looked at: then, no problem means that the value fits.
    pub(super) complete: bool,
}

/// Everything that is wrong with `value`.
pub(super) fn findings(graph: &Graph, value: &Value) -> Findings {
    let mut walk = Walk::new(graph, MOST_STEPS);
    let problems = finish::capped(finish::tidied(walk.visit(0, value).to_vec()));
    Findings { problems, complete: walk.steps.get() > 0 && !walk.doubtful }
}

/// One walk over a value.
struct Walk<'a> {
    graph: &'a Graph,
    /// The JSON Pointer of the value that is looked at.
    path: String,
    /// What was found for a schema and a value, by the value's address: a part is looked at once, not once for each way
    /// that leads to it.
    known: HashMap<(Id, usize), Rc<[Problem]>>,
    steps: Cell<usize>,
    /// Whether only the answer counts, not its words.
    terse: bool,
    /// Whether a schema was met that the graph does not model.
    doubtful: bool,
}

impl<'a> Walk<'a> {
    fn new(graph: &'a Graph, steps: usize) -> Self {
        Self {
            graph,
            path: String::new(),
            known: HashMap::new(),
            steps: Cell::new(steps),
            terse: false,
            doubtful: false,
        }
    }

    /// What is wrong with `value` by the schema `id`.
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

    /// [`visit`](Self::visit) for a part of the value.
    fn visit_part(&mut self, segment: &str, id: Id, value: &Value) -> Rc<[Problem]> {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(segment);
        let found = self.visit(id, value);
        self.path.truncate(length);
        found
    }

    /// Whether `value`, which is no part of the value that is walked over, fits the schema `id`, as far as `most` steps
    /// tell.
    fn fits(&self, id: Id, value: &Value, most: usize) -> bool {
        let mut other = Walk { terse: true, ..Walk::new(self.graph, self.steps.get().min(most)) };
        let before = other.steps.get();
        let fits = other.visit(id, value).is_empty() && other.steps.get() > 0;
        self.spend(before - other.steps.get());
        fits
    }

    /// Takes `steps` from what is left.
    fn spend(&self, steps: usize) {
        self.steps.set(self.steps.get().saturating_sub(steps));
    }

    /// A problem with the value that is looked at.
    fn problem(&self, kind: ProblemKind, expected: impl Into<String>) -> Problem {
        self.spend(if self.terse { 1 } else { STEPS_FOR_WORDS });
        Problem::new(self.path.as_str(), kind, expected)
    }

    /// A problem with a part of the value that is looked at.
    fn problem_at(&self, segment: &str, kind: ProblemKind, expected: impl Into<String>) -> Problem {
        self.spend(if self.terse { 1 } else { STEPS_FOR_WORDS });
        Problem::new(format!("{}/{segment}", self.path), kind, expected)
    }
}

/// One segment of a JSON Pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests;
