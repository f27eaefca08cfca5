//! Tests of the forms and losses of a schema in each dialect. Complete dialects accept the same values as the original, and
//! untrusted schemas do no harm.

use jsonschema::Draft;
use proptest::prelude::*;
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
fn limits_that_grammar_decoders_refuse_become_words() {
    for (schema, expected) in [
        (json!({"type": "integer", "minimum": 0, "maximum": u64::MAX}), json!({"type": "integer", "minimum": 0})),
        (json!({"type": "integer", "minimum": i64::MIN, "maximum": i64::MAX}), json!({"type": "integer"})),
        (
            json!({"type": "integer", "maximum": 9_007_199_254_740_993_u64}),
            json!({"type": "integer", "description": "(at most 9007199254740993)"}),
        ),
        (
            json!({"type": "integer", "exclusiveMinimum": 1.5, "exclusiveMaximum": 10, "minimum": 1}),
            json!({"type": "integer", "minimum": 2, "maximum": 9}),
        ),
        (json!({"type": "number", "maximum": 1e300}), json!({"type": "number", "description": "(at most 1e+300)"})),
        (
            json!({"type": "array", "items": {"type": "string"}, "minItems": 0, "maxItems": 1_001}),
            json!({"type": "array", "description": "(at most 1001 items)", "items": {"type": "string"}}),
        ),
        (json!({"type": "string", "format": "hostname"}), json!({"type": "string", "description": "(a host name)"})),
        (
            json!({"type": "string", "format": "date", "pattern": "^a$"}),
            json!({"type": "string", "description": "(a date such as 2025-01-31)", "pattern": "^a$"}),
        ),
        (
            json!({"type": "string", "format": "date", "pattern": "a"}),
            json!({"type": "string", "description": "(must match a)", "format": "date"}),
        ),
    ] {
        let whole = json!({"type": "object", "properties": {"x": schema}, "required": ["x"]});
        assert_eq!(lowered(&whole, Dialect::OpenAiStrict)["properties"]["x"], expected, "{schema}");
    }
    let whole = json!({"type": "object", "properties": {"x": {"type": "integer", "maximum": u64::MAX}}});
    let lost = ("/properties/x".to_owned(), "maximum".to_owned(), Severity::Weakened);
    assert_eq!(losses(&whole, Dialect::OpenAiStrict), [lost]);
}

#[test]
fn openai_keeps_references_and_recursion() {
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
fn inexpressible_parts_rule_out_strictness() {
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
fn a_schema_over_a_size_limit_of_a_provider_is_a_loss() {
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
fn simultaneous_constraints_are_merged() {
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
    // The siblings of a union hold in each branch. Kinds without a branch disappear.
    let union = json!({"type": ["string", "integer"], "minLength": 1, "anyOf": [{"pattern": "^a$"}, {"type": "integer"}, {"type": "array"}]});
    let out = property(union, json!({}), Dialect::OpenAiStrict);
    assert_eq!(
        out["anyOf"],
        json!([{"type": ["string", "null"], "description": "(at least 1 character)", "pattern": "^a$"}, {"type": "integer"}])
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
    let expected = json!({
        "type": "object",
        "description": "(names match ^\\d+$)",
        "propertyOrdering": [],
        "additionalProperties": {"type": "string"},
    });
    assert_eq!(map, expected);
}

#[test]
fn gemini_gets_one_object_for_a_union_and_types_for_mixed_values() {
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
fn recursion_is_cut_with_a_loss() {
    let tree = json!({"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}, "required": ["kids"]});
    let gemini = lowered(&tree, Dialect::Gemini);
    assert_eq!(
        gemini.pointer("/properties/kids/items/properties/kids/items/properties/kids/items"),
        Some(&json!({"type": "object", "description": "(the same schema as the whole input)", "propertyOrdering": []}))
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

/// Returns values of all kinds. Some have names and values from the schemas below.
fn values() -> Vec<Value> {
    let values = json!([
        null, true, 0, 5, 5.5, 10, "a", "abc",
        [], [1], ["a", 1], ["a", 1, 2], ["a", 1, "b"], [1, 1], [1, 5, 5],
        {}, {"a": 1}, {"a": "a"}, {"b": 1}, {"a": 1, "b": 1}, {"a": 1, "b": "b"}, {"a": 1, "b": 1, "c": 1}, {"c": 1},
        {"a": {"a": {"a": 1}}}, {"a": {"a": {"a": "a"}}}, {"a": {"b": 1}}, {"x y": 1},
    ]);
    values.as_array().cloned().unwrap()
}

/// Asserts that `schema` and its forms in both complete dialects agree. Returns the worst loss in draft 7.
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
fn schemas_of_2020_keep_their_meaning() {
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
fn missing_features_of_draft_7_are_losses() {
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
fn older_schemas_keep_their_meaning() {
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
fn keywords_of_later_drafts_mean_nothing() {
    let schema = json!({"$schema": "http://json-schema.org/draft-07/schema#", "anyOf": [{"type": "object"}],
        "dependentSchemas": {"kind": {"type": "string"}}, "unevaluatedProperties": {"type": "string"}});
    for dialect in Dialect::ALL {
        let form = lowered(&schema, dialect).to_string();
        assert!(!form.contains("string") && !form.contains("kind"), "{dialect:?}: {form}");
    }
}

#[test]
fn hostile_schemas_end() {
    // Inlined, this would be 2^60 schemas.
    let mut definitions = Map::new();
    for i in 0..60 {
        let next = json!({"$ref": format!("#/$defs/d{}", i + 1), "description": "x"});
        definitions.insert(format!("d{i}"), json!({"type": "object", "properties": {"a": next, "b": next}}));
    }
    definitions.insert("d60".to_owned(), json!({"type": "string"}));
    let wide = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
    let mut deep = json!({"type": "string"});
    for _ in 0..50_000 {
        deep = Value::Object(Map::from_iter([("items".to_owned(), deep)]));
    }
    let deep = Schema::new(deep);
    for dialect in Dialect::ALL {
        let text = Schema::new(wide.clone()).lowered(dialect).json().get().to_owned();
        assert!(text.len() < 500_000, "{dialect:?} made {} of it", text.len());
        serde_json::from_str::<Value>(deep.lowered(dialect).json().get()).unwrap();
        assert!(deep.lowered(dialect).worst() >= Some(Severity::Weakened));
    }
    // Dropping the value would overflow the stack.
    std::mem::forget(deep);
}

const WORDS: &str = "
    type enum const properties required additionalProperties items prefixItems anyOf oneOf allOf not if $ref $defs
    definitions minimum maxLength minItems exclusiveMinimum pattern description default unevaluatedProperties
    dependentRequired dependencies contains patternProperties $schema $id x a/b~
";

const TEXTS: &str = "
    string object array integer null # #/$defs/x #/items x (?=a)
    http://json-schema.org/draft-07/schema# http://json-schema.org/draft-04/schema#
";

fn schemas() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(WORDS.split_whitespace().collect::<Vec<_>>());
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        Just(json!(0.5)),
        prop::sample::select(TEXTS.split_whitespace().collect::<Vec<_>>()).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 5, move |inner| {
        prop_oneof![
            3 => proptest::collection::hash_map(words.clone(), inner.clone(), 0..5)
                .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into()),
            1 => proptest::collection::vec(inner, 0..4).prop_map(Value::from),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_json_is_survived(schema in schemas(), arguments in schemas()) {
        let schema = Schema::new(schema);
        for dialect in Dialect::ALL {
            let lowered = schema.lowered(dialect);
            serde_json::from_str::<Value>(lowered.json().get()).unwrap();
            serde_json::from_str::<Value>(&lowered.raise(&arguments.to_string())).unwrap();
        }
        Schema::from_schemars(schema.neutral().clone());
    }
}
