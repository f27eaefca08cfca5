//! JSON values in the data model of JSON Schema: kinds, numbers by value, and the canonical text of a value. `1`, `1.0` and
//! `10e-1` are equal. Fingerprints are based on the canonical text.

use std::{cmp::Ordering, collections::HashSet};

use serde_json::{Map, Number, Value};

use super::draft::Draft;
use crate::json::split_decimal;

/// A kind of JSON value, as in the keyword `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    String,
    Integer,
    Number,
    Boolean,
    Object,
    Array,
    Null,
}

impl Kind {
    const ALL: [Self; 7] =
        [Self::String, Self::Integer, Self::Number, Self::Boolean, Self::Object, Self::Array, Self::Null];

    /// Returns kinds that together have every value.
    pub fn all_values() -> Vec<Self> {
        Self::ALL.into_iter().filter(|kind| *kind != Self::Integer).collect()
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Array => "array",
            Self::Null => "null",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the kind of `value`. A whole number is an integer if its absolute value is below 10^30.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(one) if to_integer(one).is_some() => Self::Integer,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    /// Returns whether a schema of `draft` with this type accepts `value`. In draft 4, the notation of a number matters.
    pub fn accepts(self, value: &Value, draft: Draft) -> bool {
        match (self, value) {
            (Self::Integer, Value::Number(value)) if draft == Draft::Four => value.is_i64() || value.is_u64(),
            (Self::Integer, Value::Number(value)) => is_integer(value),
            (Self::Number, Value::Number(_)) => true,
            (kind, value) => kind == Self::of(value),
        }
    }

    /// Returns whether every value of this kind is one of `other`.
    pub fn is_a(self, other: Self) -> bool {
        self == other || (self == Self::Integer && other == Self::Number)
    }

    /// Returns the kind of values that the keyword `word` constrains, or `None` for a keyword about every kind.
    pub fn of_word(word: &str) -> Option<Self> {
        match word {
            "minLength" | "maxLength" | "pattern" | "format" | "contentEncoding" | "contentMediaType" => {
                Some(Self::String)
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => Some(Self::Number),
            "items" | "prefixItems" | "additionalItems" | "contains" | "minContains" | "maxContains" | "minItems"
            | "maxItems" | "uniqueItems" | "unevaluatedItems" => Some(Self::Array),
            "properties"
            | "patternProperties"
            | "additionalProperties"
            | "propertyNames"
            | "required"
            | "minProperties"
            | "maxProperties"
            | "dependencies"
            | "dependentRequired"
            | "dependentSchemas"
            | "unevaluatedProperties" => Some(Self::Object),
            _ => None,
        }
    }
}

/// Returns the kinds that `type` in `schema` allows, in its order, or `None` if there is no `type`.
pub fn named_kinds(schema: &Map<String, Value>) -> Option<Vec<Kind>> {
    match schema.get("type")? {
        Value::String(name) => Some(Kind::named(name).into_iter().collect()),
        Value::Array(names) => Some(names.iter().filter_map(Value::as_str).filter_map(Kind::named).collect()),
        _ => None,
    }
}

/// Returns the kinds that both lists allow, in the order of the first.
pub fn common_kinds(a: &[Kind], b: &[Kind]) -> Vec<Kind> {
    let mut found: Vec<Kind> = Vec::new();
    for &one in a {
        for &other in b {
            let both = if one.is_a(other) {
                one
            } else if other.is_a(one) {
                other
            } else {
                continue;
            };
            if !found.contains(&both) {
                found.push(both);
            }
        }
    }
    simplify_kinds(found)
}

/// Removes an `integer` beside a `number`.
pub fn simplify_kinds(mut kinds: Vec<Kind>) -> Vec<Kind> {
    if kinds.contains(&Kind::Number) {
        kinds.retain(|kind| *kind != Kind::Integer);
    }
    kinds
}

/// Compares two numbers. The result is exact for integers of 64 bits.
pub fn compare(a: &Number, b: &Number) -> Ordering {
    match (to_integer(a), to_integer(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.as_f64().unwrap_or(f64::NAN).total_cmp(&b.as_f64().unwrap_or(f64::NAN)),
    }
}

/// Returns `number` as an integer, if it has no fraction and its absolute value is below 10^30.
pub fn to_integer(number: &Number) -> Option<i128> {
    if let Some(integer) = number.as_i128() {
        return Some(integer);
    }
    let float = number.as_f64()?;
    #[expect(clippy::cast_possible_truncation, reason = "it is an integer and far smaller than an i128")]
    (float.fract() == 0.0 && float.abs() < 1e30).then_some(float as i128)
}

/// Returns whether a number has no fraction, however large it is.
pub fn is_integer(number: &Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

/// Returns whether `number` is a multiple of `step`, by their decimal digits.
pub fn is_multiple(number: &Number, step: &Number) -> bool {
    let parts = |number: &Number| {
        let (digits, power) = split_decimal(&number.to_string())?;
        Some((if digits.is_empty() { 0 } else { digits.parse::<u128>().ok()? }, power))
    };
    let (Some((digits, power)), Some((step, step_power))) = (parts(number), parts(step)) else { return false };
    if digits == 0 || step == 0 {
        return digits == 0;
    }
    match u32::try_from(step_power - power) {
        // On overflow, the result is `false`: the step is larger than the number, which is not 0.
        Ok(zeros) => {
            10_u128.checked_pow(zeros).is_some_and(|unit| step.checked_mul(unit).is_some_and(|step| digits % step == 0))
        }
        // `digits` and `step` are below 2^64, so products fit.
        Err(_) => (step_power..power).fold(digits % step, |rest, _| rest * 10 % step) == 0,
    }
}

/// Returns the number of items, characters or members that the value of a keyword states.
pub fn to_count(value: &Value) -> Option<u64> {
    value.as_number().and_then(to_integer).and_then(|count| u64::try_from(count).ok())
}

/// Returns whether two values are equal in JSON Schema.
pub fn are_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b).is_eq(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| are_equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| are_equal(a, b)))
        }
        _ => a == b,
    }
}

/// Returns whether no two items are equal in JSON Schema.
pub fn all_unique(items: &[Value]) -> bool {
    if items.len() > FEW_ITEMS {
        let mut seen = HashSet::new();
        return items.iter().all(|item| seen.insert(canonical_value(item)));
    }
    items.iter().enumerate().all(|(index, item)| !items[..index].iter().any(|other| are_equal(other, item)))
}

/// The maximum length of a list whose items are compared one by one. In longer lists, the items' canonical texts are compared.
const FEW_ITEMS: usize = 16;

/// Returns the canonical JSON text of `value`. Equal values have the same text in every process, whatever the order of their keys
/// and the notation of their numbers.
///
/// - There is no white space. The keys of an object are sorted by their UTF-8 bytes. The order of arrays is kept, even if JSON
///   Schema ignores it (`required`).
/// - Numbers are written by value: `1`, `1.0` and `10e-1` become `1`, and `-0.0` becomes `0`. Integers of 64 bits keep all
///   digits. Other numbers have the fewest digits that give the same `f64`.
/// - Strings are escaped like in `serde_json`, only where necessary.
///
/// The function does not recurse, so deep values are safe. A [`Value`] has rounded its numbers already;
/// [`canonical_text`](crate::json::canonical_text) keeps all digits of a text.
///
/// ```
/// # use tool_schema::schema::canonical_value;
/// # use serde_json::json;
/// assert_eq!(canonical_value(&json!({"b": 1.0, "a": [true, null]})), r#"{"a":[true,null],"b":1}"#);
/// ```
pub fn canonical_value(value: &Value) -> String {
    let mut text = String::new();
    let mut todo = vec![Todo::Value(value)];
    while let Some(next) = todo.pop() {
        match next {
            Todo::Text(part) => text.push_str(part),
            Todo::Key(key) => {
                write_string(key, &mut text);
                text.push(':');
            }
            Todo::Value(Value::Array(list)) => {
                text.push('[');
                todo.push(Todo::Text("]"));
                push_members(&mut todo, list.iter().rev().map(|one| (None, one)));
            }
            Todo::Value(Value::Object(map)) => {
                text.push('{');
                todo.push(Todo::Text("}"));
                push_members(&mut todo, sort_members(map).into_iter().rev().map(|(key, one)| (Some(key), one)));
            }
            Todo::Value(Value::Number(one)) => write_number(one, &mut text),
            Todo::Value(Value::String(one)) => write_string(one, &mut text),
            Todo::Value(Value::Bool(true)) => text.push_str("true"),
            Todo::Value(Value::Bool(false)) => text.push_str("false"),
            Todo::Value(Value::Null) => text.push_str("null"),
        }
    }
    text
}

enum Todo<'a> {
    Value(&'a Value),
    Key(&'a str),
    Text(&'static str),
}

/// Puts the members, which come in reverse order, on the stack, with commas between them.
fn push_members<'a>(todo: &mut Vec<Todo<'a>>, members: impl Iterator<Item = (Option<&'a str>, &'a Value)>) {
    for (i, (key, value)) in members.enumerate() {
        if i > 0 {
            todo.push(Todo::Text(","));
        }
        todo.push(Todo::Value(value));
        todo.extend(key.map(Todo::Key));
    }
}

fn sort_members(map: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut members: Vec<_> = map.iter().map(|(key, value)| (key.as_str(), value)).collect();
    members.sort_unstable_by_key(|(key, _)| *key);
    members
}

fn write_string(value: &str, text: &mut String) {
    text.push_str(&serde_json::to_string(value).expect("a string is always JSON"));
}

fn write_number(value: &Number, text: &mut String) {
    match to_integer(value) {
        Some(integer) if i64::try_from(integer).is_ok() || u64::try_from(integer).is_ok() => {
            text.push_str(&integer.to_string());
        }
        _ => text.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_and_numbers_are_values() {
        let value =
            json!({"z": [1.0, -0.0, 0.1, 1e300, u64::MAX, i64::MIN, 100.0], "é": "\u{1}\"", "a": {"b": {}, "a": []}});
        assert_eq!(
            canonical_value(&value),
            "{\"a\":{\"a\":[],\"b\":{}},\"z\":[1,0,0.1,1e+300,18446744073709551615,-9223372036854775808,100],\"é\":\"\\u0001\\\"\"}"
        );
    }

    #[test]
    fn depth_needs_no_stack() {
        let mut value = Value::Null;
        for _ in 0..100_000 {
            value = Value::Array(vec![value]);
        }
        assert_eq!(canonical_value(&value).len(), 200_004);
        // Dropping the value would recurse.
        std::mem::forget(value);
    }

    proptest! {
        #[test]
        fn it_reads_back_as_the_same_value(text in "[\\PC\\x00-\\x1f]{0,20}", float in any::<f64>(), integer in any::<i64>()) {
            let value = json!({text.clone(): [text, float, integer]});
            let read: Value = serde_json::from_str(&canonical_value(&value)).unwrap();
            prop_assert!(are_equal(&value, &read), "{value} {read}");
            prop_assert_eq!(canonical_value(&read), canonical_value(&value));
        }
    }
}
