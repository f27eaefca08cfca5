//! Limits that hold at the same time, such as two `minimum`.

use serde_json::{Map, Value};

use super::{At, Kind};
use crate::schema::{
    data,
    draft::Draft,
    losses::{Losses, Severity},
};

/// One limit, such as `"minLength": 1`.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    pub at: At,
    pub word: &'static str,
    pub value: Value,
}

const LIMITS: [(&str, Join); 14] = [
    ("minimum", Join::Larger),
    ("exclusiveMinimum", Join::Larger),
    ("maximum", Join::Smaller),
    ("exclusiveMaximum", Join::Smaller),
    ("multipleOf", Join::First),
    ("minLength", Join::LargerCount),
    ("maxLength", Join::SmallerCount),
    ("pattern", Join::First),
    ("format", Join::First),
    ("minItems", Join::LargerCount),
    ("maxItems", Join::SmallerCount),
    ("uniqueItems", Join::Either),
    ("minProperties", Join::LargerCount),
    ("maxProperties", Join::SmallerCount),
];

/// The way to join two limits of the same keyword.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Join {
    /// The larger number holds.
    Larger,
    /// The smaller number holds.
    Smaller,
    /// The larger count holds.
    LargerCount,
    /// The smaller count holds.
    SmallerCount,
    /// The limit holds if either is `true`.
    Either,
    /// The first limit holds, and the other one is lost.
    First,
}

/// Returns the limits that `schemas`, which must hold at the same time, set for values of `kind`.
pub fn limits_of(kind: Kind, schemas: &[(&Map<String, Value>, At)], draft: Draft, losses: &mut Losses) -> Vec<Limit> {
    let mut limits: Vec<Limit> = Vec::new();
    for (schema, at) in schemas {
        for (word, join) in LIMITS {
            if !Kind::of_word(word).is_some_and(|of| kind.is_a(of)) {
                continue;
            }
            let Some(value) = schema.get(word).and_then(|value| read_limit(schema, word, value, join, draft)) else {
                if schema.contains_key(word) && draft != Draft::Four && schema[word] != Value::Bool(false) {
                    losses.add(at, word, Severity::Annotation, "invalid value for this keyword: left out");
                }
                continue;
            };
            match limits.iter_mut().find(|limit| limit.word == word) {
                Some(limit) => join_limit(limit, value, at, join, losses),
                None => limits.push(Limit { at: at.clone(), word, value }),
            }
        }
    }
    limits
}

fn read_limit(schema: &Map<String, Value>, word: &str, value: &Value, join: Join, draft: Draft) -> Option<Value> {
    let flagged = |flag: &str| draft == Draft::Four && schema.get(flag) == Some(&Value::Bool(true));
    match word {
        "minimum" if flagged("exclusiveMinimum") => return None,
        "maximum" if flagged("exclusiveMaximum") => return None,
        "exclusiveMinimum" if flagged(word) => return schema.get("minimum").filter(|bound| bound.is_number()).cloned(),
        "exclusiveMaximum" if flagged(word) => return schema.get("maximum").filter(|bound| bound.is_number()).cloned(),
        "multipleOf" => return value.as_f64().is_some_and(|factor| factor > 0.0).then(|| value.clone()),
        _ => {}
    }
    match join {
        Join::Larger | Join::Smaller => value.is_number().then(|| value.clone()),
        Join::LargerCount | Join::SmallerCount => data::to_count(value).map(Value::from),
        Join::Either => (*value == Value::Bool(true)).then(|| value.clone()),
        Join::First => value.is_string().then(|| value.clone()),
    }
}

fn join_limit(limit: &mut Limit, value: Value, at: &At, join: Join, losses: &mut Losses) {
    let order = match (&limit.value, &value) {
        (Value::Number(old), Value::Number(new)) => data::compare(new, old),
        _ => std::cmp::Ordering::Equal,
    };
    let tighter = match join {
        Join::Larger | Join::LargerCount => order.is_gt(),
        Join::Smaller | Join::SmallerCount => order.is_lt(),
        Join::Either => false,
        Join::First => {
            if limit.value != value {
                let note = format!("only one `{}` is possible: {value} was left out", limit.word);
                losses.add(at, limit.word, Severity::Weakened, note);
            }
            false
        }
    };
    if tighter {
        (limit.value, limit.at) = (value, at.clone());
    }
}

/// Returns the count that the limit `word` sets, or `None` if there is no such limit.
pub fn find_count(limits: &[Limit], word: &str) -> Option<u64> {
    limits.iter().find(|limit| limit.word == word).and_then(|limit| data::to_count(&limit.value))
}
