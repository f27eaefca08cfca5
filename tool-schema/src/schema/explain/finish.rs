//! The last look at a list of problems.

use std::collections::HashSet;

use crate::feedback::{Problem, ProblemKind, name};

/// How many problems are told.
const MOST: usize = 32;

/// How many are told where each is of a parameter of its own: a declared tool has no more parameters.
const MOST_PARAMETERS: usize = 64;

/// How many problems are looked for.
const MOST_KEPT: usize = 1_000;

/// `problems`, each once: what several schemas say about one value would double with each level otherwise.
pub(super) fn once(problems: &mut Vec<Problem>) {
    if problems.len() > 1 {
        let mut told = HashSet::new();
        problems.retain(|problem| {
            told.insert((problem.path.clone(), problem.kind, problem.expected.clone(), problem.got.clone()))
        });
        problems.truncate(MOST_KEPT);
    }
}

/// `problems` without those that only follow from another one.
pub(super) fn tidied(mut problems: Vec<Problem>) -> Vec<Problem> {
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
            let last = problem.path.rsplit('/').next().unwrap_or_default().replace("~1", "/").replace("~0", "~");
            !misspelt.contains(&(parent(&problem.path).to_owned(), name(&last))) && named.insert(problem.path.clone())
        }
        _ => true,
    });
    problems
}

/// The first problems, and how many more there are.
pub(super) fn capped(mut problems: Vec<Problem>) -> Vec<Problem> {
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

/// How many of the value's own names something is wrong with.
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
