//! Types as they are written, schema by schema.

use serde_json::{Value, json};

use super::Module;

fn declared(schema: &Value) -> String {
    let mut module = Module::new(&["Tools"]);
    module.declare("it", schema);
    module.finish().trim().to_owned()
}

/// The type of `schema`, where it needs no other.
fn typed(schema: &Value) -> String {
    let text = declared(schema);
    let text = text.strip_prefix("export type It = ").and_then(|text| text.strip_suffix(';'));
    text.unwrap_or_else(|| panic!("{schema} needs more")).to_owned()
}

#[test]
fn values() {
    for (schema, expected) in [
        (json!(true), "unknown"),
        (json!({}), "unknown"),
        (json!(false), "never"),
        (json!(7), "unknown"),
        (json!({"type": "string", "minLength": 3}), "string"),
        (json!({"type": "integer"}), "number"),
        (json!({"type": ["integer", "null"]}), "number | null"),
        (json!({"type": ["integer", "number"]}), "number"),
        (json!({"type": "date"}), "unknown"),
        (json!({"const": "a\"\n"}), r#""a\"\n""#),
        (json!({"const": {"a": [1, null], "b c": {}}}), r#"{ a: [1, null]; "b c": { [key: string]: never } }"#),
        (json!({"type": "string", "enum": ["b", "a", "b"]}), r#""b" | "a""#),
        (json!({"enum": [-1.5, true, null]}), "-1.5 | true | null"),
        (json!({"enum": []}), "never"),
        (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), "string | null"),
        (json!({"anyOf": [{"type": "string"}, {}]}), "unknown"),
        (json!({"allOf": [{"type": "string"}, {}]}), "string"),
        (json!({"type": "string", "oneOf": [{"const": "a"}, {"const": "b"}]}), r#"string & ("a" | "b")"#),
    ] {
        assert_eq!(typed(&schema), expected, "{schema}");
    }
}

#[test]
fn lists_and_tuples() {
    for (schema, expected) in [
        (json!({"type": "array"}), "unknown[]"),
        (json!({"items": {"type": ["string", "null"]}}), "(string | null)[]"),
        (json!({"type": "array", "items": {"enum": ["a"]}, "maxItems": 0}), "[]"),
        (
            json!({"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}),
            "[number, number, number]",
        ),
        (json!({"type": "array", "items": {"type": "number"}, "minItems": 99, "maxItems": 99}), "number[]"),
        (
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "minItems": 2, "maxItems": 2}),
            "[string, number]",
        ),
        (
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"enum": [1, 2]}], "minItems": 1}),
            "[string, (1 | 2)?, ...unknown[]]",
        ),
        (json!({"type": "array", "prefixItems": [{}], "minItems": 1, "items": false}), "[unknown]"),
        (json!({"items": [{"type": "null"}], "additionalItems": {"type": "null"}}), "[(null)?, ...null[]]"),
    ] {
        assert_eq!(typed(&schema), expected, "{schema}");
    }
}

#[test]
fn objects_and_maps() {
    for (schema, expected) in [
        (json!({"type": "object"}), "{ [key: string]: unknown }"),
        (json!({"type": "object", "properties": {}}), "{ [key: string]: never }"),
        (json!({"type": "object", "additionalProperties": false}), "{ [key: string]: never }"),
        (json!({"type": "object", "additionalProperties": {"type": "number"}}), "{ [key: string]: number }"),
        (
            json!({"type": "object", "patternProperties": {"^x": {"type": "number"}}, "additionalProperties": false}),
            "{ [key: string]: number }",
        ),
        (
            json!({"type": "object", "propertyNames": {"enum": ["a", "b-c"]}, "additionalProperties": {"type": "null"}}),
            r#"{ [K in "a" | "b-c"]?: null }"#,
        ),
        (
            json!({"properties": {"a": {"type": "string"}, "b c": true}, "required": ["b c", "d"]}),
            "{\n  a?: string;\n  \"b c\": unknown;\n  d: unknown;\n}",
        ),
        (
            json!({"properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": {"type": "number"}}),
            "{\n  a: string;\n} & { [key: string]: number }",
        ),
        (
            json!({"properties": {"a": {"properties": {"__proto__": {"type": "null"}}}}}),
            "{\n  a?: {\n    __proto__?: null;\n  };\n}",
        ),
        (
            json!({"oneOf": [
                {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
                {"properties": {"kind": {"const": "b"}}, "required": ["kind"]},
            ]}),
            "{\n  kind: \"a\";\n} | {\n  kind: \"b\";\n}",
        ),
    ] {
        assert_eq!(typed(&schema), expected, "{schema}");
    }
}

#[test]
fn definitions_are_declared_once_and_may_be_recursive() {
    let tree = json!({"$defs": {"tree": {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}, "root": {"$ref": "#"}},
    }}, "$ref": "#/$defs/tree"});
    assert_eq!(declared(&tree), "export type It = Tree;\n\nexport type Tree = {\n  kids?: Tree[];\n  root?: It;\n};");
    let point = |kind: &str| json!({"items": {"$ref": "#/$defs/Point"}, "$defs": {"Point": {"type": kind}}});
    let mut module = Module::new(&["Tools"]);
    let names = [("a", "string"), ("b", "string"), ("c", "number"), ("tools", "string"), ("Point", "string")];
    let names = names.map(|(name, kind)| module.declare(name, &point(kind)));
    assert_eq!(names, ["A", "B", "C", "Tools2", "Point3"]);
    let text = module.finish();
    let types = ["A = Point[]", "B = Point[]", "C = Point2[]", "Point = string", "Point2 = number", "Point3 = Point[]"];
    for declared in types {
        assert_eq!(text.matches(&format!("export type {declared};")).count(), 1, "{declared} in {text}");
    }
}

#[test]
fn a_type_that_is_nothing_but_itself_is_unknown() {
    let circle = json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "null"}]}, "b": {"$ref": "#/$defs/a"}}});
    assert_eq!(declared(&circle), "export type It = A;\n\nexport type A = unknown;");
    assert_eq!(typed(&json!({"allOf": [{"$ref": "#"}, {"type": "string"}]})), "string");
    assert_eq!(typed(&json!({"$ref": "https://elsewhere.example/x"})), "unknown");
    assert_eq!(typed(&json!({"$ref": "#/nowhere", "type": "string"})), "string");
}

#[test]
fn odd_names_and_comments() {
    let odd = json!({
        "description": "It ends */ alert(1) /*.\r\n\nNot here.",
        "properties": {
            "class": {"type": "string", "description": "A  word.", "default": "a*/b"},
            "1st": {"$ref": "#/$defs/Vec<f64>"},
            "ü\u{2028}\"": {"deprecated": true},
        },
        "$defs": {"Vec<f64>": {"items": {"$ref": "#/$defs/1"}}, "1": {"$ref": "#/$defs/é"}, "é": {"type": "number"}},
    });
    assert_eq!(
        declared(&odd),
        "/**\n * It ends *\\/ alert(1) /*.\n *\n * Not here.\n */\nexport type It = {\n  \
         /**\n   * A  word.\n   * @default \"a*\\/b\"\n   */\n  class?: string;\n  \"1st\"?: VecF64;\n  \
         /** @deprecated */\n  \"ü\u{2028}\\\"\"?: unknown;\n};\n\nexport type VecF64 = _1[];\n\n\
         export type _1 = Type;\n\nexport type Type = number;"
    );
}

#[test]
fn what_is_too_large_becomes_unknown() {
    let mut deep = json!({"type": "string"});
    for _ in 0..60 {
        deep = json!({"items": deep});
    }
    assert_eq!(typed(&deep), format!("unknown{}", "[]".repeat(48)));
    // A chain of many, each of which refers to the next: no stack, and no time.
    let chain = (0..1000).map(|i| (format!("d{i}"), json!({"items": {"$ref": format!("#/$defs/d{}", i + 1)}})));
    let chain = json!({"$ref": "#/$defs/d0", "$defs": chain.collect::<serde_json::Map<_, _>>()});
    assert_eq!(declared(&chain).matches("export type").count(), 1001);
    // A union of many is no circle.
    let many: Vec<_> = (0..1000).map(|i| json!({"const": i})).collect();
    let many = json!({"$ref": "#/$defs/many", "$defs": {"many": {"anyOf": many}}});
    assert!(declared(&many).starts_with("export type It = Many;"));
}
