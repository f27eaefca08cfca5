//! Objects, lists, and many problems at once.

use serde_json::{Value, json};

use super::{kind, problems, says};
use crate::feedback::ProblemKind;

#[test]
fn null_for_what_can_be_left_out() {
    let schema = json!({ "properties": { "a": { "type": "string" }, "b": { "type": "string" } }, "required": ["b"] });
    let told: Vec<String> =
        problems(&schema, &json!({ "a": null, "b": null })).iter().map(ToString::to_string).collect();
    assert_eq!(told, ["`a`: expected a text, or no `a` at all, got null", "`b`: expected a text, got null"]);
}

#[test]
fn names() {
    let schema = json!({
        "type": "object",
        "properties": { "city": { "type": "string" }, "unit": { "enum": ["c", "f"] } },
        "required": ["city", "unit"],
        "additionalProperties": false,
    });
    let told = |value: Value| problems(&schema, &value).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(told(json!({})), ["`city`: missing: expected a text", r#"`unit`: missing: expected one of "c", "f""#]);
    assert_eq!(
        told(json!({ "ctiy": "Oslo", "unit": "c" })),
        ["`ctiy`: unknown name: expected `city`; did you mean `city`?"]
    );
    assert_eq!(
        told(json!({ "city": "Oslo", "unit": "c", "x": 1 })),
        ["`x`: unknown name: expected no more than `city` and `unit`"]
    );
    let open = json!({ "properties": { "city": { "type": "string" } }, "required": ["city"] });
    assert_eq!(
        problems(&open, &json!({ "ctiy": 1 }))[0].to_string(),
        "`city`: missing: expected a text, got the name `ctiy` instead"
    );
    assert_eq!(
        problems(&json!({ "additionalProperties": false }), &json!({ "x": 1 }))[0].expected,
        "an object without names"
    );
    assert_eq!(
        problems(&json!({ "propertyNames": { "pattern": "^[a-z]+$" } }), &json!({ "X": 1 }))[0].to_string(),
        "`X`: unknown name: expected names that are each a text that matches `^[a-z]+$`"
    );
    assert_eq!(
        problems(&json!({ "dependentRequired": { "a": ["b"] } }), &json!({ "a": 1 }))[0].to_string(),
        "`b`: missing: expected a value (required beside `a`)"
    );
}

#[test]
fn names_across_combined_schemas() {
    let schema = json!({
        "allOf": [{ "properties": { "city": { "type": "string" } }, "required": ["city"] }],
        "properties": { "unit": { "type": "string" } },
        "unevaluatedProperties": false,
    });
    let found = problems(&schema, &json!({ "unti": "c", "city": 1 }));
    let told: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            r#"`city`: expected a text, got 1; did you mean "1"?"#,
            "`unti`: unknown name: expected `unit`; did you mean `unit`?"
        ]
    );
    kind(json!({ "patternProperties": { "^x": { "type": "null" } } }), json!({ "x1": 1 }), ProblemKind::WrongType);
    kind(json!({ "dependentSchemas": { "a": { "required": ["b"] } } }), json!({ "a": 1 }), ProblemKind::Missing);
    kind(json!({ "minProperties": 1 }), json!({}), ProblemKind::WrongLength);
    says(
        json!({ "maxProperties": 1 }),
        json!({ "a": 1, "b": 2 }),
        &["`p`: expected an object of at most 1 name, got an object with `a` and `b`"],
    );
}

#[test]
fn lists() {
    says(json!({ "minItems": 2 }), json!([1]), &["`p`: expected a list of at least 2 items, got [1]"]);
    says(
        json!({ "items": { "type": "integer" }, "maxItems": 2 }),
        json!([1, 2, 3]),
        &["`p`: expected a list of at most 2 items, got [1, 2, 3]"],
    );
    says(
        json!({ "uniqueItems": true }),
        json!(["a", "b", "a"]),
        &[r#"`p`: expected a list whose items are all different, got "a" as items 0 and 2"#],
    );
    says(json!({ "items": { "type": "boolean" } }), json!([true, 1]), &["`p.1`: expected true or false, got 1"]);
    says(
        json!({ "items": { "type": "integer" } }),
        json!(["a", "b", "c", "d", "e"]),
        &[
            r#"`p.0`: expected a whole number, got "a""#,
            r#"`p.1`: expected a whole number, got "b""#,
            r#"`p.2`: expected a whole number, got "c" (and the same mistake in 2 more items)"#,
        ],
    );
    says(
        json!({ "prefixItems": [{}], "items": false }),
        json!([1, 2]),
        &["`p`: expected a list of at most 1 item, got [1, 2]"],
    );
    says(
        json!({ "contains": { "type": "string" } }),
        json!([1]),
        &["`p`: expected a list with at least 1 item that is a text, got 0 of 1 items"],
    );
    says(
        json!({ "contains": { "type": "integer" }, "maxContains": 1 }),
        json!([1, 2]),
        &["`p`: expected a list with at most 1 item that is a whole number, got 2 of 2 items"],
    );
    kind(json!({ "prefixItems": [{}], "unevaluatedItems": false }), json!([1, 2]), ProblemKind::WrongLength);
}

#[test]
fn each_mistake_once_in_the_order_of_the_schema_and_not_too_many() {
    let text = json!({ "type": "string" });
    let twice = json!({ "allOf": [text, text], "anyOf": [text] });
    says(twice, json!([]), &["`p`: expected a text, got an empty list"]);
    let names: Vec<String> = (0..80).map(|number| format!("n{number}")).collect();
    let properties: Value = names.iter().map(|name| (name.clone(), json!({ "type": "null" }))).collect();
    let values: Value = names.iter().rev().map(|name| (name.clone(), json!([]))).collect();
    let found = problems(&json!({ "properties": properties }), &values);
    assert_eq!(found.len(), 64);
    assert_eq!(found[0].path, "/n0");
    assert_eq!(found[62].path, "/n62");
    assert_eq!(found[63].to_string(), "expected the rest to fit too: 17 more problems are not listed");
}
