//! Limits: what is asked of a value beyond its kind.

use serde_json::{Map, Value};

use super::{At, Draft, Kind};
use crate::schema::{Severity, loss::Losses, number};

/// One limit, such as `"minLength": 1`.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::schema) struct Limit {
    pub(in crate::schema) at: At,
    pub(in crate::schema) word: &'static str,
    pub(in crate::schema) value: Value,
}

const WORDS: [(&str, Rule); 14] = [
    ("minimum", Rule::Most),
    ("exclusiveMinimum", Rule::Most),
    ("maximum", Rule::Least),
    ("exclusiveMaximum", Rule::Least),
    ("multipleOf", Rule::Only),
    ("minLength", Rule::MostCount),
    ("maxLength", Rule::LeastCount),
    ("pattern", Rule::Only),
    ("format", Rule::Only),
    ("minItems", Rule::MostCount),
    ("maxItems", Rule::LeastCount),
    ("uniqueItems", Rule::Flag),
    ("minProperties", Rule::MostCount),
    ("maxProperties", Rule::LeastCount),
];

/// What two limits of one word make together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Most,
    Least,
    MostCount,
    LeastCount,
    Flag,
    Only,
}

/// The limits that `schemas`, which hold at once, set to values of `kind`.
pub(super) fn of(kind: Kind, schemas: &[(&Map<String, Value>, At)], draft: Draft, losses: &mut Losses) -> Vec<Limit> {
    let mut limits: Vec<Limit> = Vec::new();
    for (schema, at) in schemas {
        for (word, rule) in WORDS {
            if !Kind::of_word(word).is_some_and(|of| kind.is_a(of)) {
                continue;
            }
            let Some(value) = schema.get(word).and_then(|value| read(schema, word, value, rule, draft)) else {
                if schema.contains_key(word) && draft != Draft::Four && schema[word] != Value::Bool(false) {
                    losses.add(at, word, Severity::Annotation, "not a value that this keyword can have: left out");
                }
                continue;
            };
            match limits.iter_mut().find(|limit| limit.word == word) {
                Some(limit) => join(limit, value, at, rule, losses),
                None => limits.push(Limit { at: at.clone(), word, value }),
            }
        }
    }
    limits
}

fn read(schema: &Map<String, Value>, word: &str, value: &Value, rule: Rule, draft: Draft) -> Option<Value> {
    let flagged = |flag: &str| draft == Draft::Four && schema.get(flag) == Some(&Value::Bool(true));
    match word {
        "minimum" if flagged("exclusiveMinimum") => return None,
        "maximum" if flagged("exclusiveMaximum") => return None,
        "exclusiveMinimum" if flagged(word) => return schema.get("minimum").filter(|bound| bound.is_number()).cloned(),
        "exclusiveMaximum" if flagged(word) => return schema.get("maximum").filter(|bound| bound.is_number()).cloned(),
        "multipleOf" => return value.as_f64().is_some_and(|factor| factor > 0.0).then(|| value.clone()),
        _ => {}
    }
    match rule {
        Rule::Most | Rule::Least => value.is_number().then(|| value.clone()),
        Rule::MostCount | Rule::LeastCount => number::count(value).map(Value::from),
        Rule::Flag => (*value == Value::Bool(true)).then(|| value.clone()),
        Rule::Only => value.is_string().then(|| value.clone()),
    }
}

fn join(limit: &mut Limit, value: Value, at: &At, rule: Rule, losses: &mut Losses) {
    let order = match (&limit.value, &value) {
        (Value::Number(old), Value::Number(new)) => number::compare(new, old),
        _ => std::cmp::Ordering::Equal,
    };
    let tighter = match rule {
        Rule::Most | Rule::MostCount => order.is_gt(),
        Rule::Least | Rule::LeastCount => order.is_lt(),
        Rule::Flag => false,
        Rule::Only => {
            if limit.value != value {
                let note = format!("only one `{}` can hold at a time: {value} was left out", limit.word);
                losses.add(at, limit.word, Severity::Weakened, note);
            }
            false
        }
    };
    if tighter {
        (limit.value, limit.at) = (value, at.clone());
    }
}

/// The limit of that word, as a count.
pub(in crate::schema) fn count(limits: &[Limit], word: &str) -> Option<u64> {
    limits.iter().find(|limit| limit.word == word).and_then(|limit| number::count(&limit.value))
}
