//! `anyOf`, `oneOf`, `not`, `if` and references.

use serde_json::json;

use super::{kind, problems, says};
use crate::feedback::ProblemKind;

#[test]
fn alternatives_by_tag_key_and_type() {
    let tagged = json!({ "oneOf": [
        { "properties": { "type": { "const": "circle" }, "r": { "type": "number" } }, "required": ["type", "r"] },
        { "properties": { "type": { "const": "square" }, "side": { "type": "number" } }, "required": ["type", "side"] },
    ] });
    says(tagged.clone(), json!({ "type": "square", "r": 1 }), &["`p.side`: missing: expected a number"]);
    says(
        tagged.clone(),
        json!({ "type": "sqare", "side": 1 }),
        &[r#"`p.type`: expected one of "circle", "square", got "sqare"; did you mean "square"?"#],
    );
    says(tagged, json!({ "side": 1 }), &[r#"`p.type`: missing: expected one of "circle", "square""#]);

    let external = json!({ "oneOf": [
        { "type": "string", "enum": ["empty"] },
        { "type": "object", "properties": { "circle": { "type": "object", "properties": { "r": { "type": "number" } }, "required": ["r"] } },
          "required": ["circle"], "additionalProperties": false },
        { "type": "object", "properties": { "square": { "type": "number" } }, "required": ["square"], "additionalProperties": false },
    ] });
    says(external.clone(), json!({ "circle": {} }), &["`p.circle.r`: missing: expected a number"]);
    says(
        external.clone(),
        json!({ "sqare": 1 }),
        &["`p.sqare`: unknown name: expected one of `circle` or `square`; did you mean `square`?"],
    );
    says(
        external,
        json!("emty"),
        &[r#"`p`: expected one of "empty", got "emty"; did you mean "empty"?"#]
            .map(|_| r#"`p`: expected "empty", an object with `circle` or an object with `square`, got "emty"; did you mean "empty"?"#),
    );

    let untagged =
        json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "array", "items": { "type": "integer" } }] });
    says(untagged.clone(), json!(0), &["`p`: expected a whole number of at least 1, got 0"]);
    says(untagged.clone(), json!(["x"]), &[r#"`p.0`: expected a whole number, got "x""#]);
    says(untagged, json!(true), &["`p`: expected a whole number of at least 1 or a list of whole numbers, got true"]);
}

#[test]
fn alternatives_by_likeness() {
    let by_name = json!({ "anyOf": [
        { "properties": { "id": { "type": "integer" } }, "required": ["id"] },
        { "properties": { "name": { "type": "string" }, "age": { "type": "integer" } }, "required": ["name", "age"] },
    ] });
    says(by_name.clone(), json!({ "name": "Ann", "age": "x" }), &[r#"`p.age`: expected a whole number, got "x""#]);
    says(by_name, json!({ "other": 1 }), &["`p.id`: missing: expected a whole number"]);
    let alike = json!({ "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] });
    says(alike, json!({}), &["`p`: expected an object with `a` or an object with `b`, got an empty object"]);
}

#[test]
fn more_than_one_alternative() {
    let both = json!({ "oneOf": [{ "type": "integer" }, { "minimum": 0 }] });
    says(
        both,
        json!(1),
        &[
            "`p`: expected only one of 2 alternatives to fit, got 1, which is both a whole number and a number of at least 0",
        ],
    );
    says(
        json!({ "not": { "type": "null" } }),
        json!(null),
        &["`p`: expected anything but null, or no `p` at all, got null"],
    );
    says(
        json!({ "if": { "type": "string" }, "then": { "minLength": 2 }, "else": { "type": "integer" } }),
        json!("a"),
        &[r#"`p`: expected a text of at least 2 characters, got "a" of 1 character"#],
    );
    kind(json!(false), json!(1), ProblemKind::NotAllowed);
}

#[test]
fn references_by_anchor_and_resource() {
    for (definition, reference) in [
        (json!({ "$anchor": "t", "type": "string" }), "#t"),
        (json!({ "$id": "https://example.com/t", "type": "string" }), "https://example.com/t"),
        (
            json!({ "$id": "https://example.com/t", "$defs": { "i": { "type": "string" } } }),
            "https://example.com/t#/$defs/i",
        ),
        (json!({ "a b": { "type": "string" } }), "#/$defs/d/a%20b"),
    ] {
        let schema = json!({ "$defs": { "d": definition }, "properties": { "p": { "$ref": reference } } });
        let found = problems(&schema, &json!({ "p": 1 }));
        assert_eq!(found[0].to_string(), r#"`p`: expected a text, got 1; did you mean "1"?"#, "{reference}");
    }
    let dynamic = json!({ "$dynamicAnchor": "node", "properties": { "next": { "$dynamicRef": "#node" }, "v": { "type": "integer" } } });
    assert_eq!(problems(&dynamic, &json!({ "next": { "next": { "v": "x" } } }))[0].path, "/next/next/v");
}
