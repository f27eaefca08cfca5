//! Scalars and their types.

use serde_json::json;

use super::{kind, problems, says};
use crate::feedback::{Problem, ProblemKind};

#[test]
fn types() {
    says(json!({ "type": "string" }), json!(1), &[r#"`p`: expected a text, got 1; did you mean "1"?"#]);
    says(json!({ "type": "integer" }), json!("70"), &[r#"`p`: expected a whole number, got "70"; did you mean 70?"#]);
    says(json!({ "type": "integer" }), json!(1.5), &["`p`: expected a whole number, got 1.5"]);
    says(
        json!({ "type": "boolean" }),
        json!("True"),
        &[r#"`p`: expected true or false, got "True"; did you mean true?"#],
    );
    says(json!({ "type": "null" }), json!(1), &["`p`: expected null, got 1"]);
    says(json!({ "type": "object" }), json!([1]), &["`p`: expected an object, got [1]"]);
    says(
        json!({ "type": "array", "items": { "type": "string" } }),
        json!("a"),
        &[r#"`p`: expected a list of texts, got "a"; did you mean ["a"]?"#],
    );
    says(
        json!({ "type": ["string", "null"] }),
        json!(true),
        &[r#"`p`: expected a text or null, got true; did you mean "true"?"#],
    );
    says(
        json!({ "type": "object", "required": ["city", "unit"] }),
        json!("here"),
        &[r#"`p`: expected an object with `city` and `unit`, got "here""#],
    );
    kind(json!({ "type": "string" }), json!(1), ProblemKind::WrongType);
}

#[test]
fn an_object_written_as_a_text() {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    says(
        schema.clone(),
        json!(r#"{"city":"Oslo"}"#),
        &[r#"`p`: expected an object with `city`, got "{\"city\":\"Oslo\"}"; did you mean {"city":"Oslo"}?"#],
    );
    says(
        schema,
        json!(r#"{"town":1}"#),
        &[r#"`p`: expected an object with `city`, got "{\"town\":1}" (a text that holds an object with `town`)"#],
    );
}

#[test]
fn ranges() {
    let range = json!({ "type": "integer", "minimum": 1, "maximum": 50 });
    says(range.clone(), json!(70), &["`p`: expected a whole number from 1 to 50, got 70"]);
    kind(range, json!(0), ProblemKind::OutOfRange);
    says(json!({ "type": "number", "minimum": 0 }), json!(-1), &["`p`: expected a number of at least 0, got -1"]);
    says(json!({ "maximum": 5 }), json!(6), &["`p`: expected a number of at most 5, got 6"]);
    says(
        json!({ "exclusiveMinimum": 0, "exclusiveMaximum": 1 }),
        json!(1),
        &["`p`: expected a number greater than 0 and less than 1, got 1"],
    );
    says(
        json!({ "type": "integer", "multipleOf": 5 }),
        json!(7),
        &["`p`: expected a whole number that is a multiple of 5, got 7"],
    );
    kind(json!({ "multipleOf": 5 }), json!(7), ProblemKind::Invalid);
    let draft4 =
        json!({ "$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": true });
    assert_eq!(problems(&draft4, &json!(1))[0].expected, "a number greater than 1");
}

#[test]
fn texts() {
    says(
        json!({ "type": "string", "minLength": 3 }),
        json!("ab"),
        &[r#"`p`: expected a text of at least 3 characters, got "ab" of 2 characters"#],
    );
    says(json!({ "minLength": 1 }), json!(""), &[r#"`p`: expected a text that is not empty, got "" of 0 characters"#]);
    says(
        json!({ "minLength": 2, "maxLength": 3, "pattern": "^[a-z]+$" }),
        json!("ABCDE"),
        &[r#"`p`: expected a text of 2 to 3 characters that matches `^[a-z]+$`, got "ABCDE" of 5 characters"#],
    );
    says(json!({ "pattern": "^[a-z]+$" }), json!("A"), &[r#"`p`: expected a text that matches `^[a-z]+$`, got "A""#]);
    says(
        json!({ "format": "date" }),
        json!("2025-01-31T12:00:00Z"),
        &[r#"`p`: expected a date such as 2025-01-31, got "2025-01-31T12:00:00Z"; did you mean "2025-01-31"?"#],
    );
    says(
        json!({ "format": "email" }),
        json!(" a@b.example "),
        &[r#"`p`: expected an e-mail address, got " a@b.example "; did you mean "a@b.example"?"#],
    );
    kind(json!({ "maxLength": 1 }), json!("ab"), ProblemKind::WrongLength);
    kind(json!({ "pattern": "a" }), json!("b"), ProblemKind::NoMatch);
    kind(json!({ "format": "uuid" }), json!("b"), ProblemKind::NoMatch);
    for format in ["date-time", "time", "duration", "hostname", "ipv4", "ipv6", "uri", "uri-template", "regex"] {
        let found = problems(&json!({ "format": format }), &json!("( {"));
        assert!(found[0].expected.len() > 5 && !found[0].expected.contains("a text"), "{found:?}");
    }
    let old = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "contentEncoding": "base64" });
    kind(old, json!("not base64!"), ProblemKind::NoMatch);
}

#[test]
fn allowed_values() {
    let found = problems(&json!({ "enum": ["celsius", "fahrenheit"] }), &json!("celcius"));
    assert_eq!(
        found,
        [Problem::new("", ProblemKind::NotAllowed, r#"one of "celsius", "fahrenheit""#)
            .got(r#""celcius""#)
            .suggest(Some(r#""celsius""#.into()))
            .allowed(vec![json!("celsius"), json!("fahrenheit")])]
    );
    says(json!({ "const": 1 }), json!("1"), &[r#"`p`: expected 1, got "1"; did you mean 1?"#]);
    says(
        json!({ "enum": ["True", "False"] }),
        json!(true),
        &[r#"`p`: expected one of "True", "False", got true; did you mean "True"?"#],
    );
    let many: Vec<u32> = (0..100).collect();
    let found = problems(&json!({ "enum": many }), &json!(200));
    assert_eq!(found[0].expected, "one of 100 values such as 0, 1, 2, 3, 4");
    assert!(found[0].allowed.is_empty());
}

#[test]
fn enums_as_schemars_writes_them() {
    // Documented unit variants: `oneOf` of consts, behind a reference.
    let unit = json!({ "oneOf": [
        { "description": "degrees", "type": "string", "const": "celsius" },
        { "description": "old", "type": "string", "const": "fahrenheit" },
    ] });
    let schema = json!({ "$defs": { "Unit": unit }, "properties": { "unit": { "$ref": "#/$defs/Unit" } } });
    let found = problems(&schema, &json!({ "unit": "Celsius" }));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].allowed, [json!("celsius"), json!("fahrenheit")]);
    assert_eq!(found[0].suggestion.as_deref(), Some(r#""celsius""#));
    // `Option` of it.
    let optional = json!({ "$defs": { "Unit": unit }, "anyOf": [{ "$ref": "#/$defs/Unit" }, { "type": "null" }] });
    let found = problems(&optional, &json!("kelvin"));
    assert_eq!(found[0].expected, r#"one of "celsius", "fahrenheit", null"#);
    assert_eq!(found[0].kind, ProblemKind::NotAllowed);
}
