//! Tests of the schemas that compile, and of the cost of checks.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;
use crate::schema::testing;

fn compiled(schema: &Value) -> CompiledSchema {
    CompiledSchema::compile(schema).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

#[track_caller]
fn refuses(schema: &Value, why: &str) {
    let error = CompiledSchema::compile(schema).expect_err("this schema is refused").to_string();
    assert!(error.contains(why), "{error}");
}

/// Returns a schema with `count` definitions. `link` makes each from a reference to the next definition.
fn chain(count: usize, link: impl Fn(Value) -> Value, last: Value) -> Value {
    let mut definitions = Map::new();
    for index in 0..count {
        let next = json!({ "$ref": format!("#/$defs/d{}", index + 1) });
        definitions.insert(format!("d{index}"), link(next));
    }
    definitions.insert(format!("d{count}"), last);
    json!({ "$ref": "#/$defs/d0", "$defs": definitions })
}

fn nested(depth: usize, inner: Value) -> Value {
    (0..depth).fold(inner, |value, _| json!({ "a": value }))
}

#[test]
fn follows_the_draft_that_the_schema_names() {
    let tuple = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "items": [{ "type": "string" }] });
    assert!(!compiled(&tuple).is_valid(&json!([1])));
    let bounds =
        json!({ "$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": true });
    assert!(!compiled(&bounds).is_valid(&json!(1)));
    assert!(!compiled(&json!({ "prefixItems": [{ "type": "string" }] })).is_valid(&json!([1])));
    let unknown = compiled(&json!({ "$schema": "https://example.com/mine", "type": "string" }));
    assert!(!unknown.is_valid(&json!(1)));
    assert!(unknown.warnings()[0].contains("https://example.com/mine"), "{unknown:?}");
}

#[test]
fn a_part_does_not_change_the_draft() {
    let closed = json!({ "$schema": "http://json-schema.org/draft-04/schema#", "additionalProperties": false });
    let data = json!({ "const": { "$schema": "x" } });
    let validator = compiled(
        &json!({ "properties": { "a": { "$ref": "#/$defs/closed" }, "b": data }, "$defs": { "closed": closed } }),
    );
    assert!(!validator.is_valid(&json!({ "a": { "x": 1 } })));
    assert!(validator.is_valid(&json!({ "b": { "$schema": "x" } })));
    assert_eq!(validator.warnings().len(), 1);
}

#[test]
fn prefix_items_is_unknown_in_older_drafts() {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "prefixItems": [true],
        "items": { "type": "string" },
        "definitions": { "prefixItems": true },
    });
    assert!(!compiled(&schema).is_valid(&json!([1])));
}

#[test]
fn formats_are_checked() {
    assert!(!compiled(&json!({ "format": "date" })).is_valid(&json!("2025-02-30")));
    assert!(compiled(&json!({ "format": "date" })).is_valid(&json!("2025-02-28")));
    assert!(compiled(&json!({ "format": "of our own" })).is_valid(&json!("x")));
}

#[test]
fn nothing_is_fetched() {
    for reference in ["http://127.0.0.1:1/x", "file:///etc/passwd", "other.json", "#/$defs/none", "#nowhere"] {
        refuses(&json!({ "properties": { "a": { "$ref": reference } } }), "reference has no target");
    }
}

#[test]
fn schemas_that_need_the_library_are_refused_without_it() {
    let relative =
        json!({ "$id": "https://example.com/a", "$ref": "b", "$defs": { "b": { "$id": "b", "type": "null" } } });
    for (schema, place, fits) in [
        (
            json!({ "properties": { "a": { "format": "idn-hostname" } } }),
            "/properties/a/format",
            json!({ "a": "é.fr" }),
        ),
        (json!({ "items": { "$ref": "https://json-schema.org/draft/2020-12/schema" } }), "/items/$ref", json!([true])),
        (relative, "/$ref", json!(null)),
    ] {
        let needs = CompiledSchema::needs_feature(&schema).map(|error| error.to_string());
        if cfg!(feature = "jsonschema") {
            assert_eq!(needs, None);
            assert!(compiled(&schema).is_valid(&fits));
            let problems = compiled(&schema).problems(&json!({ "a": "-" }), "");
            assert!(!problems.is_empty() || schema["items"].is_object(), "{schema}");
        } else {
            let expected = format!("the schema cannot be used: {place} needs the feature `jsonschema` of tool-runtime");
            assert_eq!(needs, Some(expected.clone()));
            refuses(&schema, &expected);
        }
    }
    assert_eq!(CompiledSchema::needs_feature(&json!({ "format": "hostname" })), None);
}

#[test]
fn invalid_schemas_are_refused() {
    refuses(&json!({ "type": "text" }), "at /type");
    refuses(&json!([]), "");
    refuses(&json!({ "allOf": [{ "$ref": "#" }] }), "leads back to itself");
    refuses(
        &json!({ "unevaluatedProperties": { "allOf": [{ "$ref": "#" }], "unevaluatedItems": false } }),
        "leads back",
    );
    let closed = json!({ "allOf": [{ "$ref": "#" }], "unevaluatedProperties": false });
    refuses(&json!({ "additionalProperties": closed }), "leads back to itself");
    refuses(&nested(200, json!({})), "deeper than 128");
    refuses(&json!({ "enum": vec![0; 60_000] }), "more than 50000 values");
    refuses(&json!({ "description": "x".repeat(2 << 20) }), "larger than");
}

#[test]
fn recursive_types_can_be_closed() {
    let base = json!({ "properties": { "next": { "$ref": "#/$defs/node" } } });
    let node = json!({ "$ref": "#/$defs/base", "properties": { "v": true }, "unevaluatedProperties": false });
    let validator = compiled(&json!({ "$ref": "#/$defs/node", "$defs": { "base": base, "node": node } }));
    assert!(validator.is_valid(&json!({ "v": 1, "next": { "v": 2 } })));
    assert_eq!(validator.problems(&json!({ "next": { "w": 2 } }), "")[0].path, "/next/w");
}

#[test]
fn patterns_that_need_backtracking_are_left_out_with_a_warning() {
    let schema = json!({ "properties": {
        "mail": { "type": "string", "pattern": r"^(?!\.)[a-z.]+@[a-z]+$" },
        "word": { "type": "string", "pattern": r"^[a-z]+$" },
        "twin": { "pattern": r"^(.)\1$" },
        "large": { "pattern": "[a-z]{1000}{1000}" },
    } });
    let validator = compiled(&schema);
    assert_eq!(validator.warnings().len(), 3, "{validator:?}");
    assert!(validator.warnings()[0].starts_with("/properties/mail/pattern is not checked"), "{validator:?}");
    assert!(validator.is_valid(&json!({ "mail": ".x", "word": "ok", "twin": "ab" })));
    assert!(!validator.is_valid(&json!({ "mail": 1 })));
    assert!(!validator.is_valid(&json!({ "word": "NO" })));
}

#[test]
fn patterns_are_not_left_out_where_that_would_refuse_more() {
    let pattern = json!({ "pattern": "(?=a)b" });
    refuses(&json!({ "not": pattern }), "cannot be left out");
    refuses(&json!({ "if": { "$ref": "#/$defs/p" }, "$defs": { "p": pattern } }), "cannot be left out");
    refuses(&json!({ "patternProperties": { "(?=a)b": {} } }), "cannot be left out");
    assert!(CompiledSchema::compile(&json!({ "anyOf": [pattern, { "type": "null" }] })).is_ok());
}

#[test]
fn patterns_take_linear_time() {
    let validator = compiled(&json!({ "pattern": "^(a+)+$" }));
    let started = Instant::now();
    assert!(!validator.is_valid(&json!(format!("{}b", "a".repeat(100_000)))));
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn reference_bombs_stay_within_the_budget() {
    let both = |next: Value| json!({ "allOf": [next.clone(), next] });
    let either = |next: Value| json!({ "anyOf": [next, next] });
    let one = |next: Value| json!({ "oneOf": [next, { "type": "array" }], "unevaluatedProperties": next });
    let deeper = |next: Value| json!({ "properties": { "a": { "allOf": [next, next] } } });
    let twice = |next: Value| json!({ "allOf": [{ "properties": { "a": next } }, { "properties": { "a": next } }] });
    let text = json!({ "type": "string" });
    let started = Instant::now();
    for (schema, good, bad) in [
        (chain(30, both, text.clone()), json!("x"), json!(1)),
        (chain(30, either, text.clone()), json!("x"), json!(1)),
        (chain(30, one, json!({ "type": "object" })), json!({}), json!(1)),
        (chain(30, deeper, text.clone()), nested(30, json!("x")), nested(30, json!(1))),
        (chain(30, twice, text), nested(30, json!("x")), nested(30, json!(1))),
    ] {
        let validator = compiled(&schema);
        assert!(validator.is_valid(&good), "{good}");
        assert!(!validator.is_valid(&bad), "{bad}");
        assert!(!validator.problems(&bad, "").is_empty());
    }
    // The search for problems has a maximum cost, too.
    let eight = |next: Value| json!({ "allOf": vec![next.clone(); 8], "anyOf": vec![next; 8] });
    refuses(&chain(20, eight, json!({ "type": "string" })), "multiply");
    let pairs = |next: Value| json!({ "allOf": vec![next.clone(); 8], "anyOf": vec![next; 2] });
    let validator = compiled(&chain(4, pairs, json!({ "type": "string" })));
    assert!(!validator.problems(&json!(1), "").is_empty());
    let mut schema = chain(30, both, json!({ "properties": { "z": true } }));
    schema["unevaluatedProperties"] = json!(false);
    refuses(&schema, "multiply");
    let parts: Vec<Value> = (0..33).map(|part| json!({ "$id": format!("https://example.com/{part}") })).collect();
    refuses(&json!({ "allOf": parts }), "33 parts");
    let mut schema = json!({ "properties": { "z": true } });
    for _ in 0..40 {
        schema = json!({ "unevaluatedProperties": false, "anyOf": [schema] });
    }
    assert!(compiled(&schema).is_valid(&json!({ "z": 1 })));
    assert!(!compiled(&schema).is_valid(&json!({ "y": 1 })));
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn recursive_types_of_many_kinds_can_be_deep() {
    let kinds: Vec<Value> = (0..8)
        .map(|kind| {
            let parts = json!({ "op": { "const": format!("k{kind}") }, "a": { "$ref": "#" }, "b": { "$ref": "#" } });
            json!({ "type": "object", "properties": parts, "required": ["op", "a"] })
        })
        .chain([json!({ "type": "number" })])
        .collect();
    let validator = compiled(&json!({ "oneOf": kinds }));
    let deep =
        |inner: Value| (0..40).fold(inner, |value, index| json!({ "op": format!("k{}", index % 8), "a": value }));
    let started = Instant::now();
    assert!(validator.is_valid(&deep(json!(1))));
    assert!(!validator.is_valid(&deep(json!("x"))));
    let problems = validator.problems(&deep(json!("1")), "");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].path, "/a".repeat(40));
    assert!(problems[0].expected.contains("a number"), "{problems:?}");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn deep_values_do_not_overflow_the_stack() {
    // The longest accepted chain and the deepest accepted value, on the small stack of a worker thread.
    let long =
        chain(160, |next| json!({ "allOf": [next] }), json!({ "properties": { "a": { "$ref": "#/$defs/d0" } } }));
    let tall = json!({ "properties": { "a": { "anyOf": [{ "$ref": "#" }, { "type": "null" }] } } });
    let work = move || {
        for (schema, deepest) in [(long, 10), (tall, 130)] {
            let validator = compiled(&schema);
            for depth in 0..deepest {
                let value = nested(depth, json!({}));
                let fits = validator.is_valid(&value);
                assert_eq!(fits, validator.problems(&value, "").is_empty());
                // Each value fits, or is refused for its depth.
                let problems = validator.problems(&value, "");
                assert!(fits || problems[0].kind == ProblemKind::TooLarge, "{depth}: {problems:?}");
                assert!(fits || depth > 1, "{depth}");
            }
        }
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).expect("a thread").join().expect("no overflow");
}

/// Returns the validator that the library `jsonschema` makes with the same options.
fn library(schema: &Value) -> jsonschema::Validator {
    let draft = declared::read_draft(schema, &mut Vec::new());
    let (graph, ids) = Graph::build(schema, draft);
    foreign::compile(schema, &graph, &ids).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

#[test]
fn paths_begin_with_the_prefix() {
    let validator = compiled(&json!({ "properties": { "city": { "type": "string" } } }));
    assert_eq!(validator.problems(&json!({ "city": 1 }), "/input")[0].path, "/input/city");
    assert!(validator.problems(&json!({ "city": "Oslo" }), "/input").is_empty());
}

/// `jsonschema` 0.46 ignores items that branches of a boolean `if` evaluated.
#[test]
fn a_condition_may_be_a_boolean() {
    for (condition, branch) in [(true, "then"), (false, "else")] {
        let list = json!({ "if": condition, branch: { "items": {} }, "unevaluatedItems": false });
        let object = json!({ "if": condition, branch: { "additionalProperties": {} }, "unevaluatedProperties": false });
        assert_eq!(compiled(&list).problems(&json!([1]), ""), []);
        assert_eq!(compiled(&object).problems(&json!({ "a": 1 }), ""), []);
    }
}

/// In 2019-09, `contains` evaluates no items; `jsonschema` 0.46 disagrees in the branches of an `if`.
#[test]
fn items_that_contains_has_found_are_unevaluated_in_2019_09() {
    let branch = json!({ "if": true, "then": { "contains": true }, "unevaluatedItems": { "type": "string" } });
    for (draft, fits) in [("2019-09", false), ("2020-12", true)] {
        let mut schema = branch.clone();
        schema["$schema"] = format!("https://json-schema.org/draft/{draft}/schema").into();
        assert_eq!(compiled(&schema).is_valid(&json!([1])), fits, "{draft}");
    }
}

/// Returns whether the library `jsonschema` may count items that `contains` has found, as 2019-09 does not.
fn counts_contains(schema: &Value) -> bool {
    let text = schema.to_string();
    text.contains("2019-09") && text.contains("\"contains\"") && text.contains("\"unevaluatedItems\"")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_value_has_problems_exactly_if_it_does_not_fit(
        schema in testing::schema(),
        values in prop::collection::vec(testing::value(), 1..8),
    ) {
        if let Ok(validator) = CompiledSchema::compile(&schema) {
            let library = library(&schema);
            for value in values {
                let fits = validator.is_valid(&value);
                let problems = validator.problems(&value, "");
                prop_assert_eq!(problems.is_empty(), fits, "{} {}: {:?}", schema, value, problems);
                // The library `jsonschema` and both ways of checking agree.
                prop_assert!(library.is_valid(&value) == fits || counts_contains(&schema), "{} {}", schema, value);
                let found = explain::find_problems(&validator.graph, &value).problems;
                prop_assert_eq!(found.is_empty(), fits, "{} {}: {:?}", schema, value, found);
                for problem in problems {
                    prop_assert!(!problem.expected.is_empty(), "{} {}: {:?}", schema, value, problem);
                }
            }
        }
    }

    #[test]
    fn arbitrary_schemas_never_panic(schema in testing::value(), value in testing::value()) {
        if let Ok(validator) = CompiledSchema::compile(&schema) {
            prop_assert_eq!(validator.problems(&value, "").is_empty(), validator.is_valid(&value));
        }
    }
}
