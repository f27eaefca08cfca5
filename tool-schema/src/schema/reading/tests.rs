//! Tests of readings: the forms that are read, those that are not, and the validity of every result.

use serde_json::{Value, json};

use super::{ReadText, read_values};
use crate::schema::{CompiledSchema, Sampler};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "count": {"type": "integer", "minimum": 0, "maximum": 99},
            "maybe": {"type": ["integer", "null"]},
            "long": {"type": "integer"},
            "loud": {"type": "boolean", "default": false},
            "unit": {"$ref": "#/$defs/Unit", "description": "The unit."},
            "other": {"anyOf": [{"$ref": "#/$defs/Unit"}, {"type": "null"}]},
            "days": {"type": "array", "items": {"type": "integer"}},
            "units": {"type": "array", "items": {"$ref": "#/$defs/Unit"}},
            "names": {"type": "array", "items": {"type": "string"}},
            "place": {"$ref": "#/$defs/Place"},
            "places": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
            "tagged": {"oneOf": [
                {"type": "object", "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "required": ["kind"], "additionalProperties": false},
                {"type": "object", "properties": {"kind": {"const": "b"}, "n": {"type": "boolean"}}, "required": ["kind"], "additionalProperties": false},
            ]},
            "text": {"type": "string"},
            "number": {"type": "number"},
            "either": {"type": ["integer", "string"]},
            "one_of": {"anyOf": [{"type": "integer"}, {"type": "string", "enum": ["all"]}]},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}},
            "pairs": {"type": "array", "prefixItems": [{"type": "integer"}]},
            "free": {},
            "beside": {"allOf": [{"type": "integer"}]},
        },
        "additionalProperties": false,
        "$defs": {
            "Unit": {"type": "string", "enum": ["celsius", "deep-sea", "Deep Sea", "two_words", "-"]},
            "Place": {
                "type": "object",
                "properties": {"x": {"type": "integer"}, "inner": {"$ref": "#/$defs/Place"}, "name": {"type": "string"}},
                "additionalProperties": false,
            },
        },
    })
}

fn read(text: &str) -> Option<ReadText> {
    read_values(&schema(), text)
}

#[test]
fn values_of_one_meaning_are_read() {
    for (sent, new, reading) in [
        (r#"{"count": "5"}"#, r#"{"count":5}"#, r#"count: read "5" as 5"#),
        (r#"{"count":"0", "text" : "5"}"#, r#"{"count":0,"text":"5"}"#, r#"count: read "0" as 0"#),
        (r#"{"maybe":"7","number":1.10}"#, r#"{"maybe":7,"number":1.10}"#, r#"maybe: read "7" as 7"#),
        (
            r#"{"long":"12345678901234567890123"}"#,
            r#"{"long":12345678901234567890123}"#,
            r#"long: read "12345678901234567890123" as 12345678901234567890123"#,
        ),
        (r#"{"loud":"true"}"#, r#"{"loud":true}"#, r#"loud: read "true" as true"#),
        (r#"{"unit":"CELSIUS"}"#, r#"{"unit":"celsius"}"#, r#"unit: read "CELSIUS" as "celsius""#),
        (r#"{"other":"Two words"}"#, r#"{"other":"two_words"}"#, r#"other: read "Two words" as "two_words""#),
        (r#"{"days":5}"#, r#"{"days":[5]}"#, "days: read 5 as [5]"),
        (r#"{"days":"5"}"#, r#"{"days":[5]}"#, r#"days: read "5" as [5]"#),
        (r#"{"days":[1,"2"]}"#, r#"{"days":[1,2]}"#, r#"days.1: read "2" as 2"#),
        (r#"{"units":"celsius"}"#, r#"{"units":["celsius"]}"#, r#"units: read "celsius" as ["celsius"]"#),
        (r#"{"units":"Celsius"}"#, r#"{"units":["celsius"]}"#, r#"units: read "Celsius" as ["celsius"]"#),
        (r#"{"place":"{\"x\": 1}"}"#, r#"{"place":{"x":1}}"#, "place: read the text as an object"),
        (
            r#"{"places":[{"inner":{"x":"1"}}]}"#,
            r#"{"places":[{"inner":{"x":1}}]}"#,
            r#"places.0.inner.x: read "1" as 1"#,
        ),
        (r#"{"tagged":{"kind":"a","n":"1"}}"#, r#"{"tagged":{"kind":"a","n":1}}"#, r#"tagged.n: read "1" as 1"#),
        (
            r#"{"tagged":{"kind":"b","n":"true"}}"#,
            r#"{"tagged":{"kind":"b","n":true}}"#,
            r#"tagged.n: read "true" as true"#,
        ),
        (r#""{\"count\": 5}""#, r#"{"count":5}"#, "arguments: read the text as an object"),
    ] {
        let read = read(sent).unwrap_or_else(|| panic!("{sent} is not read"));
        assert_eq!((&*read.text, read.readings), (new, vec![reading.to_owned()]));
    }
}

#[test]
fn every_reading_is_listed_up_to_a_limit() {
    let whole = read(r#"{"place":"{\"x\": \"1\", \"name\": \"2\"}","count":"3"}"#).unwrap();
    assert_eq!(whole.text, r#"{"place":{"x":1,"name":"2"},"count":3}"#);
    let expected = ["place: read the text as an object", r#"place.x: read "1" as 1"#, r#"count: read "3" as 3"#];
    assert_eq!(whole.readings, expected);
    let many = read(&json!({"days": vec!["1"; 25]}).to_string()).unwrap();
    assert_eq!((many.readings.len(), &*many.readings[20]), (21, "and 5 more values were read"));
}

#[test]
fn values_of_several_meanings_are_not_read() {
    for sent in [
        // Other forms of an integer.
        r#"{"count":"+5"}"#,
        r#"{"long":"-5"}"#,
        r#"{"count":" 5"}"#,
        r#"{"count":"5 "}"#,
        r#"{"count":"05"}"#,
        r#"{"count":"5.0"}"#,
        r#"{"count":"1e1"}"#,
        r#"{"long":"1,000"}"#,
        r#"{"long":"1_000"}"#,
        r#"{"count":"\u0665"}"#,
        r#"{"count":""}"#,
        r#"{"count":true}"#,
        r#"{"count":["5"]}"#,
        r#"{"count":"100"}"#,
        r#"{"maybe":"null"}"#,
        r#"{"loud":"True"}"#,
        r#"{"loud":"1"}"#,
        r#"{"loud":1}"#,
        // Two values are equal apart from case and spaces, and one has nothing else.
        r#"{"unit":"deep sea"}"#,
        r#"{"unit":"_"}"#,
        r#"{"unit":"celsius!"}"#,
        r#"{"unit":["celsius"]}"#,
        // Texts, and what may be one.
        r#"{"names":"a"}"#,
        r#"{"names":"[\"a\"]"}"#,
        r#"{"text":5}"#,
        r#"{"either":true}"#,
        r#"{"one_of":"ALL"}"#,
        r#"{"number":"5"}"#,
        r#"{"map":{"a":"5"}}"#,
        r#"{"map":"{}"}"#,
        r#"{"pairs":["5"]}"#,
        r#"{"pairs":5}"#,
        r#"{"beside":"5"}"#,
        // Lists in other forms.
        r#"{"days":"[1]"}"#,
        r#"{"days":"1,2"}"#,
        r#"{"days":null}"#,
        r#"{"places":{"x":1}}"#,
        r#"{"units":"[\"celsius\"]"}"#,
        // Objects with a name twice, or with something after them.
        r#"{"place":"{\"x\":1,\"x\":2}"}"#,
        r#"{"place":"{\"x\":1} {}"}"#,
        r#"{"place":"[]"}"#,
        r#"{"count":"5","count":"6"}"#,
        r#"{"tagged":{"n":"1"}}"#,
        r#"{"tagged":"{\"kind\":\"a\"}"}"#,
        // Another value is wrong.
        r#"{"count":"5","unknown":1}"#,
        r#"{"count":"5","long":"x"}"#,
        r#"{"count":"5""#,
        "",
        "null",
        "[]",
        r#""""#,
    ] {
        assert_eq!(read(sent), None, "{sent}");
    }
}

#[test]
fn valid_arguments_stay() {
    for sent in ["{}", r#"{"free":"5","either":"5","text":"true","unit":"Deep Sea"}"#, r#"{"one_of":"all"}"#] {
        assert_eq!(read(sent), None, "{sent}");
    }
    // A schema may accept a value that a reading would change.
    let open = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": {}});
    assert_eq!(read_values(&open, r#"{"n":"5"}"#), None, "free names");
}

#[test]
fn no_text_is_too_odd() {
    let text = r#"{"count":"5","place":"{\"x\": \"\\u0031\"}","tagged":{"kind":"b","n":"true"},"days":["1",null,"é"],"units":"CELSIUS"}"#;
    for (at, _) in text.char_indices() {
        let cut = &text[..at];
        for end in ["", "\"", "\"}", "}", "]}", "\"]}", "null}", "\u{0}", "\\"] {
            let _ = read(&format!("{cut}{end}"));
            let _ = read(&format!("{cut}{end}{}", &text[at..]));
        }
    }
    let mut nested = "1".to_owned();
    for _ in 0..12 {
        nested = json!({"inner": nested}).to_string();
    }
    assert_eq!(read(&json!({"place": nested}).to_string()), None, "the innermost is no object");
    let deep = format!("{}1{}", r#"{"place":"#.to_owned() + &r#"{"inner":"#.repeat(100), "}".repeat(101));
    assert_eq!(read(&deep), None);
}

#[test]
fn every_read_value_is_valid_and_is_read_only_once() {
    let schema = schema();
    let compiled = CompiledSchema::compile(&schema).unwrap();
    let mut count = 0;
    for round in 0..2000 {
        let mut sampler = Sampler::new(round);
        let valid = if round % 2 == 0 { None } else { sampler.valid(&schema, &compiled) };
        let mut value = valid.unwrap_or_else(|| sampler.near(&schema));
        sampler.disguise(&mut value);
        let Some(read) = read(&value.to_string()) else { continue };
        count += 1;
        assert!(!compiled.is_valid(&value), "{value} was valid");
        assert!(compiled.is_valid(&serde_json::from_str(&read.text).unwrap()), "{value}: {}", read.text);
        assert_eq!(read_values(&schema, &read.text), None);
        assert!(!read.readings.is_empty());
    }
    assert!(count > 50, "{count}");
}

#[test]
fn a_sign_that_can_carry_a_meaning_counts() {
    for (choices, sent) in [
        (json!(["-created", "name"]), "created"),
        (json!(["-1", "0"]), "1"),
        (json!(["1-2", "3-4"]), "12"),
        (json!(["UTC-5", "UTC+5"]), "UTC5"),
    ] {
        let schema = json!({"type": "object", "properties": {"s": {"enum": choices}}, "additionalProperties": false});
        assert_eq!(read_values(&schema, &json!({ "s": sent }).to_string()), None, "{sent}");
    }
    let schema = json!({"type": "object", "properties": {"s": {"enum": ["UTC-5"]}}, "additionalProperties": false});
    assert_eq!(read_values(&schema, r#"{"s":"utc-5"}"#).unwrap().text, r#"{"s":"UTC-5"}"#);
}

#[test]
fn a_list_of_lists_is_not_made_of_one_list() {
    let schema = json!({
        "type": "object",
        "properties": {"rows": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}},
        "additionalProperties": false,
    });
    assert_eq!(read_values(&schema, r#"{"rows":[1,2]}"#), None);
    assert_eq!(read_values(&schema, r#"{"rows":1}"#), None);
    assert_eq!(read_values(&schema, r#"{"rows":[["1"]]}"#).unwrap().text, r#"{"rows":[[1]]}"#);
}

#[test]
fn a_choice_of_several_branches_counts_once() {
    let schema = json!({
        "type": "object",
        "properties": {"s": {"anyOf": [{"enum": ["a", "b"]}, {"enum": ["a", "c"]}]}},
        "additionalProperties": false,
    });
    assert_eq!(read_values(&schema, r#"{"s":"A"}"#).unwrap().text, r#"{"s":"a"}"#);
}

/// Arguments that would take seconds are refused as they are. The steps are counted, so the test needs no clock.
#[test]
fn the_search_ends_after_so_many_steps() {
    let choices: Vec<String> = (0..200).map(|number| format!("choice {number}")).collect();
    let schema = json!({
        "type": "object",
        "properties": {"list": {"type": "array", "items": {"enum": choices}}},
        "additionalProperties": false,
    });
    let list = |count| json!({ "list": vec!["CHOICE 7"; count] }).to_string();
    assert!(read_values(&schema, &list(100)).is_some());
    assert_eq!(read_values(&schema, &list(100_000)), None);
}
