//! The last look at a list of problems.

use std::collections::HashSet;

use crate::feedback::{Problem, ProblemKind, name};
use crate::schema::pointer;

/// The most problems that are reported.
const MOST: usize = 32;

/// The most that are reported where each is of a parameter of its own: a declared tool has no more parameters.
const MOST_PARAMETERS: usize = 64;

/// The most problems that are collected.
const MOST_KEPT: usize = 1_000;

/// `problems`, each once: what several schemas say about one value would double with each level otherwise.
pub fn remove_repeated(problems: &mut Vec<Problem>) {
    if problems.len() > 1 {
        let mut told = HashSet::new();
        problems.retain(|problem| {
            told.insert((problem.path.clone(), problem.kind, problem.expected.clone(), problem.got.clone()))
        });
        problems.truncate(MOST_KEPT);
    }
}

/// `problems` without those that only follow from another one.
pub fn tidy(mut problems: Vec<Problem>) -> Vec<Problem> {
    let wrong: HashSet<String> =
        of_kind(&problems, ProblemKind::WrongType).map(|problem| problem.path.clone()).collect();
    let mut first = HashSet::new();
    // A value of the wrong type is one mistake, whatever else does not fit it then.
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

/// Returns the first problems, the last of which says how many more there are.
pub fn cap(mut problems: Vec<Problem>) -> Vec<Problem> {
    let most = parameters(&problems).clamp(MOST, MOST_PARAMETERS);
    if problems.len() > most {
        let at_least = if problems.len() < MOST_KEPT { "" } else { "at least " };
        let more = problems.len() - (most - 1);
        problems.truncate(most - 1);
        let expected = format!("the rest to fit too: {at_least}{more} more problems are not listed");
        problems.push(Problem::new("", ProblemKind::Invalid, expected));
    }
    problems
}

/// Returns how many of the value's own names something is wrong with.
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
