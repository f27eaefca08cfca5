//! What may have been meant instead of a value. It is offered, never used.

use serde_json::Value;

use super::Walk;
use crate::feedback::{shorten, suggest};
use crate::schema::graph::Id;

/// The work that one guess may take.
const MOST_STEPS: usize = 1_000;

/// The allowed value that is nearest to `value`.
pub(super) fn nearest(value: &Value, allowed: &[Value]) -> Option<String> {
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
pub(super) fn converted(walk: &Walk<'_>, id: Id, value: &Value) -> Option<String> {
    let other = match value {
        Value::String(text) => parsed(text),
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
        Value::Array(_) | Value::Object(_) => crate::feedback::excerpt(&text, 60),
        scalar => shorten(scalar),
    })
}

/// The part of `text` that fits the schema `id`: without white space around it, or only the date of a date and time.
pub(super) fn part(walk: &Walk<'_>, id: Id, text: &str) -> Option<String> {
    let parts = [Some(text.trim()), text.split_once(['T', ' ']).map(|(date, _)| date)];
    let mut values = parts.into_iter().flatten().filter(|part| *part != text && !part.is_empty()).map(Value::from);
    values.find(|value| walk.fits(id, value, MOST_STEPS)).map(|value| shorten(&value))
}

/// What a text holds, if that is JSON of its own.
pub(super) fn held(text: &str) -> Option<String> {
    parsed(text).filter(|value| value.is_object() || value.is_array()).map(|value| shorten(&value))
}

/// The value that a text spells, other than a text.
fn parsed(text: &str) -> Option<Value> {
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
