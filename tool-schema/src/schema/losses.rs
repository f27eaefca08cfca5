//! The losses of a lowering: the constraints that a dialect cannot express.

use std::{borrow::Cow, collections::HashSet};

use serde_json::Value;

use super::{places::MAX_NESTING, pointer};

/// A constraint that a dialect cannot express.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The place in the neutral schema: a JSON Pointer.
    pub path: String,
    /// The keyword that was left out or changed; empty for a whole schema.
    pub keyword: String,
    /// The severity.
    pub severity: Severity,
    /// The replacement, in words.
    pub note: String,
}

/// The severity of a [`Loss`], in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Only information for the reader was lost, such as a default or an example. The same values are valid.
    Annotation,
    /// The lowered schema accepts more values. The decoder of the arguments still rejects what the neutral schema rejects.
    Weakened,
    /// The lowered schema accepts fewer values: a model that follows it cannot send some valid arguments.
    Narrowed,
    /// The lowered schema has only a placeholder here. A provider must not enforce it strictly.
    Inexpressible,
}

/// The maximum number of losses that are listed, because an untrusted schema could cause many.
const MAX_LOSSES: usize = 1_000;

/// The losses of a lowering. Each combination of place, keyword and severity occurs once.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    seen: HashSet<(String, String, Severity)>,
    list: Vec<Loss>,
}

impl Losses {
    pub fn add(&mut self, path: &str, keyword: &str, severity: Severity, note: impl Into<String>) {
        if self.list.len() < MAX_LOSSES && self.seen.insert((path.to_owned(), keyword.to_owned(), severity)) {
            let (path, keyword, note) = (path.to_owned(), keyword.to_owned(), note.into());
            self.list.push(Loss { path, keyword, severity, note });
        }
    }

    pub fn into_vec(self) -> Vec<Loss> {
        self.list
    }
}

/// Returns `schema` with at most [`MAX_NESTING`] levels.
pub fn bound<'a>(schema: &'a Value, losses: &mut Losses) -> Cow<'a, Value> {
    if is_too_deep(schema, 0) { Cow::Owned(cut(schema, "", 1, losses)) } else { Cow::Borrowed(schema) }
}

/// Returns whether `value`, inside `level` other values, is nested too deep.
fn is_too_deep(value: &Value, level: usize) -> bool {
    match value {
        Value::Array(list) => level == MAX_NESTING || list.iter().any(|one| is_too_deep(one, level + 1)),
        Value::Object(map) => level == MAX_NESTING || map.values().any(|one| is_too_deep(one, level + 1)),
        _ => false,
    }
}

fn cut(value: &Value, at: &str, level: usize, losses: &mut Losses) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) if level > MAX_NESTING => {
            let note = format!("deeper than {MAX_NESTING} levels: not read");
            losses.add(at, "", Severity::Weakened, note);
            Value::Bool(true)
        }
        Value::Array(list) => {
            list.iter().enumerate().map(|(i, one)| cut(one, &format!("{at}/{i}"), level + 1, losses)).collect()
        }
        Value::Object(map) => {
            map.iter().map(|(key, one)| (key.clone(), cut(one, &pointer::join(at, key), level + 1, losses))).collect()
        }
        leaf => leaf.clone(),
    }
}
