//! Only the right nulls are removed.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::schema::{Dialect, Schema};

fn raised(schema: &Value, arguments: &str) -> String {
    Schema::new(schema.clone()).lowered(Dialect::OpenAiStrict).raise(arguments).into_owned()
}

fn order() -> Value {
    json!({
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "note": {"type": "string"},
            "gift": {"type": ["string", "null"]},
            "item": {"$ref": "#/$defs/Item"},
            "items": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"$ref": "#/$defs/Item"}], "items": false},
            "pay": {"oneOf": [
                {"type": "object", "properties": {"by": {"const": "card"}, "holder": {"type": "string"}, "pin": {"type": "null"}}, "required": ["by"]},
                {"type": "object", "properties": {"by": {"const": "cash"}, "holder": {"type": ["string", "null"]}}, "required": ["by"]},
            ]},
        },
        "required": ["id"],
        "$defs": {"Item": {
            "type": "object",
            "properties": {"sku": {"type": "string"}, "count": {"type": "integer"}, "parts": {"type": "array", "items": {"$ref": "#/$defs/Item"}}},
            "required": ["sku"],
        }},
    })
}

#[test]
fn only_nulls_that_stand_for_nothing_are_taken_out() {
    let cases = [
        (r#"{"id":"a","note":null,"gift":null}"#, r#"{"id":"a","gift":null}"#),
        (r#"{"id":null,"note":"null"}"#, r#"{"id":null,"note":"null"}"#),
        (r#"{"id":"a", "item": {"sku": "s", "count": null, "parts": null}}"#, r#"{"id":"a","item":{"sku":"s"}}"#),
        (
            r#"{"items":[{"sku":"s","count":1.50},{"sku":"t","count":null,"parts":[{"sku":"u","count":null}]}]}"#,
            r#"{"items":[{"sku":"s","count":1.50},{"sku":"t","parts":[{"sku":"u"}]}]}"#,
        ),
        (r#"{"pair":["s",{"sku":"s","count":null}]}"#, r#"{"pair":["s",{"sku":"s"}]}"#),
        (r#"{"pay":{"by":"card","holder":null,"pin":null}}"#, r#"{"pay":{"by":"card","pin":null}}"#),
        (r#"{"pay":{"by":"cash","holder":null}}"#, r#"{"pay":{"by":"cash","holder":null}}"#),
        (r#"{"pay":{"by":"coin","holder":null}}"#, r#"{"pay":{"by":"coin","holder":null}}"#),
        (r#"{"unknown":null,"note":null,"note":null}"#, r#"{"unknown":null}"#),
        (r#"{"n\u006fte":null,"id":"\u00e9"}"#, r#"{"id":"\u00e9"}"#),
        ("{\"note\":null", "{\"note\":null"),
        ("null", "null"),
        ("", ""),
    ];
    for (given, expected) in cases {
        assert_eq!(raised(&order(), given), expected, "{given}");
    }
}

#[test]
fn what_needs_nothing_is_borrowed() {
    let schema = Schema::new(order());
    let strict = schema.lowered(Dialect::OpenAiStrict);
    for text in [r#"{"id":"a"}"#, r#"{"id":"null"}"#, r#"{"gift":null}"#, "not json, null"] {
        assert!(matches!(strict.raise(text), std::borrow::Cow::Borrowed(_)), "{text}");
    }
    let other = schema.lowered(Dialect::Draft07);
    assert_eq!(other.raise(r#"{"note":null}"#), r#"{"note":null}"#);
}

#[test]
fn an_unclear_branch_is_left_alone() {
    let schema = json!({"type": "object", "properties": {"x": {"anyOf": [
        {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
        {"type": "object", "properties": {"a": {"type": ["string", "null"]}, "b": {"type": "string"}}},
    ]}}});
    assert_eq!(raised(&schema, r#"{"x":{"a":null,"b":"b"}}"#), r#"{"x":{"a":null,"b":"b"}}"#);
    assert_eq!(raised(&schema, r#"{"x":{"a":"a","b":null}}"#), r#"{"x":{"a":"a"}}"#);
}

#[test]
fn deep_text_needs_no_stack() {
    let schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/L"}}, "$defs": {"L": {"type": "array", "items": {"$ref": "#/$defs/L"}}}});
    let text = format!("{{\"x\":{}null{}}}", "[".repeat(20_000), "]".repeat(20_000));
    assert_eq!(raised(&schema, &text), text);
}

proptest! {
    #[test]
    fn raising_gives_back_what_was_filled_up(note in any::<Option<String>>(), gift in any::<Option<Option<String>>>(), count in any::<Option<i32>>()) {
        let mut original = json!({"id": "a", "items": [{"sku": "s"}]});
        let mut filled = json!({"id": "a", "note": note, "gift": gift, "item": null, "pair": null, "pay": null,
            "items": [{"sku": "s", "count": count, "parts": null}]});
        if let Some(note) = note { original["note"] = note.into(); }
        match gift {
            // `gift` takes a null of its own: it is not for us to take it out.
            Some(gift) => original["gift"] = gift.into(),
            None => { filled.as_object_mut().unwrap().remove("gift"); }
        }
        if let Some(count) = count { original["items"][0]["count"] = count.into(); }
        let raised: Value = serde_json::from_str(&raised(&order(), &filled.to_string())).unwrap();
        prop_assert_eq!(raised, original);
    }

    #[test]
    fn any_text_is_survived(text in "[\\[\\]{}\",:a-z0-9nul ]{0,60}") {
        let _ = raised(&order(), &text);
    }
}
