//! Schemas of strangers are bounded before anything walks them.

use std::borrow::Cow;

use serde_json::Value;

use super::{Severity, loss::Losses, pointer};

/// How many levels of JSON a schema may have. What lies deeper is replaced by `true`; `serde_json` reads 128 itself.
pub(super) const LEVELS: usize = 120;

/// `schema` with at most [`LEVELS`] levels.
pub(super) fn bounded<'a>(schema: &'a Value, losses: &mut Losses) -> Cow<'a, Value> {
    if deeper(schema, 0) { Cow::Owned(cut(schema, "", 1, losses)) } else { Cow::Borrowed(schema) }
}

/// Whether `value`, which lies below `level` others, has levels that are one too many.
fn deeper(value: &Value, level: usize) -> bool {
    match value {
        Value::Array(list) => level == LEVELS || list.iter().any(|one| deeper(one, level + 1)),
        Value::Object(map) => level == LEVELS || map.values().any(|one| deeper(one, level + 1)),
        _ => false,
    }
}

fn cut(value: &Value, at: &str, level: usize, losses: &mut Losses) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) if level > LEVELS => {
            let note = format!("deeper than {LEVELS} levels: not read");
            losses.add(at, "", Severity::Weakened, note);
            Value::Bool(true)
        }
        Value::Array(list) => {
            list.iter().enumerate().map(|(i, one)| cut(one, &format!("{at}/{i}"), level + 1, losses)).collect()
        }
        Value::Object(map) => {
            map.iter().map(|(key, one)| (key.clone(), cut(one, &pointer::push(at, key), level + 1, losses))).collect()
        }
        leaf => leaf.clone(),
    }
}
