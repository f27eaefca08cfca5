//! Schemas and values for property tests.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::Sampler;

const NAMES: [&str; 4] = ["a", "b", "kind", "é/~"];
const TEXTS: [&str; 6] = ["", "a", "b", "1", "2025-01-31", "true"];

/// Generates a small value with few different names, so that the value often fits a schema.
pub fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..6_i64).prop_map(Value::from),
        Just(json!(1.5)),
        prop::sample::select(TEXTS.to_vec()).prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 24, 4, |part| {
        prop_oneof![prop::collection::vec(part.clone(), 0..4).prop_map(Value::from), object(part).prop_map(Value::from)]
    })
}

/// Generates a schema, and a value that often fits it, nearly fits it, or is any small value.
pub fn schema_and_value() -> impl Strategy<Value = (Value, Value)> {
    (schema(), value(), any::<u64>(), any::<bool>()).prop_map(|(schema, value, round, is_near)| {
        let value = if is_near { Sampler::new(round).near(&schema) } else { value };
        (schema, value)
    })
}

/// Generates a schema. It often has several keywords, which may contradict each other.
pub fn schema() -> impl Strategy<Value = Value> {
    root(keywords())
}

fn object(part: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((prop::sample::select(NAMES.to_vec()), part), 0..4)
        .prop_map(|entries| entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn root(schema: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Value> {
    let schema = schema.boxed();
    let drafts = prop::sample::select(vec![
        Value::Null,
        json!("http://json-schema.org/draft-07/schema#"),
        json!("https://json-schema.org/draft/2019-09/schema"),
    ]);
    (schema.clone(), schema.clone(), schema, drafts).prop_map(|(mut root, mut one, two, draft)| {
        if !draft.is_null() {
            // `two` stays, so that newer keywords occur in older drafts too.
            [&mut root, &mut one].into_iter().for_each(write_older_lists);
        }
        if let Some(map) = root.as_object_mut() {
            map.insert("$defs".into(), json!({ "one": one, "two": two }));
            if !draft.is_null() {
                map.insert("$schema".into(), draft);
            }
        }
        root
    })
}

/// Writes each `prefixItems` as the list in `items` of the drafts before 2020-12.
fn write_older_lists(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if let Some(front) = map.shift_remove("prefixItems")
                && let Some(rest) = map.insert("items".into(), front)
            {
                map.insert("additionalItems".into(), rest);
            }
            map.values_mut().for_each(write_older_lists);
        }
        Value::Array(items) => items.iter_mut().for_each(write_older_lists),
        _ => {}
    }
}

fn keywords() -> impl Strategy<Value = Value> {
    let types = ["string", "integer", "number", "boolean", "null", "array", "object"];
    let kind = prop::sample::select(types.to_vec()).prop_map(|kind| json!({ "type": kind }));
    let leaf = prop_oneof![
        4 => kind,
        1 => Just(json!(true)),
        1 => Just(json!(false)),
        1 => Just(json!({ "$ref": "#/$defs/one" })),
        1 => Just(json!({ "$ref": "#/$defs/two" })),
        1 => Just(json!({ "type": ["string", "null"] })),
        1 => Just(json!({ "enum": ["a", "b", 1, null] })),
        1 => Just(json!({ "const": "a" })),
        1 => Just(json!({ "minimum": 0, "maximum": 3, "multipleOf": 2 })),
        1 => Just(json!({ "minLength": 1, "maxLength": 3, "pattern": "^[a-z]*$" })),
        1 => Just(json!({ "format": "date" })),
        1 => Just(json!({ "minItems": 1, "maxItems": 2, "uniqueItems": true })),
        1 => Just(json!({ "minProperties": 1, "maxProperties": 2 })),
        1 => Just(json!({ "required": ["a", "kind"] })),
        1 => Just(json!({ "dependentRequired": { "a": ["b"] } })),
    ];
    leaf.prop_recursive(3, 24, 4, |part| {
        let list = prop::collection::vec(part.clone(), 1..4);
        let with = |key: &'static str| part.clone().prop_map(move |part| json!({ key: part })).boxed();
        let each = |key: &'static str| list.clone().prop_map(move |list| json!({ key: list })).boxed();
        let named = |key: &'static str| object(part.clone()).prop_map(move |parts| json!({ key: parts })).boxed();
        let one = prop_oneof![
            3 => named("properties"),
            1 => (object(part.clone()), part.clone())
                .prop_map(|(parts, rest)| json!({ "properties": parts, "additionalProperties": rest })),
            1 => part.clone().prop_map(|part| json!({ "patternProperties": { "^[ab]$": part } })),
            1 => named("dependentSchemas"),
            1 => with("propertyNames"),
            1 => with("items"),
            1 => (list.clone(), part.clone()).prop_map(|(list, rest)| json!({ "prefixItems": list, "items": rest })),
            1 => (part.clone(), 0..2_u64).prop_map(|(part, least)| json!({ "contains": part, "minContains": least })),
            1 => each("allOf"),
            2 => each("anyOf"),
            2 => each("oneOf"),
            1 => with("not"),
            1 => (part.clone(), part.clone(), part.clone())
                .prop_map(|(one, two, three)| json!({ "if": one, "then": two, "else": three })),
            1 => with("unevaluatedProperties"),
            1 => with("unevaluatedItems"),
        ];
        let one = one.boxed();
        // Two sets of keywords in one schema.
        (one.clone(), one).prop_map(|(one, two)| match (one, two) {
            (Value::Object(mut one), Value::Object(two)) => {
                one.extend(two);
                Value::Object(one)
            }
            (one, _) => one,
        })
    })
}
