//! The keywords that look at a value itself.

use serde_json::Value;

use super::{Walk, phrase};
use crate::feedback::{Problem, ProblemKind, excerpt, shorten, suggest};
use crate::schema::graph::{Check, Id};

/// How many allowed values are listed.
const MOST_LISTED: usize = 50;

/// Adds what the leaf keywords of `id` say against `value`.
pub fn check(walk: &Walk<'_>, id: Id, value: &Value, out: &mut Vec<Problem>) {
    let graph = walk.graph;
    let mut failed = graph.node(id).checks.iter().filter(|check| !check.passes(value)).peekable();
    if failed.peek().is_none() {
        return;
    }
    // Several keywords about one scalar are one mistake, reported for the most basic of them.
    let mut main: Option<ProblemKind> = None;
    for check in failed {
        match (check, value) {
            (Check::Enum(_) | Check::Const(_), _) => {
                out.push(not_allowed(walk, id, value, phrase::allowed_values(graph, id).unwrap_or_default()));
                return;
            }
            (Check::UniqueItems, Value::Array(items)) => out.push(repeated_item(walk, items)),
            (Check::MinItems(_) | Check::MaxItems(_), _) => {
                let expected = phrase::list_size(graph, id);
                out.push(walk.problem(ProblemKind::WrongLength, expected).got(shorten(value)));
            }
            (Check::MinProperties(_) | Check::MaxProperties(_), _) => {
                let expected = phrase::object_size(graph, id);
                out.push(walk.problem(ProblemKind::WrongLength, expected).got(shorten(value)));
            }
            (check, _) => {
                let kind = kind_of(check);
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
                got.push_str(&phrase::count_of(text.chars().count(), " of", "character"));
            }
            let suggestion = match (kind, value) {
                (ProblemKind::NoMatch, Value::String(text)) => part(walk, id, text),
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

fn kind_of(check: &Check) -> ProblemKind {
    match check {
        Check::Type(..) => ProblemKind::WrongType,
        Check::Minimum(_) | Check::Maximum(_) | Check::ExclusiveMinimum(_) | Check::ExclusiveMaximum(_) => {
            ProblemKind::OutOfRange
        }
        Check::MinLength(_) | Check::MaxLength(_) => ProblemKind::WrongLength,
        Check::Pattern(_) | Check::Format(_) | Check::Content(_) => ProblemKind::NoMatch,
        #[cfg(feature = "jsonschema")]
        Check::Foreign(_) => ProblemKind::NoMatch,
        _ => ProblemKind::Invalid,
    }
}

fn importance(kind: ProblemKind) -> usize {
    let order = [ProblemKind::WrongType, ProblemKind::OutOfRange, ProblemKind::WrongLength, ProblemKind::NoMatch];
    order.iter().position(|other| *other == kind).unwrap_or(order.len())
}

/// Returns the problem of a value that is not among the allowed ones.
pub fn not_allowed(walk: &Walk<'_>, id: Id, value: &Value, allowed: Vec<Value>) -> Problem {
    let expected = if allowed.is_empty() { phrase::of(walk.graph, id) } else { phrase::one_of(&allowed) };
    let suggestion = nearest(value, &allowed);
    let problem = walk.problem(ProblemKind::NotAllowed, expected).got(shorten(value)).suggest(suggestion);
    if allowed.len() > MOST_LISTED { problem } else { problem.allowed(allowed) }
}

/// Returns the problem of a value of a type that none of `ids` accepts; `whole` describes them together.
pub fn wrong_type(walk: &Walk<'_>, ids: &[Id], whole: Id, value: &Value) -> Problem {
    let suggestion = ids.iter().find_map(|&id| convert(walk, id, value));
    let got = match value {
        Value::String(text) if suggestion.is_none() => describe_held(text)
            .map_or_else(|| shorten(value), |held| format!("{} (a text that holds {held})", shorten(value))),
        value => shorten(value),
    };
    walk.problem(ProblemKind::WrongType, phrase::of(walk.graph, whole)).got(got).suggest(suggestion)
}

fn repeated_item(walk: &Walk<'_>, items: &[Value]) -> Problem {
    let problem = walk.problem(ProblemKind::Invalid, "a list whose items are all different");
    // For the words only, and lists can be long.
    let looked_at = &items[..items.len().min(200)];
    let twice = looked_at.iter().enumerate().find_map(|(index, item)| {
        let first = looked_at[..index].iter().position(|other| other == item)?;
        Some(format!("{} as items {first} and {index}", shorten(item)))
    });
    problem.got(twice.unwrap_or_else(|| "an item twice".to_owned()))
}

/// The most steps that one guess takes.
const MOST_STEPS: usize = 1_000;

/// Returns the allowed value that is nearest to `value`.
pub fn nearest(value: &Value, allowed: &[Value]) -> Option<String> {
    if value.is_array() || value.is_object() {
        return None;
    }
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let given = plain(value);
    let same = allowed.iter().find(|other| plain(other).eq_ignore_ascii_case(given.trim()));
    let near = || {
        let near = suggest::nearest(value.as_str()?, allowed.iter().filter_map(Value::as_str))?;
        allowed.iter().find(|other| other.as_str() == Some(near))
    };
    same.or_else(near).map(shorten)
}

/// `value` in another form that fits the schema `id`: a number written as a text, one item instead of a list.
fn convert(walk: &Walk<'_>, id: Id, value: &Value) -> Option<String> {
    let other = match value {
        Value::String(text) => parse_other(text),
        Value::Number(_) | Value::Bool(_) => Some(Value::from(value.to_string())),
        Value::Array(items) if items.len() == 1 => items.first().cloned(),
        _ => None,
    };
    let listed = (!value.is_array() && !value.is_null()).then(|| Value::Array(vec![value.clone()]));
    let fitting = other.into_iter().chain(listed).find(|other| walk.fits(id, other, MOST_STEPS))?;
    let text = fitting.to_string();
    Some(match &fitting {
        Value::Array(_) | Value::Object(_) if text.len() > 60 || text.chars().any(char::is_control) => {
            let kind = if fitting.is_array() { "list" } else { "object" };
            if value.is_string() { format!("the {kind} itself, not as a text") } else { format!("a {kind} with it") }
        }
        Value::Array(_) | Value::Object(_) => excerpt(&text, 60),
        scalar => shorten(scalar),
    })
}

/// Returns the part of `text` that fits the schema `id`: without white space around it, or only the date of a date and time.
fn part(walk: &Walk<'_>, id: Id, text: &str) -> Option<String> {
    let parts = [Some(text.trim()), text.split_once(['T', ' ']).map(|(date, _)| date)];
    let mut values = parts.into_iter().flatten().filter(|part| *part != text && !part.is_empty()).map(Value::from);
    values.find(|value| walk.fits(id, value, MOST_STEPS)).map(|value| shorten(&value))
}

/// Returns a phrase for the list or object that a text contains as JSON.
fn describe_held(text: &str) -> Option<String> {
    parse_other(text).filter(|value| value.is_object() || value.is_array()).map(|value| shorten(&value))
}

/// Returns the value that a text spells, other than a text.
fn parse_other(text: &str) -> Option<Value> {
    let text = text.trim();
    match text {
        "True" => return Some(Value::Bool(true)),
        "False" => return Some(Value::Bool(false)),
        "None" => return Some(Value::Null),
        _ if text.len() > 10_000 => return None,
        _ => {}
    }
    serde_json::from_str(text).ok().filter(|value: &Value| !value.is_string())
}
