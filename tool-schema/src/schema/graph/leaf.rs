//! The keywords that look at a value itself, compiled.

use std::collections::HashSet;

use serde_json::{Map, Number, Value};

use crate::schema::draft::Draft;
use crate::schema::format::{self, Format};
use crate::schema::kind::{self, Kind};
use crate::schema::{canonical, number, pattern::Pattern};

/// Lists up to this length are compared item by item, longer ones by the items' texts.
const FEW_ITEMS: usize = 16;

/// The condition of one keyword on a value.
#[derive(Debug)]
pub enum Check {
    Type(Vec<Kind>, Draft),
    Const(Value),
    Enum(Vec<Value>),
    Minimum(Number),
    Maximum(Number),
    ExclusiveMinimum(Number),
    ExclusiveMaximum(Number),
    MultipleOf(Number),
    MinLength(u64),
    MaxLength(u64),
    MinItems(u64),
    MaxItems(u64),
    MinProperties(u64),
    MaxProperties(u64),
    Pattern(Pattern),
    Format(format::Check),
    /// The content of a text.
    Content(format::Check),
    UniqueItems,
    /// A check of the library `jsonschema`.
    #[cfg(feature = "jsonschema")]
    Foreign(Box<jsonschema::Validator>),
}

/// Returns the checks of `keywords`, the cheapest first. `pattern` is the compiled one.
pub fn checks(draft: Draft, keywords: &Map<String, Value>, pattern: Option<Pattern>) -> Vec<Check> {
    let get = |key: &str| keywords.get(key);
    let bound = |key: &str| get(key).and_then(Value::as_number).cloned();
    // No text is as long as what is larger than a `u64`.
    let count = |key: &str| get(key).map(|value| number::count(value).unwrap_or(u64::MAX));
    // In draft 4, `exclusiveMinimum: true` makes `minimum` the bound itself.
    let is_strict = |key: &str| draft == Draft::Four && get(key) == Some(&Value::Bool(true));
    let minimum = if is_strict("exclusiveMinimum") { Check::ExclusiveMinimum } else { Check::Minimum };
    let maximum = if is_strict("exclusiveMaximum") { Check::ExclusiveMaximum } else { Check::Maximum };
    let format = get("format").and_then(Value::as_str).map(|name| Format::named(draft, name));
    let format = if let Some(Format::Checked(check)) = format { Some(check) } else { None };
    let text = |key: &str| get(key).and_then(Value::as_str);
    // Since 2019-09, they are for the reader.
    let content = matches!(draft, Draft::Six | Draft::Seven)
        .then(|| format::content_check(text("contentEncoding"), text("contentMediaType")))
        .flatten();
    let is_unique = get("uniqueItems") == Some(&Value::Bool(true));
    let checks = [
        kind::named_kinds(keywords).map(|kinds| Check::Type(kinds, draft)),
        get("const").filter(|_| draft >= Draft::Six).cloned().map(Check::Const),
        get("enum").and_then(Value::as_array).cloned().map(Check::Enum),
        bound("minimum").map(minimum),
        bound("maximum").map(maximum),
        bound("exclusiveMinimum").map(Check::ExclusiveMinimum),
        bound("exclusiveMaximum").map(Check::ExclusiveMaximum),
        bound("multipleOf").map(Check::MultipleOf),
        count("minLength").map(Check::MinLength),
        count("maxLength").map(Check::MaxLength),
        count("minItems").map(Check::MinItems),
        count("maxItems").map(Check::MaxItems),
        count("minProperties").map(Check::MinProperties),
        count("maxProperties").map(Check::MaxProperties),
        pattern.map(Check::Pattern),
        format.map(Check::Format),
        content.map(Check::Content),
        is_unique.then_some(Check::UniqueItems),
    ];
    checks.into_iter().flatten().collect()
}

/// Returns whether only the library `jsonschema` checks the format of `keywords`.
pub fn has_foreign_format(draft: Draft, keywords: &Map<String, Value>) -> bool {
    let name = keywords.get("format").and_then(Value::as_str);
    name.is_some_and(|name| matches!(Format::named(draft, name), Format::Foreign))
}

impl Check {
    /// Returns whether `value` passes.
    pub fn passes(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Type(kinds, draft), value) => kinds.iter().any(|kind| kind.accepts(value, *draft)),
            (Self::Const(constant), value) => number::same(constant, value),
            (Self::Enum(values), value) => values.iter().any(|other| number::same(other, value)),
            (Self::Minimum(bound), Value::Number(value)) => number::compare(value, bound).is_ge(),
            (Self::Maximum(bound), Value::Number(value)) => number::compare(value, bound).is_le(),
            (Self::ExclusiveMinimum(bound), Value::Number(value)) => number::compare(value, bound).is_gt(),
            (Self::ExclusiveMaximum(bound), Value::Number(value)) => number::compare(value, bound).is_lt(),
            (Self::MultipleOf(step), Value::Number(value)) => number::is_multiple(value, step),
            (Self::MinLength(least), Value::String(text)) => text.chars().count() as u64 >= *least,
            (Self::MaxLength(most), Value::String(text)) => text.chars().count() as u64 <= *most,
            (Self::MinItems(least), Value::Array(items)) => items.len() as u64 >= *least,
            (Self::MaxItems(most), Value::Array(items)) => items.len() as u64 <= *most,
            (Self::MinProperties(least), Value::Object(map)) => map.len() as u64 >= *least,
            (Self::MaxProperties(most), Value::Object(map)) => map.len() as u64 <= *most,
            (Self::Pattern(pattern), Value::String(text)) => pattern.is_match(text),
            (Self::Format(check) | Self::Content(check), Value::String(text)) => check(text),
            (Self::UniqueItems, Value::Array(items)) => are_different(items),
            #[cfg(feature = "jsonschema")]
            (Self::Foreign(validator), value) => validator.is_valid(value),
            _ => true,
        }
    }
}

/// Returns whether no two of `items` are the same.
pub fn are_different(items: &[Value]) -> bool {
    if items.len() > FEW_ITEMS {
        let mut seen = HashSet::new();
        return items.iter().all(|item| seen.insert(canonical(item)));
    }
    items.iter().enumerate().all(|(index, item)| !items[..index].iter().any(|other| number::same(other, item)))
}
