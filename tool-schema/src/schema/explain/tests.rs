//! Tests of the problems for each kind of mistake.

use serde_json::{Value, json};

use crate::feedback::{Problem, ProblemKind};
use crate::schema::CompiledSchema;

fn problems(schema: &Value, value: &Value) -> Vec<Problem> {
    CompiledSchema::compile(schema).unwrap_or_else(|error| panic!("{schema}: {error}")).problems(value, "")
}

/// Asserts the problems of one parameter `p` with `schema`, as sentences.
#[track_caller]
fn says(schema: impl Into<Value>, value: impl Into<Value>, expected: &[&str]) {
    let (schema, value) = (json!({ "properties": { "p": schema.into() } }), json!({ "p": value.into() }));
    let sentences: Vec<String> = problems(&schema, &value).iter().map(ToString::to_string).collect();
    assert_eq!(sentences, expected, "{schema}");
}

/// Asserts that one parameter `p` with `schema` has one problem with this expectation.
#[track_caller]
fn expects(schema: impl Into<Value>, value: impl Into<Value>, expected: &str) {
    says(schema, value, &[&format!("`p`: expected {expected}")]);
}

#[track_caller]
fn kind(schema: impl Into<Value>, value: impl Into<Value>, kind: ProblemKind) {
    let found = problems(&schema.into(), &value.into());
    assert_eq!(found.iter().map(|problem| problem.kind).collect::<Vec<_>>(), [kind], "{found:?}");
}

#[test]
fn types() {
    expects(json!({ "type": "string" }), 1, r#"a string, got 1; did you mean "1"?"#);
    expects(json!({ "type": "integer" }), "70", r#"a whole number, got "70"; did you mean 70?"#);
    expects(json!({ "type": "integer" }), 1.5, "a whole number, got 1.5");
    expects(json!({ "type": "boolean" }), "True", r#"true or false, got "True"; did you mean true?"#);
    expects(json!({ "type": "null" }), 1, "null, got 1");
    expects(json!({ "type": "object" }), json!([1]), "an object, got [1]");
    expects(
        json!({ "type": "array", "items": { "type": "string" } }),
        "a",
        r#"a list of strings, got "a"; did you mean ["a"]?"#,
    );
    expects(json!({ "type": ["string", "null"] }), true, r#"a string or null, got true; did you mean "true"?"#);
    expects(
        json!({ "type": "object", "required": ["city", "unit"] }),
        "here",
        r#"an object with `city` and `unit`, got "here""#,
    );
    kind(json!({ "type": "string" }), 1, ProblemKind::WrongType);
}

#[test]
fn each_checked_format_has_words() {
    let formats = "date date-time time duration email hostname ipv4 ipv6 ip uri uri-reference iri iri-reference uri-template \
        json-pointer relative-json-pointer regex uuid partial-time partial-date-time zoned-date-time";
    for format in formats.split_whitespace() {
        // No format takes this text.
        let [problem] = &problems(&json!({ "type": "string", "format": format }), &json!("\u{7f}{[(:%"))[..] else {
            panic!("{format} takes the text");
        };
        assert!(!problem.expected.starts_with("a string"), "{format}: {problem}");
    }
}

#[test]
fn an_object_written_as_a_text() {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] });
    expects(
        schema.clone(),
        r#"{"city":"Oslo"}"#,
        r#"an object with `city`, got "{\"city\":\"Oslo\"}"; did you mean {"city":"Oslo"}?"#,
    );
    expects(
        schema,
        r#"{"town":1}"#,
        r#"an object with `city`, got "{\"town\":1}" (a string that contains an object with `town`)"#,
    );
}

#[test]
fn ranges() {
    let range = json!({ "type": "integer", "minimum": 1, "maximum": 50 });
    expects(range.clone(), 70, "a whole number from 1 to 50, got 70");
    kind(range, 0, ProblemKind::OutOfRange);
    expects(json!({ "type": "number", "minimum": 0 }), -1, "a number of at least 0, got -1");
    expects(json!({ "maximum": 5 }), 6, "a number of at most 5, got 6");
    expects(
        json!({ "exclusiveMinimum": 0, "exclusiveMaximum": 1 }),
        1,
        "a number greater than 0 and less than 1, got 1",
    );
    expects(json!({ "type": "integer", "multipleOf": 5 }), 7, "a whole number that is a multiple of 5, got 7");
    kind(json!({ "multipleOf": 5 }), 7, ProblemKind::Invalid);
    let draft4 =
        json!({ "$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": true });
    assert_eq!(problems(&draft4, &json!(1))[0].expected, "a number greater than 1");
}

#[test]
fn texts() {
    expects(
        json!({ "type": "string", "minLength": 3 }),
        "ab",
        r#"a string of at least 3 characters, got "ab" of 2 characters"#,
    );
    expects(json!({ "minLength": 1 }), "", r#"a string that is not empty, got "" of 0 characters"#);
    expects(
        json!({ "minLength": 2, "maxLength": 3, "pattern": "^[a-z]+$" }),
        "ABCDE",
        r#"a string of 2 to 3 characters that matches `^[a-z]+$`, got "ABCDE" of 5 characters"#,
    );
    expects(json!({ "pattern": "^[a-z]+$" }), "A", r#"a string that matches `^[a-z]+$`, got "A""#);
    expects(
        json!({ "format": "date" }),
        "2025-01-31T12:00:00Z",
        r#"a date such as 2025-01-31, got "2025-01-31T12:00:00Z"; did you mean "2025-01-31"?"#,
    );
    expects(
        json!({ "format": "email" }),
        " a@b.example ",
        r#"an e-mail address, got " a@b.example "; did you mean "a@b.example"?"#,
    );
    kind(json!({ "maxLength": 1 }), "ab", ProblemKind::WrongLength);
    kind(json!({ "pattern": "a" }), "b", ProblemKind::NoMatch);
    kind(json!({ "format": "uuid" }), "b", ProblemKind::NoMatch);
    for format in [
        "date-time",
        "time",
        "duration",
        "hostname",
        "ipv4",
        "ipv6",
        "uri",
        "uri-template",
        "regex",
        "ip",
        "partial-time",
        "partial-date-time",
        "zoned-date-time",
    ] {
        let found = problems(&json!({ "format": format }), &json!("( {"));
        assert!(found[0].expected.len() > 5 && !found[0].expected.contains("a string"), "{found:?}");
    }
    let old = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "contentEncoding": "base64" });
    kind(old, "not base64!", ProblemKind::NoMatch);
}

#[test]
fn suggestions_are_whole() {
    let suggested = |schema: Value, value: &Value| problems(&schema, value).remove(0).suggestion;
    let uri = |text: &str| suggested(json!({ "format": "uri" }), &json!(text));
    assert_eq!(uri("https://example.org/a b").as_deref(), Some(r#""https://example.org/a%20b""#));
    assert_eq!(uri(" https://example.org/ä").as_deref(), Some(r#""https://example.org/%C3%A4""#));
    assert_eq!(uri("example.org/a b"), None);
    let found = problems(&json!({ "format": "uri" }), &json!("https://example.org/ä"));
    assert!(found[0].expected.starts_with("a URI in which other characters are escaped"), "{found:?}");
    let word = json!({ "pattern": "^[^ ]+$" });
    assert_eq!(suggested(word.clone(), &json!("two words")), None);
    assert_eq!(suggested(word.clone(), &json!(" one ")).as_deref(), Some("\"one\""));
    for text in ["2025-01-31 and more", "2025-01-31T", "2025-01-31 to 2025-02-01"] {
        assert_eq!(suggested(json!({ "format": "date" }), &json!(text)), None, "{text}");
    }
    for length in [61, 200, 201] {
        let long = "x".repeat(length);
        let whole = (length <= 200).then(|| format!("\"{long}\""));
        assert_eq!(suggested(word.clone(), &json!(format!(" {long}"))), whole);
        assert_eq!(suggested(json!({ "enum": [long] }), &json!(long.to_uppercase())), whole);
        let closed = json!({ "properties": { long.clone(): {} }, "additionalProperties": false });
        assert_eq!(suggested(closed, &json!({ format!("{long}y"): 1 })), None, "a long name is not shortened");
    }
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
    expects(json!({ "const": 1 }), "1", r#"1, got "1"; did you mean 1?"#);
    expects(json!({ "enum": ["True", "False"] }), true, r#"one of "True", "False", got true; did you mean "True"?"#);
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
    // An `Option` of the type.
    let optional = json!({ "$defs": { "Unit": unit }, "anyOf": [{ "$ref": "#/$defs/Unit" }, { "type": "null" }] });
    let found = problems(&optional, &json!("kelvin"));
    assert_eq!(found[0].expected, r#"one of "celsius", "fahrenheit", null"#);
    assert_eq!(found[0].kind, ProblemKind::NotAllowed);
}

#[test]
fn null_for_what_can_be_left_out() {
    let schema = json!({ "properties": { "a": { "type": "string" }, "b": { "type": "string" } }, "required": ["b"] });
    let sentences: Vec<String> =
        problems(&schema, &json!({ "a": null, "b": null })).iter().map(ToString::to_string).collect();
    assert_eq!(sentences, ["`a`: expected a string, or no `a` at all, got null", "`b`: expected a string, got null"]);
}

#[test]
fn names() {
    let schema = json!({
        "type": "object",
        "properties": { "city": { "type": "string" }, "unit": { "enum": ["c", "f"] } },
        "required": ["city", "unit"],
        "additionalProperties": false,
    });
    let sentences = |value: Value| problems(&schema, &value).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        sentences(json!({})),
        ["`city`: missing: expected a string", r#"`unit`: missing: expected one of "c", "f""#]
    );
    assert_eq!(
        sentences(json!({ "ctiy": "Oslo", "unit": "c" })),
        ["`ctiy`: unknown name: expected `city`; did you mean `city`?"]
    );
    assert_eq!(
        sentences(json!({ "city": "Oslo", "unit": "c", "x": 1 })),
        ["`x`: unknown name: expected no more than `city` and `unit`"]
    );
    let open = json!({ "properties": { "city": { "type": "string" } }, "required": ["city"] });
    assert_eq!(
        problems(&open, &json!({ "ctiy": 1 }))[0].to_string(),
        "`city`: missing: expected a string, got the name `ctiy` instead"
    );
    assert_eq!(
        problems(&json!({ "additionalProperties": false }), &json!({ "x": 1 }))[0].expected,
        "an object without names"
    );
    let numbered =
        json!({ "properties": { "n": {} }, "patternProperties": { "^[0-9]+$": {} }, "additionalProperties": false });
    assert_eq!(
        problems(&numbered, &json!({ "x": 1 }))[0].to_string(),
        "`x`: unknown name: expected `n` or a name that matches `^[0-9]+$`"
    );
    assert_eq!(
        problems(&json!({ "propertyNames": { "pattern": "^[a-z]+$" } }), &json!({ "X": 1 }))[0].to_string(),
        "`X`: unknown name: expected names that are each a string that matches `^[a-z]+$`"
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
    let sentences: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        sentences,
        [
            r#"`city`: expected a string, got 1; did you mean "1"?"#,
            "`unti`: unknown name: expected `unit`; did you mean `unit`?"
        ]
    );
    kind(json!({ "patternProperties": { "^x": { "type": "null" } } }), json!({ "x1": 1 }), ProblemKind::WrongType);
    kind(json!({ "dependentSchemas": { "a": { "required": ["b"] } } }), json!({ "a": 1 }), ProblemKind::Missing);
    kind(json!({ "minProperties": 1 }), json!({}), ProblemKind::WrongLength);
    expects(
        json!({ "maxProperties": 1 }),
        json!({ "a": 1, "b": 2 }),
        "an object of at most 1 name, got an object with `a` and `b`",
    );
}

#[test]
fn lists() {
    expects(json!({ "minItems": 2 }), json!([1]), "a list of at least 2 items, got [1]");
    expects(
        json!({ "items": { "type": "integer" }, "maxItems": 2 }),
        json!([1, 2, 3]),
        "a list of at most 2 items, got [1, 2, 3]",
    );
    expects(
        json!({ "uniqueItems": true }),
        json!(["a", "b", "a"]),
        r#"a list whose items are all different, got "a" as items 0 and 2"#,
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
    expects(json!({ "prefixItems": [{}], "items": false }), json!([1, 2]), "a list of at most 1 item, got [1, 2]");
    expects(
        json!({ "contains": { "type": "string" } }),
        json!([1]),
        "a list with at least 1 item that is a string, got 0 of 1 items",
    );
    expects(
        json!({ "contains": { "type": "integer" }, "maxContains": 1 }),
        json!([1, 2]),
        "a list with at most 1 item that is a whole number, got 2 of 2 items",
    );
    kind(json!({ "prefixItems": [{}], "unevaluatedItems": false }), json!([1, 2]), ProblemKind::WrongLength);
}

#[test]
fn each_mistake_once_in_the_order_of_the_schema_and_not_too_many() {
    let text = json!({ "type": "string" });
    let twice = json!({ "allOf": [text, text], "anyOf": [text] });
    expects(twice, json!([]), "a string, got an empty list");
    let names: Vec<String> = (0..80).map(|number| format!("n{number}")).collect();
    let properties: Value = names.iter().map(|name| (name.clone(), json!({ "type": "null" }))).collect();
    let values: Value = names.iter().rev().map(|name| (name.clone(), json!([]))).collect();
    let found = problems(&json!({ "properties": properties }), &values);
    assert_eq!(found.len(), 64);
    assert_eq!(found[0].path, "/n0");
    assert_eq!(found[62].path, "/n62");
    assert_eq!(found[63].to_string(), "expected the rest to fit too: 17 more problems are not listed");
}

#[test]
fn alternatives_by_tag_key_and_type() {
    let tagged = json!({ "oneOf": [
        { "type": "object", "properties": { "type": { "const": "circle" }, "r": { "type": "number" } },
          "required": ["type", "r"] },
        { "type": "object", "properties": { "type": { "const": "square" }, "side": { "type": "number" } },
          "required": ["type", "side"] },
    ] });
    says(tagged.clone(), json!({ "type": "square", "r": 1 }), &["`p.side`: missing: expected a number"]);
    says(
        tagged.clone(),
        json!({ "type": "sqare", "side": 1 }),
        &[r#"`p.type`: expected one of "circle", "square", got "sqare"; did you mean "square"?"#],
    );
    says(tagged.clone(), json!({ "side": 1 }), &[r#"`p.type`: missing: expected one of "circle", "square""#]);
    expects(
        tagged.clone(),
        "Sqare",
        r#"an object whose `type` is one of "circle", "square", got "Sqare"; did you mean an object with `type` "square" and `side`?"#,
    );
    expects(
        json!({ "anyOf": [tagged, { "type": "null" }] }),
        7,
        r#"an object whose `type` is one of "circle", "square" or null, got 7"#,
    );
    let bare = |name: &str| json!({ "type": "object", "properties": { "by": { "const": name } }, "required": ["by"] });
    expects(
        json!({ "anyOf": [{ "oneOf": [bare("merge"), bare("squash")] }, { "type": "null" }] }),
        "squash",
        r#"an object whose `by` is one of "merge", "squash" or null, got "squash"; did you mean {"by":"squash"}?"#,
    );

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
    expects(
        external,
        "emty",
        r#""empty", an object with `circle` or an object with `square`, got "emty"; did you mean "empty"?"#,
    );

    let untagged =
        json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "array", "items": { "type": "integer" } }] });
    expects(untagged.clone(), 0, "a whole number of at least 1, got 0");
    says(untagged.clone(), json!(["x"]), &[r#"`p.0`: expected a whole number, got "x""#]);
    expects(untagged, true, "a whole number of at least 1 or a list of whole numbers, got true");
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
    expects(alike, json!({}), "an object with `a` or an object with `b`, got an empty object");
}

#[test]
fn more_than_one_alternative() {
    let both = json!({ "oneOf": [{ "type": "integer" }, { "minimum": 0 }] });
    expects(
        both,
        1,
        "only one of 2 alternatives to fit, got 1, which is both a whole number and a number of at least 0",
    );
    expects(json!({ "not": { "type": "null" } }), json!(null), "anything but null, or no `p` at all, got null");
    expects(
        json!({ "if": { "type": "string" }, "then": { "minLength": 2 }, "else": { "type": "integer" } }),
        "a",
        r#"a string of at least 2 characters, got "a" of 1 character"#,
    );
    kind(json!(false), 1, ProblemKind::NotAllowed);
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
        assert_eq!(found[0].to_string(), r#"`p`: expected a string, got 1; did you mean "1"?"#, "{reference}");
    }
    let dynamic = json!({ "$dynamicAnchor": "node", "properties": { "next": { "$dynamicRef": "#node" }, "v": { "type": "integer" } } });
    assert_eq!(problems(&dynamic, &json!({ "next": { "next": { "v": "x" } } }))[0].path, "/next/next/v");
}
