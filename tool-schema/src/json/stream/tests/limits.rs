//! Errors: when they are known, what they say, what stays of the value; and the limits.

use serde_json::{Value, json};

use super::read;
use crate::{
    feedback::ProblemKind,
    json::{Incremental, Limits},
};

#[track_caller]
fn says(text: &str, expected: &str) {
    let error = read(text.as_bytes(), &[usize::MAX]).expect_err(text);
    assert_eq!(error.to_string(), expected, "{text}");
    assert_eq!(read(text.as_bytes(), &[1]), Err(error), "{text}");
}

#[test]
fn errors_say_what_was_expected_and_where() {
    says("", "expected the rest of the JSON, got the end at byte 0");
    says("[1, 2", "expected the rest of the JSON, got the end at byte 5");
    says("tru", "expected the rest of the JSON, got the end at byte 3");
    says("-", "expected the rest of the JSON, got the end at byte 1");
    says("1.", "expected the rest of the JSON, got the end at byte 2");
    says("x", "expected a value, got `x` at byte 0");
    says("[}", "expected a value or `]`, got `}` at byte 1");
    says("[1,]", "expected a value, got `]` at byte 3");
    says("[1}", "expected a comma or `]`, got `}` at byte 2");
    says("{1", "expected a name in double quotes or `}`, got `1` at byte 1");
    says("{\"a\":1,}", "expected a name in double quotes, got `}` at byte 7");
    says("{\"a\" 1}", "expected a colon between name and value, got `1` at byte 5");
    says("{\"a\":1]", "expected a comma or `}`, got `]` at byte 6");
    says("1 2", "expected nothing after the JSON, got `2` at byte 2");
    says("[]]", "expected nothing after the JSON, got `]` at byte 2");
    says("[trUe]", "expected one of the words true, false and null, got `U` at byte 3");
    says("[-]", "expected a digit, got `]` at byte 2");
    says("[1.e5]", "expected a digit, got `e` at byte 3");
    says("[-01]", "expected a number without leading zeros, got `1` at byte 3");
    says("[1e999]", "expected a number that fits 64 bits, got `]` at byte 6");
    says("1e999", "expected a number that fits 64 bits, got the end at byte 5");
    says("\"a\nb\"", "expected control characters in a text escaped, got `\\u{a}` at byte 2");
    says("\"\\x\"", "expected one of the escapes of JSON, got `x` at byte 2");
    says("\"\\u00ü\"", "expected four hexadecimal digits after `\\u`, got `ü` at byte 5");
    says("\"\\ud83d\"", "expected both halves of a surrogate pair, got `\"` at byte 7");
    says("\"\\ud83d\\u0041\"", "expected both halves of a surrogate pair, got `1` at byte 12");
    says("[\"ü\", ü]", "expected a value, got `ü` at byte 7");
}

#[test]
fn bytes_that_are_no_utf8_are_an_error_and_cut_characters_are_none() {
    for (text, at) in [(&b"[\"a\xff\"]"[..], 3), (b"[\"\xc3(\"]", 2), (b"\"\xf0\x9f\x98(", 1), (b"\"\xed\xa0\x80\"", 1)]
    {
        for sizes in [[1], [2], [usize::MAX]] {
            let error = read(text, &sizes).expect_err("no UTF-8");
            assert_eq!(error.to_string(), format!("expected UTF-8, got other bytes at byte {at}"));
        }
    }
    let error = read("\"ü".as_bytes().split_last().unwrap().1, &[1]).expect_err("cut");
    assert!(error.is_cut(), "{error}");

    // A piece of text after half a character: the character is broken.
    let mut json = Incremental::new();
    json.feed(b"\"\xc3").unwrap();
    assert!(json.feed_str("a").is_err());
    for _ in 0..9 {
        assert!(json.feed(b"\xc3").is_err());
    }
}

#[test]
fn an_error_stays_and_so_does_the_value() {
    let mut json = Incremental::new();
    json.feed_str(r#"{"a": [1, "x"#).unwrap();
    let error = json.feed_str("y\n\"]}").unwrap_err();
    assert_eq!((json.error(), error.offset(), json.offset()), (Some(&error), 13, 13));
    assert_eq!(json.value(), Some(&json!({"a": [1, "xy"]})));
    assert_eq!(json.feed_str("\"]}"), Err(error));
    assert_eq!(json.feed(b""), Err(error));
    assert_eq!(json.value(), Some(&json!({"a": [1, "xy"]})));
    assert_eq!(json.finish(), Err(error));
}

#[test]
fn a_problem_is_explained_with_the_text() {
    let text = r#"{"stops": [1, 2,]}"#;
    let error = read(text.as_bytes(), &[3]).unwrap_err();
    assert_eq!(error.problem().to_string(), "expected a value, got `]` at byte 16");
    assert_eq!(error.problem().kind, ProblemKind::Malformed);
    assert!(error.explain(text).to_string().contains("no comma before the closing `]`"));
    // Not the text that the error is of.
    assert_eq!(error.explain("{}"), error.problem());
}

#[test]
fn what_is_too_deep_for_serde_json_is_too_deep() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        for depth in [126, 127, 128, 500] {
            let text = format!("{}0{}", open.repeat(depth), close.repeat(depth));
            let ours = read(text.as_bytes(), &[7]);
            assert_eq!(ours.is_ok(), depth < 128);
            assert_eq!(ours.ok(), serde_json::from_str::<Value>(&text).ok());
        }
    }
    let error = read("[".repeat(200).as_bytes(), &[1]).unwrap_err();
    assert_eq!(error.to_string(), "expected values that are nested less than 128 levels deep, got `[` at byte 127");
    assert_eq!((error.problem().kind, error.explain("[").kind), (ProblemKind::TooLarge, ProblemKind::TooLarge));
}

#[test]
fn limits_can_be_set() {
    let with = |limits, text: &str, size: usize| {
        let mut json = Incremental::with_limits(limits);
        for piece in super::pieces(text.as_bytes(), &[size]) {
            let _ = json.feed(piece);
        }
        json.finish()
    };
    for size in [1, 2, 100] {
        let limits = Limits { depth: 2, ..Limits::default() };
        assert_eq!(with(limits, "[0, 1]", size), Ok(json!([0, 1])));
        assert_eq!(with(limits, "[[]]", size).unwrap_err().offset(), 1);
        let limits = Limits { depth: usize::MAX, ..Limits::default() };
        assert_eq!(with(limits, &"[".repeat(100_000), size).unwrap_err().offset(), 127);

        let limits = Limits { bytes: 5, ..Limits::default() };
        assert_eq!(with(limits, "\"abc\"", size), Ok(json!("abc")));
        let error = with(limits, "\"abcd\"", size).unwrap_err();
        assert_eq!(error.to_string(), "expected at most 5 bytes, got more");
        assert_eq!(error.problem().kind, ProblemKind::TooLarge);
        assert!(with(limits, "\"abcü\"", size).unwrap_err().offset() <= 5);
        assert_eq!(with(limits, "[}    ", size).unwrap_err().offset(), 1, "what is wrong first is told");
    }
}

#[test]
fn a_long_number_is_shown_as_far_as_it_fits() {
    let mut json = Incremental::new();
    for index in 0..100_000 {
        json.feed(b"7").unwrap();
        assert!(json.value().is_some_and(Value::is_number), "{index}");
    }
    assert_eq!(json.value().and_then(Value::as_f64).map(f64::log10).map(f64::floor), Some(307.0));
    assert!(!json.finish().unwrap_err().is_cut());

    let text = format!("[0.{}1e{}]", "0".repeat(1000), 1001);
    assert_eq!(read(text.as_bytes(), &[1]), Ok(json!([1.0])));
}

#[test]
fn it_tells_where_it_stands() {
    let mut json = Incremental::new();
    let mut place = |piece: &str| {
        json.feed_str(piece).unwrap();
        json.place().map(|place| place.to_string())
    };
    assert_eq!(place(""), Some(String::new()));
    assert_eq!(place(r#"{"a/b": [1, {"#), Some("/a~1b/1".to_owned()));
    assert_eq!(place("}"), Some("/a~1b".to_owned()));
    assert_eq!(place("]"), Some(String::new()));
    assert_eq!(place("}"), None);
}
