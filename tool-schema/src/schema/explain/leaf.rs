//! The keywords that look at a value itself.

use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

use super::{Walk, meant, phrase};
use crate::feedback::{Problem, ProblemKind, shorten};
use crate::schema::graph::Id;

/// How many allowed values are listed.
const MOST_LISTED: usize = 50;

/// Adds what the leaf keywords of `id` say against `value`.
pub(super) fn check(walk: &Walk<'_>, id: Id, value: &Value, out: &mut Vec<Problem>) {
    let graph = walk.graph;
    let Some(validator) = graph.leaf(id) else { return };
    if validator.is_valid(value) {
        return;
    }
    if walk.terse {
        out.push(walk.problem(ProblemKind::Invalid, ""));
        return;
    }
    // Several keywords about one scalar are one mistake, told by the most basic of them.
    let mut main: Option<ProblemKind> = None;
    for error in validator.iter_errors(value) {
        match (error.kind(), value) {
            (Kind::Enum { .. } | Kind::Constant { .. }, _) => {
                out.push(not_allowed(walk, id, value, phrase::allowed_values(graph, id).unwrap_or_default()));
                return;
            }
            (Kind::UniqueItems, Value::Array(items)) => out.push(repeated(walk, items)),
            (Kind::MinItems { .. } | Kind::MaxItems { .. }, _) => {
                let expected = phrase::list_size(graph, id);
                out.push(walk.problem(ProblemKind::WrongLength, expected).got(shorten(value)));
            }
            (Kind::MinProperties { .. } | Kind::MaxProperties { .. }, _) => {
                let expected = phrase::object_size(graph, id);
                out.push(walk.problem(ProblemKind::WrongLength, expected).got(shorten(value)));
            }
            (kind, _) => {
                let kind = kind_of(kind);
                if main.is_none_or(|main| importance(kind) < importance(main)) {
                    main = Some(kind);
                }
            }
        }
    }
    match main {
        Some(ProblemKind::WrongType) => out.push(wrong_type(walk, &[id], id, value)),
        Some(kind) => {
            let mut got = shorten(value);
            if let (ProblemKind::WrongLength, Value::String(text)) = (kind, value) {
                got.push_str(&phrase::counted(text.chars().count(), " of", "character"));
            }
            let suggestion = match (kind, value) {
                (ProblemKind::NoMatch, Value::String(text)) => meant::part(walk, id, text),
                _ => None,
            };
            out.push(walk.problem(kind, phrase::of(graph, id)).got(got).suggest(suggestion));
        }
        None if out.is_empty() => {
            out.push(walk.problem(ProblemKind::Invalid, phrase::of(graph, id)).got(shorten(value)));
        }
        None => {}
    }
}

fn kind_of(kind: &Kind) -> ProblemKind {
    match kind {
        Kind::Type { .. } => ProblemKind::WrongType,
        Kind::Minimum { .. } | Kind::Maximum { .. } | Kind::ExclusiveMinimum { .. } | Kind::ExclusiveMaximum { .. } => {
            ProblemKind::OutOfRange
        }
        Kind::MinLength { .. } | Kind::MaxLength { .. } => ProblemKind::WrongLength,
        Kind::Pattern { .. } | Kind::Format { .. } | Kind::ContentEncoding { .. } | Kind::ContentMediaType { .. } => {
            ProblemKind::NoMatch
        }
        _ => ProblemKind::Invalid,
    }
}

fn importance(kind: ProblemKind) -> usize {
    let order = [ProblemKind::WrongType, ProblemKind::OutOfRange, ProblemKind::WrongLength, ProblemKind::NoMatch];
    order.iter().position(|other| *other == kind).unwrap_or(order.len())
}

/// A value that is not among the allowed ones.
pub(super) fn not_allowed(walk: &Walk<'_>, id: Id, value: &Value, allowed: Vec<Value>) -> Problem {
    let expected = if allowed.is_empty() { phrase::of(walk.graph, id) } else { phrase::one_of(&allowed) };
    let suggestion = meant::nearest(value, &allowed);
    let problem = walk.problem(ProblemKind::NotAllowed, expected).got(shorten(value)).suggest(suggestion);
    if allowed.len() > MOST_LISTED { problem } else { problem.allowed(allowed) }
}

/// A value of a type that none of `ids` accepts; `whole` describes them together.
pub(super) fn wrong_type(walk: &Walk<'_>, ids: &[Id], whole: Id, value: &Value) -> Problem {
    let suggestion = ids.iter().find_map(|&id| meant::converted(walk, id, value));
    let got = match value {
        Value::String(text) if suggestion.is_none() => meant::held(text)
            .map_or_else(|| shorten(value), |held| format!("{} (a text that holds {held})", shorten(value))),
        value => shorten(value),
    };
    walk.problem(ProblemKind::WrongType, phrase::of(walk.graph, whole)).got(got).suggest(suggestion)
}

fn repeated(walk: &Walk<'_>, items: &[Value]) -> Problem {
    let problem = walk.problem(ProblemKind::Invalid, "a list whose items are all different");
    // For the words only, and lists can be long.
    let looked_at = &items[..items.len().min(200)];
    let twice = looked_at.iter().enumerate().find_map(|(index, item)| {
        let first = looked_at[..index].iter().position(|other| other == item)?;
        Some(format!("{} as items {first} and {index}", shorten(item)))
    });
    problem.got(twice.unwrap_or_else(|| "an item twice".to_owned()))
}
