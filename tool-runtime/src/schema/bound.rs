//! Schemas of strangers are bounded before anything walks them.

use std::borrow::Cow;

use serde_json::Value;

use super::{Severity, loss::Losses, pointer};

/// How many levels of JSON a schema may have. What lies deeper is replaced by `true`; `serde_json` reads 128 itself.
pub(super) const LEVELS: usize = 120;

/// `schema` with at most [`LEVELS`] levels.
pub(super) fn bounded<'a>(schema: &'a Value, losses: &mut Losses) -> Cow<'a, Value> {
    if deeper(schema) { Cow::Owned(cut(schema, "", 1, losses)) } else { Cow::Borrowed(schema) }
}

fn deeper(schema: &Value) -> bool {
    let mut level: Vec<&Value> = vec![schema];
    for _ in 0..LEVELS {
        level = level.into_iter().flat_map(inside).collect();
        if level.is_empty() {
            return false;
        }
    }
    level.iter().any(|value| value.is_array() || value.is_object())
}

fn inside(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(list) => Box::new(list.iter()),
        Value::Object(map) => Box::new(map.values()),
        _ => Box::new(std::iter::empty()),
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
