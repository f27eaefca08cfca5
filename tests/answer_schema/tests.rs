//! Tests of the values that the schemas of answers accept and refuse, and of the sizes of these schemas.

use serde_json::{Value, json};
use tool_schema::schema::{
    CompiledSchema, Schema,
    answer::{Form, collisions},
};

use super::*;

fn validator(schema: &Value) -> CompiledSchema {
    let validator = CompiledSchema::compile(schema).unwrap_or_else(|error| panic!("{error}\n{schema:#}"));
    assert!(validator.warnings().is_empty(), "{:?}", validator.warnings());
    validator
}

#[track_caller]
fn check(schema: &Value, accepted: &[Value], refused: &[Value]) {
    let validator = validator(schema);
    for value in accepted {
        assert!(validator.is_valid(value), "refused: {value}\n{:?}", validator.problems(value, ""));
    }
    for value in refused {
        assert!(!validator.is_valid(value), "accepted: {value}\n{schema:#}");
    }
}

fn normalized(name: &str, value: impl Into<Value>) -> Value {
    json!({ "ok": false, "validationResults": { name: { "valid": true, "normalizedValue": value.into() } } })
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[allow(dead_code)]
struct Tree {
    /// A schema that is too long to be repeated, so that a reference replaces it.
    #[schemars(length(min = 1, max = 1000), regex(pattern = "^[a-z]+ [a-z]+$"))]
    name: String,
    children: Vec<Tree>,
    leaf: Leaf,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[allow(dead_code)]
struct Leaf {
    #[serde(rename = "the/colour of~a leaf")]
    colour: u8,
    next: Option<Box<Leaf>>,
}

fn tree() -> Value {
    Schema::from_schemars(schemars::schema_for!(Tree)).neutral().clone()
}

#[test]
fn a_rejection_has_a_reason() {
    let input = json!({ "type": "object", "properties": { "seats": { "type": "integer" } }, "required": ["seats"] });
    let output = json!({ "type": "object", "properties": { "id": { "type": "string" } }, "required": ["id"] });
    let full = json!({ "seats": { "valid": false, "problems": ["only 2 are left"], "allowedValues": [1, 2] } });
    check(
        &answer_schema(&input, Some(&output), &[]),
        &[json!({ "ok": true, "id": "AB12" }), json!({ "ok": false, "validationResults": full })],
        &[json!({ "ok": false })],
    );
}

#[test]
fn references_of_the_input_still_lead_somewhere() {
    let schema = answer_schema(&tree(), None, &[]);
    let leaf = json!({ "the/colour of~a leaf": 3, "next": { "the/colour of~a leaf": 4 } });
    let child = json!({ "name": "a b", "children": [], "leaf": leaf });
    check(
        &schema,
        &[
            normalized("name", json!("ash tree")),
            normalized("children", json!([child.clone()])),
            normalized("leaf", leaf.clone()),
        ],
        &[
            normalized("name", json!("ash")),
            normalized("children", json!([{ "name": "a b", "children": [{}], "leaf": leaf }])),
            normalized("leaf", json!({ "the/colour of~a leaf": 300 })),
            normalized("leaf", json!({ "the/colour of~a leaf": 3, "next": { "the/colour of~a leaf": "x" } })),
        ],
    );
}

#[test]
fn nested_parameters_have_dotted_names_and_references_of_the_input() {
    let more = json!({ "$ref": "#/$defs/Leaf", "description": "where the tree ends" });
    let short = json!({ "type": "boolean" });
    let more = [("leaf.next", &more), ("leaf.is %", &short)];
    let schema = answer_schema(&tree(), None, &more);
    let waits = |first: &str| {
        let waits = json!({ "valid": false, "requiresValidParameters": [first] });
        json!({ "ok": false, "validationResults": { "leaf.next": waits } })
    };
    check(
        &schema,
        &[
            normalized("leaf.next", json!({ "the/colour of~a leaf": 4 })),
            normalized("leaf.is %", json!(true)),
            waits("leaf.is %"),
            waits("name"),
            // A mistake inside a value that is an object or a list.
            json!({ "ok": false, "validationResults": { "leaf.other": { "valid": false, "problems": ["missing"] } } }),
        ],
        &[
            normalized("leaf.next", json!({ "the/colour of~a leaf": "x" })),
            normalized("leaf.is %", json!(1)),
            normalized("leafs.other", json!(1)),
            normalized("name.other", json!(1)),
            waits("leaf.other"),
        ],
    );
    // A union has no parameters of its own. With given names, it has reports like a struct.
    let union = json!({ "anyOf": [{ "properties": { "a": {} } }, { "properties": { "b": {} } }] });
    let schema = answer_schema(&union, None, &[("a", &short)]);
    check(&schema, &[normalized("a", json!(true))], &[normalized("b", json!(true))]);
}

#[test]
fn an_input_behind_a_reference_is_a_struct_too() {
    let input = json!({ "$ref": "#/$defs/Tree", "$defs": {
        "Tree": { "type": "object", "properties": { "next": { "$ref": "#" }, "n": { "type": "integer", "minimum": 0, "maximum": 99999 } } },
    }});
    check(
        &answer_schema(&input, None, &[]),
        &[normalized("next", json!({ "next": {}, "n": 1 })), normalized("n", json!(1))],
        &[normalized("next", json!({ "next": { "n": -1 } })), normalized("n", json!(-1))],
    );
}

#[test]
fn a_document_with_a_name_is_moved() {
    let input = json!({ "$id": "https://example.com/input", "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object", "properties": { "a": { "$ref": "#/$defs/n" }, "b": { "$ref": "https://example.com/input#/$defs/n" } },
        "$defs": { "n": { "type": "integer" } } });
    let (a, b) = (normalized("a", json!(1)), normalized("b", json!(1)));
    let schema = answer_schema(&input, Some(&input), &[]);
    check(&schema, &[a, b], &[normalized("a", json!("x")), normalized("b", json!("x"))]);
}

#[test]
fn texts_for_readers_stay_with_the_input_and_the_output() {
    let input = json!({ "type": "object", "properties": {
        "a": { "description": "SECRET", "type": "integer", "minimum": 100_000, "maximum": 1_000_000_000 },
    }});
    let output = json!({ "type": "object", "properties": { "b": { "description": "KEPT", "type": "integer" } } });
    let text = answer_schema(&input, Some(&output), &[]).to_string();
    assert!(text.contains("KEPT") && !text.contains("SECRET"), "{text}");
}

#[test]
fn it_is_small() {
    // Names have 12 letters, and schemas are those of usual parameters.
    let kinds = [
        json!({ "type": "string", "description": "Where the journey begins, as the name of a city." }),
        json!({ "type": "integer", "minimum": 0, "maximum": 255 }),
        json!({ "type": "string", "enum": ["economy", "premium economy", "business", "first"] }),
        json!({ "type": "array", "items": { "type": "string", "minLength": 1, "maxLength": 100 }, "maxItems": 20 }),
        json!({ "type": "object", "properties": { "from": { "type": "string", "format": "date" }, "to": { "type": "string", "format": "date" } }, "required": ["from", "to"], "additionalProperties": false }),
    ];
    for count in 1..=40 {
        let mut input = json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
        for number in 0..count {
            let name = format!("parameter_{number:02}");
            input["properties"][&name] = kinds[number % kinds.len()].clone();
            input["required"].as_array_mut().expect("a list").push(name.into());
        }
        let schema = answer_schema(&input, Some(&input), &[]);
        let most = 2048 + 512 * count;
        let size = schema.to_string().len();
        assert!(size <= most, "{count} parameters: {size} bytes, allowed are {most}");
        let reports = answer_schema(&input, None, &[]).to_string().len();
        assert!(reports <= 1400 + 400 * count, "{count} parameters, no output: {reports} bytes");
        validator(&schema);
    }
}

#[test]
fn a_struct_is_merged_with_all_that_it_flattens() {
    #[derive(serde::Serialize, schemars::JsonSchema)]
    #[allow(dead_code)]
    struct Whole {
        id: u8,
        #[serde(flatten)]
        part: Part,
        #[serde(flatten)]
        kind: Kind,
        leaf: Leaf2,
    }
    #[derive(serde::Serialize, schemars::JsonSchema)]
    struct Part {
        note: Option<String>,
    }
    #[derive(serde::Serialize, schemars::JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[allow(dead_code)]
    enum Kind {
        Paid { sum: u8 },
        Open { until: u8 },
    }
    #[derive(serde::Serialize, schemars::JsonSchema)]
    struct Leaf2 {
        n: u8,
    }
    let output = Schema::from_schemars(schemars::schema_for!(Whole)).neutral().clone();
    assert_eq!(Form::of(Some(&output)), Form::Merged);
    assert!(collisions(&output).is_empty());
    let paid = json!({ "sum": 1 });
    check(
        &success_schema(Some(&output)),
        &[
            json!({ "ok": true, "id": 1, "note": "x", "paid": paid, "leaf": { "n": 1 } }),
            json!({ "ok": true, "id": 1, "paid": paid, "leaf": { "n": 1 }, "feedback": ["x"] }),
        ],
        &[
            json!({ "ok": true, "id": 1, "leaf": { "n": 1 } }),
            json!({ "ok": true, "id": 1, "paid": paid, "leaf": { "n": 1 }, "problems": ["x"] }),
            json!({ "ok": true, "id": 1, "paid": paid, "leaf": { "n": "x" } }),
            json!({ "ok": false, "id": 1, "paid": paid, "leaf": { "n": 1 } }),
            json!({ "id": 1, "paid": paid, "leaf": { "n": 1 } }),
            json!({ "ok": true, "id": 1, "paid": paid, "leaf": { "n": 1 }, "feedback": [] }),
        ],
    );
}

#[test]
fn a_map_is_wrapped_and_one_that_is_flattened_stays_open() {
    let map = json!({ "type": "object", "additionalProperties": { "type": "integer" } });
    check(&success_schema(Some(&map)), &[json!({ "ok": true, "value": { "a": 1 } })], &[json!({ "ok": true, "a": 1 })]);
    let with_map = json!({ "type": "object", "properties": { "id": { "type": "string" } },
        "additionalProperties": { "type": "integer" } });
    check(
        &success_schema(Some(&with_map)),
        &[json!({ "ok": true, "id": "x", "a": 1, "feedback": ["x"] })],
        &[json!({ "ok": true, "id": "x", "a": "b" })],
    );
}

#[test]
fn outputs_behind_references_are_merged_or_wrapped_by_what_they_are() {
    let output = json!({ "$ref": "#/$defs/Receipt", "$defs": {
        "Receipt": { "type": "object", "properties": { "id": { "$ref": "#/$defs/Id" } }, "required": ["id"], "additionalProperties": false },
        "Id": { "type": "integer" },
    }});
    check(
        &success_schema(Some(&output)),
        &[json!({ "ok": true, "id": 1 })],
        &[json!({ "ok": true, "id": "x" }), json!({ "ok": true })],
    );
    let list = json!({ "type": "array", "items": { "$ref": "#/$defs/Id" }, "$defs": { "Id": { "type": "integer" } } });
    check(
        &success_schema(Some(&list)),
        &[json!({ "ok": true, "value": [1] })],
        &[json!({ "ok": true, "value": ["x"] }), json!({ "ok": true })],
    );
    let node = json!({ "type": "object", "properties": { "next": { "$ref": "#" } }, "additionalProperties": false });
    check(
        &success_schema(Some(&node)),
        &[json!({ "ok": true, "next": { "next": {} } })],
        &[json!({ "ok": true, "next": { "ok": true } })],
    );
}

#[test]
fn an_empty_output_has_no_value() {
    for output in
        [None, Some(json!(false)), Some(json!({ "not": {} })), Some(json!({ "type": "object", "properties": {} }))]
    {
        let values = [json!(null), json!({}), json!(1)].map(|value| json!({ "ok": true, "value": value }));
        let schema = success_schema(output.as_ref());
        check(&schema, &[json!({ "ok": true }), json!({ "ok": true, "feedback": ["x"] })], &values);
    }
    let unit = Schema::from_schemars(schemars::schema_for!(()));
    check(
        &success_schema(Some(unit.neutral())),
        &[json!({ "ok": true }), json!({ "ok": true, "value": null })],
        &[json!({ "ok": true, "value": 1 })],
    );
}

#[test]
fn circles_end() {
    let twice = json!({ "type": "object", "properties": { "id": {} }, "allOf": [{ "$ref": "#" }, { "$ref": "#" }] });
    assert!(success_schema(Some(&twice)).is_object());
    let mut deep = json!({ "type": "object", "properties": { "n": {} } });
    for _ in 0..200 {
        deep = json!({ "type": "object", "properties": { "n": deep }, "allOf": [{ "properties": { "m": {} } }] });
    }
    assert!(answer_schema(&deep, Some(&deep), &[]).is_object());
}
