//! The forms of a schema in each dialect, and their losses.

use serde_json::{Map, Value, json};

use crate::schema::{Dialect, Schema, Severity};

fn lowered(schema: &Value, dialect: Dialect) -> Value {
    serde_json::from_str(Schema::new(schema.clone()).lowered(dialect).json().get()).unwrap()
}

/// Returns the lowered form of one optional property `x`.
#[expect(clippy::needless_pass_by_value, reason = "they are written out at the call")]
fn property(schema: Value, definitions: Value, dialect: Dialect) -> Value {
    let schema = json!({"type": "object", "properties": {"x": schema}, "$defs": definitions});
    lowered(&schema, dialect)["properties"]["x"].clone()
}

fn losses(schema: &Value, dialect: Dialect) -> Vec<(String, String, Severity)> {
    let schema = Schema::new(schema.clone());
    let lowered = schema.lowered(dialect);
    lowered.losses().iter().map(|loss| (loss.path.clone(), loss.keyword.clone(), loss.severity)).collect()
}

#[test]
fn openai_requires_everything_and_makes_the_optional_nullable() {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 1, "maxLength": 50, "description": "The city."},
            "days": {"type": "integer", "minimum": 1, "default": 3},
            "unit": {"enum": ["c", "f"]},
            "note": {"type": ["string", "null"]},
        },
        "required": ["city"],
    });
    assert_eq!(
        lowered(&schema, Dialect::OpenAiStrict),
        json!({
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "The city. (1 to 50 characters)"},
                "days": {"type": ["integer", "null"], "description": "(default: 3)", "minimum": 1},
                "unit": {"type": ["string", "null"], "enum": ["c", "f", null]},
                "note": {"type": ["string", "null"]},
            },
            "required": ["city", "days", "unit", "note"],
            "additionalProperties": false,
        })
    );
    assert_eq!(
        losses(&schema, Dialect::OpenAiStrict),
        [
            ("/properties/city".to_owned(), "minLength".to_owned(), Severity::Weakened),
            ("/properties/city".to_owned(), "maxLength".to_owned(), Severity::Weakened),
            ("/properties/days".to_owned(), "default".to_owned(), Severity::Annotation),
        ]
    );
}

#[test]
fn openai_keeps_references_and_circles() {
    let tree = json!({"Tree": {
        "type": "object",
        "properties": {"left": {"$ref": "#/$defs/Tree"}, "right": {"$ref": "#/$defs/Tree", "description": "r"}},
    }});
    let schema =
        json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/Tree"}}, "required": ["x"], "$defs": tree});
    let out = lowered(&schema, Dialect::OpenAiStrict);
    assert_eq!(out["properties"]["x"], json!({"$ref": "#/$defs/Tree"}));
    let left = json!({"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}]});
    assert_eq!(out["$defs"]["Tree"]["properties"]["left"], left);
    assert_eq!(Schema::new(schema).lowered(Dialect::OpenAiStrict).worst(), Some(Severity::Annotation));
}

#[test]
fn what_cannot_be_said_rules_strictness_out() {
    for (schema, keyword) in [
        (json!({"type": "object", "additionalProperties": {"type": "integer"}}), "additionalProperties"),
        (json!({"type": "object"}), "properties"),
        (
            json!({"type": "object", "additionalProperties": false, "patternProperties": {"^a": {}}}),
            "additionalProperties",
        ),
        (json!(true), "type"),
        (json!({"description": "anything"}), "type"),
    ] {
        let whole = json!({"type": "object", "properties": {"x": schema}});
        for dialect in [Dialect::OpenAiStrict, Dialect::Anthropic] {
            let expected = ("/properties/x".to_owned(), keyword.to_owned(), Severity::Inexpressible);
            assert!(losses(&whole, dialect).contains(&expected), "{whole}");
        }
        assert!(Schema::new(whole).lowered(Dialect::Gemini).worst() < Some(Severity::Inexpressible));
    }
    for dialect in [Dialect::OpenAiStrict, Dialect::Anthropic] {
        assert_eq!(losses(&json!({"type": "object"}), dialect), [], "a tool without arguments");
    }
}

#[test]
fn sizes_are_counted() {
    let many = |count: usize| {
        let properties: Map<_, _> = (0..count).map(|i| (format!("p{i}"), json!({"type": "string"}))).collect();
        json!({"type": "object", "properties": properties})
    };
    assert_eq!(losses(&many(24), Dialect::Anthropic), []);
    assert_eq!(
        losses(&many(25), Dialect::Anthropic),
        [(String::new(), "required".to_owned(), Severity::Inexpressible)]
    );
    assert_eq!(losses(&many(5_000), Dialect::OpenAiStrict), []);
    assert_eq!(losses(&many(5_001), Dialect::OpenAiStrict).len(), 1);
    let deep = |levels: usize| {
        (0..levels).fold(json!({"type": "string"}), |inner, _| json!({"type": "object", "properties": {"x": inner}}))
    };
    assert_eq!(losses(&deep(10), Dialect::OpenAiStrict), []);
    assert_eq!(losses(&deep(11), Dialect::OpenAiStrict).len(), 1);
    let values: Vec<String> = (0..1_001).map(|i| i.to_string()).collect();
    let listed = json!({"type": "object", "properties": {"x": {"enum": values}}, "required": ["x"]});
    assert_eq!(losses(&listed, Dialect::OpenAiStrict).len(), 1);
}

#[test]
fn what_holds_at_once_is_brought_together() {
    let out = property(
        json!({"allOf": [{"$ref": "#/$defs/Base"}, {"properties": {"a": {"maximum": 5}}, "required": ["a"]}, {"description": "d"}]}),
        json!({"Base": {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1, "maximum": 9}, "b": {"type": "string"}}}}),
        Dialect::Anthropic,
    );
    let expected = json!({
        "type": "object",
        "description": "d",
        "properties": {"a": {"type": "integer", "description": "(1 to 5)"}, "b": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": false,
    });
    assert_eq!(out, expected);
    // Siblings of a union hold in each branch; kinds that no branch leaves open are gone.
    let union = json!({"type": ["string", "integer"], "minLength": 1, "anyOf": [{"pattern": "^a"}, {"type": "integer"}, {"type": "array"}]});
    let out = property(union, json!({}), Dialect::OpenAiStrict);
    assert_eq!(
        out["anyOf"],
        json!([{"type": ["string", "null"], "description": "(at least 1 character)", "pattern": "^a"}, {"type": "integer"}])
    );
}

#[test]
fn a_closed_schema_closes_those_beside_it() {
    let schema = json!({"type": "object", "allOf": [
        {"properties": {"a": {"type": "string"}}, "additionalProperties": false},
        {"properties": {"a": {"maxLength": 1}, "b": {"type": "string"}}},
    ]});
    assert_eq!(
        lowered(&schema, Dialect::Gemini)["properties"],
        json!({"a": {"type": "string", "description": "(at most 1 character)"}})
    );
}

#[test]
fn branches_that_exclude_each_other_lose_nothing() {
    let tagged = |a: &str, b: &str| {
        let branch =
            |kind: &str| json!({"type": "object", "properties": {"kind": {"const": kind}}, "required": ["kind"]});
        json!({"type": "object", "properties": {"x": {"oneOf": [branch(a), branch(b)]}}, "required": ["x"]})
    };
    assert_eq!(losses(&tagged("a", "b"), Dialect::OpenAiStrict), []);
    assert_eq!(losses(&tagged("a", "a"), Dialect::OpenAiStrict)[0].1, "oneOf");
}

#[test]
fn names_that_fit_a_pattern_become_any_names() {
    let by_number =
        json!({"type": "object", "patternProperties": {"^\\d+$": {"type": "string"}}, "additionalProperties": false});
    let map = property(by_number, json!({}), Dialect::Gemini);
    assert_eq!(map, json!({"type": "object", "propertyOrdering": [], "additionalProperties": {"type": "string"}}));
}

#[test]
fn gemini_gets_types_only() {
    let circle = json!({"type": "object", "description": "Round.", "properties": {"kind": {"const": "circle"}, "radius": {"type": "number", "exclusiveMinimum": 0}}, "required": ["kind", "radius"]});
    let square = json!({"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "integer", "exclusiveMinimum": 0}}, "required": ["kind", "side"]});
    let united = json!({
        "type": ["object", "null"],
        "properties": {
            "kind": {"type": "string", "description": "- `circle`: Round.", "enum": ["circle", "square"]},
            "radius": {"type": "number", "description": "(for kind \"circle\"; more than 0)", "minimum": 0},
            "side": {"type": "integer", "description": "(for kind \"square\")", "minimum": 1},
        },
        "required": ["kind"],
        "propertyOrdering": ["kind", "radius", "side"],
    });
    assert_eq!(property(json!({"oneOf": [circle, square, {"type": "null"}]}), json!({}), Dialect::Gemini), united);
    let number = property(json!({"enum": [1, 2]}), json!({}), Dialect::Gemini);
    assert_eq!(number, json!({"type": "integer", "description": "(one of 1, 2)"}));
    let mixed = property(json!({"type": ["string", "integer"]}), json!({}), Dialect::Gemini);
    assert_eq!(mixed, json!({"type": "string"}));
}

#[test]
fn circles_are_cut_after_documented_turns() {
    let tree = json!({"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}, "required": ["kids"]});
    let gemini = lowered(&tree, Dialect::Gemini);
    assert_eq!(
        gemini.pointer("/properties/kids/items/properties/kids/items/properties/kids/items"),
        Some(&json!({"type": "object", "description": "(again like the whole)", "propertyOrdering": []}))
    );
    assert_eq!(
        losses(&tree, Dialect::Gemini),
        [("/properties/kids/items".to_owned(), "$ref".to_owned(), Severity::Weakened)]
    );
    assert_eq!(losses(&tree, Dialect::Anthropic)[0].2, Severity::Inexpressible);
    for endless in
        [json!({"$ref": "#"}), json!({"allOf": [{"$ref": "#"}]}), json!({"anyOf": [{"$ref": "#"}, {"type": "object"}]})]
    {
        for dialect in Dialect::ALL {
            lowered(&endless, dialect);
        }
    }
}

#[test]
fn unknown_references_are_left_out_with_a_loss() {
    let schema = json!({"type": "object", "properties": {"x": {"$ref": "https://example.com/x.json"}, "y": {"type": "string", "$ref": "#/nowhere"}}});
    for dialect in [Dialect::Draft07, Dialect::OpenAiStrict, Dialect::Gemini, Dialect::Anthropic] {
        assert!(!lowered(&schema, dialect).to_string().contains("$ref"), "{dialect:?}");
        let found = losses(&schema, dialect);
        assert!(found.contains(&("/properties/y".to_owned(), "$ref".to_owned(), Severity::Weakened)), "{found:?}");
    }
}
