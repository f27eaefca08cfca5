//! The whole dialects accept what the original accepts.

use jsonschema::Draft;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::rewrite::{Version, rewrite, says_it_alike};
use crate::schema::{Dialect, Schema, Severity, dialect::Losses, testing};

/// Values of all kinds, some with the names and values that the schemas below use.
fn values() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(5),
        json!(5.5),
        json!(10),
        json!("a"),
        json!("abc"),
        json!([]),
        json!([1]),
        json!(["a", 1]),
        json!(["a", 1, 2]),
        json!(["a", 1, "b"]),
        json!([1, 1]),
        json!([1, 5, 5]),
        json!({}),
        json!({"a": 1}),
        json!({"a": "a"}),
        json!({"b": 1}),
        json!({"a": 1, "b": 1}),
        json!({"a": 1, "b": "b"}),
        json!({"a": 1, "b": 1, "c": 1}),
        json!({"c": 1}),
        json!({"a": {"a": {"a": 1}}}),
        json!({"a": {"a": {"a": "a"}}}),
        json!({"a": {"b": 1}}),
        json!({"x y": 1}),
    ]
}

/// Checks that `schema` and its form in both whole dialects agree; returns the worst loss in draft 7.
fn agree(schema: &Value) -> Option<Severity> {
    let original = jsonschema::validator_for(schema).unwrap();
    let schema = Schema::new(schema.clone());
    for (dialect, draft) in [(Dialect::JsonSchema2020, Draft::Draft202012), (Dialect::Draft07, Draft::Draft7)] {
        let lowered = schema.lowered(dialect);
        let text: Value = serde_json::from_str(lowered.json().get()).unwrap();
        let validator = jsonschema::options().with_draft(draft).build(&text).unwrap();
        let weaker = lowered.worst() >= Some(Severity::Weakened);
        for value in values() {
            let (before, after) = (original.is_valid(&value), validator.is_valid(&value));
            assert!(
                before == after || (weaker && after),
                "{dialect:?} {value}: {before}, then {after}\n{}\n{text}",
                schema.neutral()
            );
        }
    }
    schema.lowered(Dialect::Draft07).worst()
}

#[test]
fn schemas_of_2020() {
    for schema in [
        json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": {"type": "integer"}}),
        json!({"type": "array", "prefixItems": [{"type": "string"}], "unevaluatedItems": false}),
        json!({"type": "array", "unevaluatedItems": {"type": "integer"}}),
        json!({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"a": {"properties": {"b": {"type": "integer"}}}, "c": false}}),
        json!({"$ref": "#/$defs/x", "required": ["a"], "$defs": {"x": {"type": "object"}}}),
        json!({"$ref": "#/$defs/x", "$defs": {"x": {"properties": {"a": {"$ref": "#"}, "b": {"type": "string"}}}}}),
        json!({"$ref": "#tree", "$defs": {"x": {"$anchor": "tree", "properties": {"a": {"$ref": "#tree", "type": "object"}}}}}),
        json!({"properties": {"x y": {"$ref": "#/properties/a%20b"}, "a b": {"type": "string"}}}),
        json!({"prefixItems": [{"type": "string"}, {"$ref": "#/prefixItems/0"}]}),
        json!({"properties": {"a": {"type": "integer"}}, "unevaluatedProperties": false}),
        json!({"allOf": [{"properties": {"a": true}}, {"$ref": "#/$defs/x"}], "unevaluatedProperties": false, "$defs": {"x": {"properties": {"b": {"type": "integer"}}}}}),
        json!({"allOf": [{"additionalProperties": false}], "unevaluatedProperties": {"type": "integer"}, "additionalProperties": false}),
        json!({"contains": {"const": 1}, "minContains": 0}),
        json!({"contains": {"const": 1}, "minContains": 1}),
        json!({"$ref": "#/other/x", "other": {"x": {"type": "object", "properties": {"a": {"$ref": "#/other/x"}}}}}),
        json!({"$defs": {"x": {"type": "string"}}, "definitions": {"y": {"type": "object"}}, "anyOf": [{"$ref": "#/$defs/x"}, {"$ref": "#/definitions/y"}]}),
    ] {
        assert_eq!(agree(&schema), None, "{schema}");
    }
}

#[test]
fn what_draft_7_cannot_say_is_a_loss() {
    for schema in [
        json!({"contains": {"const": 5}, "minContains": 2}),
        json!({"contains": {"const": 1}, "maxContains": 1}),
        json!({"anyOf": [{"properties": {"a": true}, "required": ["a"]}, {"properties": {"b": true}}], "unevaluatedProperties": false}),
        json!({"anyOf": [{"additionalProperties": {"type": "integer"}, "required": ["a"]}, {"type": "object"}], "unevaluatedProperties": false}),
        json!({"allOf": [{"prefixItems": [true]}], "unevaluatedItems": false}),
    ] {
        assert_eq!(agree(&schema), Some(Severity::Weakened), "{schema}");
    }
}

#[test]
fn older_schemas() {
    let seven = "http://json-schema.org/draft-07/schema#";
    let four = "http://json-schema.org/draft-04/schema#";
    let nineteen = "https://json-schema.org/draft/2019-09/schema";
    for schema in [
        json!({"$schema": seven, "items": [{"type": "string"}], "additionalItems": {"type": "integer"}}),
        json!({"$schema": seven, "dependencies": {"a": ["b"], "c": {"required": ["a"]}}}),
        json!({"$schema": seven, "$ref": "#/definitions/x", "type": "string", "definitions": {"x": {"type": "object"}}}),
        json!({"$schema": seven, "properties": {"a": {"$ref": "#/definitions/x"}}, "definitions": {"x": {"type": "integer"}}}),
        json!({"$schema": four, "minimum": 5, "exclusiveMinimum": true, "maximum": 10, "exclusiveMaximum": false}),
        json!({"$schema": nineteen, "items": [{"type": "string"}], "additionalItems": false}),
        json!({"$schema": nineteen, "properties": {"a": {"$recursiveRef": "#"}, "b": {"type": "string"}}}),
    ] {
        assert_eq!(agree(&schema), None, "{schema}");
    }
}

#[test]
fn most_schemas_are_draft_7_already() {
    let alike = json!({"type": "object", "properties": {"type": {"enum": [1]}, "$ref": {"items": {"not": false}}}});
    assert!(says_it_alike(&alike));
    for other in [
        json!({"items": [{"type": "string"}]}),
        json!({"anyOf": [{"prefixItems": [true]}]}),
        json!({"properties": {"a": {"$ref": "#"}}}),
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "string"}),
        json!({"additionalProperties": {"unevaluatedProperties": false}}),
    ] {
        assert!(!says_it_alike(&other), "{other}");
    }
}

proptest! {
    #[test]
    fn what_draft_7_says_alike_is_not_rewritten(root in testing::schema()) {
        for one in [&root["$defs"]["one"], &root["$defs"]["two"]] {
            if says_it_alike(one) {
                let (rewritten, losses) = rewrite(one, Version::Seven, Losses::default());
                prop_assert_eq!(rewritten.to_string(), one.to_string());
                prop_assert_eq!(losses.into_vec(), []);
            }
        }
    }
}
