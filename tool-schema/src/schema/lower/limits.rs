//! Writing of limits, such as `minimum`, under a provider's rules.

use std::{borrow::Cow, cmp::Ordering, ops::RangeInclusive};

use serde_json::Value;

use super::{
    words::describe_limits,
    write::{Node, Writer},
};
use crate::schema::{
    data::{self, Kind},
    shape::Limit,
};

/// The largest absolute value of a bound, 2^53 - 1. llguidance and xgrammar refuse a schema with a larger one, and llama.cpp
/// misreads it.
const MAX_BOUND: i128 = (1 << 53) - 1;

/// The maximum length or count that is written. llama.cpp refuses a request with more than about 2,000.
const MAX_COUNT: u64 = 1_000;

/// The steps of `multipleOf` that are written, and the maximum number of their digits. llguidance refuses a request with a step of
/// many digits, and takes a minute for one of six.
const STEPS: RangeInclusive<f64> = 1e-9..=1e3;
const MAX_STEP_DIGITS: usize = 6;

/// The maximum of a `maxLength` that is written. With a length, xgrammar forbids quotes and line breaks, which occur in free text.
const MAX_LENGTH: u64 = 64;

impl Writer<'_> {
    /// Writes the limits of values of `kind` that the rules accept. Adds hints for the others.
    pub fn write_limits(&mut self, node: &mut Node, kind: Kind, limits: &[Limit], hints: &mut Vec<String>) {
        let limits: Cow<'_, [Limit]> =
            if kind == Kind::Integer { make_inclusive(limits).into() } else { Cow::Borrowed(limits) };
        let mut others = Vec::new();
        for limit in &*limits {
            if is_trivial(limit) {
                continue;
            }
            // llguidance refuses a request with a count of entries beside optional properties.
            let is_of_map = !limit.word.ends_with("Properties") || !has_optional_properties(node);
            let is_possible = !limits.iter().any(|other| contradicts(limit, other));
            if is_of_map
                && is_possible
                && let Some(value) = self.accept(limit, &limits)
            {
                node.insert(limit.word.to_owned(), value);
            } else if !is_possible || !self.write_similar(node, limit, &limits) {
                self.lose_keyword(&limit.at, limit.word);
                others.push(limit);
            }
        }
        hints.extend(describe_limits(&others));
    }

    /// Writes the nearest limit that the rules accept. Returns whether that limit is equivalent to `limit`.
    fn write_similar(&self, node: &mut Node, limit: &Limit, all: &[Limit]) -> bool {
        let word = match limit.word {
            "minItems" if self.rules.limits.contains(&"minItems") && self.rules.max_min_items < MAX_COUNT => {
                node.insert(limit.word.to_owned(), self.rules.max_min_items.into());
                return false;
            }
            "exclusiveMinimum" => "minimum",
            "exclusiveMaximum" => "maximum",
            _ => return false,
        };
        let is_free = self.rules.limits.contains(&word) && all.iter().all(|other| other.word != word);
        if is_free && is_small_bound(&limit.value) {
            node.insert(word.to_owned(), limit.value.clone());
        }
        false
    }

    /// Returns the value that is written for `limit`, or `None` if the rules do not accept the limit.
    fn accept(&self, limit: &Limit, all: &[Limit]) -> Option<Value> {
        let text = limit.value.as_str().unwrap_or_default();
        let count = || data::to_count(&limit.value);
        let find = |word: &str| all.iter().find(|other| other.word == word);
        let is_accepted = self.rules.limits.contains(&limit.word)
            && match limit.word {
                "pattern" => return super::safe_pattern::make_safe(text).map(Value::from),
                // Decoders that follow a grammar read one of pattern, format and length. A written pattern comes first.
                "format" => self.rules.formats.contains(&text) && !self.writes_pattern(all),
                "minLength" | "maxLength" => {
                    let most = find("maxLength").and_then(|most| data::to_count(&most.value));
                    let writes_format = find("format").is_some_and(|format| self.accept(format, all).is_some());
                    most.is_some_and(|most| most <= MAX_LENGTH) && !self.writes_pattern(all) && !writes_format
                }
                "minItems" => count().is_some_and(|count| count <= self.rules.max_min_items.min(MAX_COUNT)),
                "maxItems" | "minProperties" | "maxProperties" => count().is_some_and(|count| count <= MAX_COUNT),
                "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => is_small_bound(&limit.value),
                "multipleOf" => is_small_step(&limit.value),
                _ => true,
            };
        is_accepted.then(|| limit.value.clone())
    }

    fn writes_pattern(&self, all: &[Limit]) -> bool {
        let pattern = all.iter().find(|limit| limit.word == "pattern");
        pattern.is_some_and(|pattern| self.accept(pattern, all).is_some())
    }
}

fn is_small_bound(bound: &Value) -> bool {
    let Some(number) = bound.as_number() else { return false };
    #[expect(clippy::cast_precision_loss, reason = "2^53 - 1 is exact")]
    let is_small = |float: f64| float.abs() <= MAX_BOUND as f64;
    data::to_integer(number).map_or_else(|| number.as_f64().is_some_and(is_small), |bound| bound.abs() <= MAX_BOUND)
}

fn is_small_step(step: &Value) -> bool {
    let digits = step.to_string().bytes().filter(u8::is_ascii_digit).count();
    digits <= MAX_STEP_DIGITS && step.as_f64().is_some_and(|step| STEPS.contains(&step))
}

fn has_optional_properties(node: &Node) -> bool {
    let required = node.get("required").and_then(Value::as_array);
    let is_optional = |name: &String| !required.is_some_and(|names| names.iter().any(|required| required == name));
    node.get("properties").and_then(Value::as_object).is_some_and(|named| named.keys().any(is_optional))
}

/// Returns whether no value fits both limits. llguidance and outlines-core refuse a request with such a pair.
fn contradicts(a: &Limit, b: &Limit) -> bool {
    const PAIRS: [(&str, &str); 7] = [
        ("minimum", "maximum"),
        ("minimum", "exclusiveMaximum"),
        ("exclusiveMinimum", "maximum"),
        ("exclusiveMinimum", "exclusiveMaximum"),
        ("minLength", "maxLength"),
        ("minItems", "maxItems"),
        ("minProperties", "maxProperties"),
    ];
    let (low, high) = if PAIRS.contains(&(a.word, b.word)) { (a, b) } else { (b, a) };
    let is_open = low.word.starts_with("exclusive") || high.word.starts_with("exclusive");
    PAIRS.contains(&(low.word, high.word))
        && matches!((low.value.as_number(), high.value.as_number()), (Some(low), Some(high)) if match data::compare(low, high) {
            Ordering::Less => false,
            Ordering::Equal => is_open,
            Ordering::Greater => true,
        })
}

/// Returns whether every value fits `limit`.
fn is_trivial(limit: &Limit) -> bool {
    limit.word == "pattern" && limit.value == ""
        || matches!(limit.word, "minLength" | "minItems" | "minProperties") && data::to_count(&limit.value) == Some(0)
}

/// Returns the limits of an integer with bounds that are whole and inclusive. Of two lower or upper bounds, the tighter stays.
fn make_inclusive(limits: &[Limit]) -> Vec<Limit> {
    let mut found: Vec<Limit> = Vec::with_capacity(limits.len());
    for limit in limits {
        let (word, is_lower, is_exclusive) = match limit.word {
            "minimum" => ("minimum", true, false),
            "exclusiveMinimum" => ("minimum", true, true),
            "maximum" => ("maximum", false, false),
            "exclusiveMaximum" => ("maximum", false, true),
            _ => {
                found.push(limit.clone());
                continue;
            }
        };
        let Some(value) = round_inwards(&limit.value, is_lower, is_exclusive) else {
            found.push(limit.clone());
            continue;
        };
        let limit = Limit { at: limit.at.clone(), word, value };
        let Some(other) = found.iter_mut().find(|other| other.word == word) else {
            found.push(limit);
            continue;
        };
        if let (Value::Number(new), Value::Number(old)) = (&limit.value, &other.value)
            && data::compare(new, old) == if is_lower { Ordering::Greater } else { Ordering::Less }
        {
            *other = limit;
        }
    }
    found
}

/// Returns the whole number that is the inclusive form of `bound`, or `None` for a number that has no exact form here.
fn round_inwards(bound: &Value, is_lower: bool, is_exclusive: bool) -> Option<Value> {
    let number = bound.as_number()?;
    let step = if is_lower { 1 } else { -1 };
    let whole = match data::to_integer(number) {
        Some(whole) => whole + if is_exclusive { step } else { 0 },
        None => {
            let float = number.as_f64()?;
            let rounded = if is_lower { float.ceil() } else { float.floor() };
            #[expect(clippy::cast_possible_truncation, reason = "it is whole and far smaller than an i128")]
            (rounded.abs() < 1e30).then_some(rounded as i128)?
        }
    };
    i64::try_from(whole).map(Value::from).or_else(|_| u64::try_from(whole).map(Value::from)).ok()
}
