//! Tests of intermediate values, final values and errors for all ways of cutting a text.

mod conformance;

use proptest::{collection::vec, prelude::*};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{IncrementalJson, MAX_BYTES, Path, Segment, SyntaxError, ValueChange};
use crate::feedback::ProblemKind;

/// Reads `text` in pieces whose sizes cycle through `sizes`.
fn read(text: &[u8], sizes: &[usize]) -> Result<Value, SyntaxError> {
    let mut json = IncrementalJson::new();
    for piece in pieces(text, sizes) {
        // Later pieces return the same error.
        let _ = json.feed(piece);
    }
    json.finish()
}

fn pieces<'a>(mut text: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for size in sizes.iter().cycle() {
        let (piece, rest) = text.split_at((*size).min(text.len()));
        pieces.push(piece);
        text = rest;
        if text.is_empty() {
            break;
        }
    }
    pieces
}

/// Applies a change to a copy, as the documentation describes.
fn apply(copy: &mut Option<Value>, path: Path<'_>, change: ValueChange<'_>) {
    let mut steps = path.segments();
    let last = steps.next_back();
    let mut at = copy.as_mut();
    for step in steps {
        at = match step {
            Segment::Name(name) => at.and_then(|at| at.get_mut(name)),
            Segment::Item(index) => at.and_then(|at| at.get_mut(index)),
        };
    }
    match (change, last, at) {
        (ValueChange::Closed, ..) => {}
        (ValueChange::Set(value), None, _) => *copy = Some(value.clone()),
        (ValueChange::Set(value), Some(Segment::Name(name)), Some(Value::Object(map))) => {
            map.insert(name.to_owned(), value.clone());
        }
        (ValueChange::Set(value), Some(Segment::Item(index)), Some(Value::Array(list))) => {
            list.truncate(index);
            assert_eq!(list.len(), index, "items come one after the other");
            list.push(value.clone());
        }
        (ValueChange::Append(more), ..) => {
            let pointer = path.to_string();
            match copy.as_mut().and_then(|copy| copy.pointer_mut(&pointer)) {
                Some(Value::String(text)) => text.push_str(more),
                other => panic!("{pointer} is no text: {other:?}"),
            }
        }
        (change, _, at) => panic!("{change:?} at {path} does not fit {at:?}"),
    }
}

/// Asserts that `serde_json` reads the same value, or also fails.
#[track_caller]
fn agrees(text: &[u8], sizes: &[usize]) {
    let shown = String::from_utf8_lossy(text);
    match (read(text, sizes), serde_json::from_slice::<Value>(text)) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(ours, theirs, "{shown}");
            // `==` ignores the order of names, and the sign of 0.
            assert_eq!(ours.to_string(), theirs.to_string(), "{shown}");
        }
        (Err(ours), Err(theirs)) => {
            // A number at the end may still grow, so ours is cut where serde_json already finds it too large: `[1E310`.
            let ends = theirs.is_eof() || theirs.to_string().starts_with("number out of range");
            assert!(!ours.is_cut() || ends || str::from_utf8(text).is_err(), "{shown}\n{ours}\n{theirs}");
            assert!(ours.offset() <= text.len());
            assert_eq!(ours, read(text, &[usize::MAX]).expect_err("the same in one piece"), "{shown}");
        }
        (ours, theirs) => panic!("{shown}\n{ours:?}\n{theirs:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn json_is_the_same_however_it_is_cut(text in json(), sizes in sizes()) {
        agrees(text.as_bytes(), &sizes);
    }

    #[test]
    fn invalid_json_is_refused_for_any_cuts(text in broken(), sizes in sizes()) {
        agrees(&text, &sizes);
    }

    #[test]
    fn texts_near_json_are_read_alike(text in r#"[{}\[\]",:0-9a-c\\u \-.e+]{0,24}"#, sizes in sizes()) {
        agrees(text.as_bytes(), &sizes);
    }

    #[test]
    fn the_value_so_far_is_that_of_the_repaired_text(text in json(), sizes in sizes()) {
        prop_assume!(serde_json::from_str::<Value>(&text).is_ok());
        let mut json = IncrementalJson::new();
        let mut end = 0;
        for piece in pieces(text.as_bytes(), &sizes) {
            json.feed(piece).unwrap();
            end += piece.len();
            let whole = &text[..text.floor_char_boundary(end)];
            prop_assert_eq!(json.value().cloned(), view(whole), "{}", whole);
        }
    }

    #[test]
    fn changes_turn_a_copy_into_the_value(text in broken(), sizes in sizes()) {
        let mut json = IncrementalJson::new();
        let (mut copy, mut closed) = (None, 0);
        for piece in pieces(&text, &sizes) {
            let result = json.feed_with(piece, &mut |path, change| {
                closed += usize::from(change == ValueChange::Closed);
                apply(&mut copy, path, change);
            });
            prop_assert_eq!(json.value(), copy.as_ref());
            prop_assert_eq!(result.is_err(), json.error().is_some());
        }
        if let Ok(value) = serde_json::from_slice::<Value>(&text)
            && json.is_complete()
            && !String::from_utf8_lossy(&text).contains('"')
        {
            prop_assert_eq!(closed, count(&value), "without names, each value is closed once");
        }
    }

    #[test]
    fn text_and_bytes_are_the_same(text in json(), size in 1..9usize) {
        let (mut bytes, mut chars) = (IncrementalJson::new(), IncrementalJson::new());
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.ceil_char_boundary(size));
            prop_assert_eq!(bytes.feed(piece.as_bytes()), chars.feed_str(piece));
            prop_assert_eq!(bytes.value(), chars.value());
            prop_assert_eq!(bytes.place().map(|place| place.to_string()), chars.place().map(|place| place.to_string()));
            rest = after;
        }
        prop_assert_eq!(bytes.finish(), chars.finish());
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    }
}

/// Generates JSON texts with white space, escapes and repeated names. Some have half a surrogate pair or a number out of range.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        3 => number(),
        4 => string(),
        2 => prop_oneof![Just("true"), Just("false"), Just("null"), Just("[]"), Just("{ }")].prop_map(str::to_owned),
    ];
    let value = leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            vec((space(), inner.clone(), space()), 0..5).prop_map(|items| {
                let items: Vec<String> = items.into_iter().map(|(a, item, b)| a + &item + &b).collect();
                format!("[{}]", items.join(","))
            }),
            vec((space(), name(), space(), inner, space()), 0..5).prop_map(|entries| {
                let entries: Vec<String> =
                    entries.into_iter().map(|(a, name, b, value, c)| format!("{a}{name}{b}:{a}{value}{c}")).collect();
                format!("{{{}}}", entries.join(","))
            }),
        ]
    });
    (space(), value, space()).prop_map(|(a, value, b)| a + &value + &b)
}

/// Generates JSON texts with a mistake in one place.
fn broken() -> impl Strategy<Value = Vec<u8>> {
    let odd = prop_oneof![
        r#"[{}\[\]",:0-9a-c\\u \-.e+]{0,3}"#.prop_map(String::into_bytes),
        vec(any::<u8>(), 0..3),
        Just(b"\\ud83d".to_vec()),
        Just(b"\xc3".to_vec()),
    ];
    (json(), any::<prop::sample::Index>(), 0..3usize, odd).prop_map(|(text, at, gone, odd)| {
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len() + 1);
        let end = (at + gone).min(bytes.len());
        bytes.splice(at..end, odd);
        bytes
    })
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![Just(vec![1]), vec(1..10usize, 1..6), Just(vec![usize::MAX])]
}

fn space() -> impl Strategy<Value = String> {
    "[ \n\t\r]{0,2}"
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![3 => r#""[a-c]""#, 1 => string(), 1 => Just(r#""\u0061""#.to_owned())]
}

fn number() -> impl Strategy<Value = String> {
    const ODD: [&str; 6] =
        ["-0", "0.10", "18446744073709551615", "18446744073709551616", "-9223372036854775809", "1.1099999999999999"];
    prop_oneof![
        4 => "-?(0|[1-9][0-9]{0,4})",
        4 => r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?",
        1 => prop::sample::select(&ODD[..]).prop_map(str::to_owned),
    ]
}

fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => r#"[^"\\\x00-\x1f]{0,12}"#,
        2 => r#"\\["\\/bfnrt]"#,
        1 => r"\\u0[0-9a-fA-F]{3}",
        1 => r"\\ud[89abAB][0-9a-f]{2}\\u[dD][c-f][0-9a-f]{2}",
    ];
    vec(piece, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

/// Returns the value so far in the simplest way: repair the text and read it from its start.
///
/// The repair drops as little as possible from the end, completes a word, and closes what is open.
fn view(text: &str) -> Option<Value> {
    const WORDS: [&str; 3] = ["true", "false", "null"];
    let endings = WORDS.iter().flat_map(|word| (1..word.len()).map(|at| &word[at..]));
    let endings: Vec<&str> = std::iter::once("").chain(endings).collect();
    (0..=text.len()).rev().filter(|&end| text.is_char_boundary(end)).find_map(|end| {
        // Complete a word only if it ends the text: not before a dropped end, and not inside quotes.
        let letter = text.ends_with(|c: char| c.is_ascii_lowercase());
        let endings = if end == text.len() && letter && !closed(text).contains('"') { &endings[..] } else { &[""] };
        endings.iter().find_map(|ending| {
            let text = format!("{}{ending}", &text[..end]);
            serde_json::from_str(&(text.clone() + &closed(&text))).ok()
        })
    })
}

/// Returns the brackets and quotes that close everything open at the end of `text`.
fn closed(text: &str) -> String {
    let (mut open, mut quoted, mut escaped) = (Vec::new(), false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => drop(open.pop()),
            _ => {}
        }
    }
    let quote = if quoted { "\"" } else { "" };
    format!("{quote}{}", open.iter().rev().collect::<String>())
}

#[test]
fn the_model_shows_what_is_documented() {
    for (text, expected) in [
        ("", None),
        (" -", None),
        ("{", Some(json!({}))),
        (r#"{"a"#, Some(json!({}))),
        (r#"{"a": "#, Some(json!({}))),
        (r#"{"a": ""#, Some(json!({"a": ""}))),
        (r#"{"a": "x\"#, Some(json!({"a": "x"}))),
        (r#"{"a": "x\ud83d\ude0"#, Some(json!({"a": "x"}))),
        (r#"{"a": 12."#, Some(json!({"a": 12}))),
        (r#"{"a": 12,"#, Some(json!({"a": 12}))),
        (r"[t", Some(json!([true]))),
        (r"[nul", Some(json!([null]))),
        (r"[null, -", Some(json!([null]))),
    ] {
        assert_eq!(view(text), expected, "{text}");
    }
}

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
    says("{1", "expected a key in double quotes or `}`, got `1` at byte 1");
    says("{\"a\":1,}", "expected a key in double quotes, got `}` at byte 7");
    says("{\"a\" 1}", "expected a colon between key and value, got `1` at byte 5");
    says("{\"a\":1]", "expected a comma or `}`, got `]` at byte 6");
    says("1 2", "expected nothing after the JSON, got `2` at byte 2");
    says("[]]", "expected nothing after the JSON, got `]` at byte 2");
    says("[trUe]", "expected one of the words true, false and null, got `U` at byte 3");
    says("[-]", "expected a digit, got `]` at byte 2");
    says("[1.e5]", "expected a digit, got `e` at byte 3");
    says("[-01]", "expected a number without leading zeros, got `1` at byte 3");
    says("[1e999]", "expected a number that fits 64 bits, got `]` at byte 6");
    says("1e999", "expected a number that fits 64 bits, got the end at byte 5");
    says("\"a\nb\"", "expected control characters in a string escaped, got `\\u{a}` at byte 2");
    says("\"\\x\"", "expected one of the escapes of JSON, got `x` at byte 2");
    says("\"\\é\"", "expected one of the escapes of JSON, got `é` at byte 2");
    says("\"\\u00ü\"", "expected four hexadecimal digits after `\\u`, got `ü` at byte 5");
    says("\"\\ud83d\"", "expected both halves of a surrogate pair, got `\"` at byte 7");
    says("\"\\ud83d\\u0041\"", "expected both halves of a surrogate pair, got `1` at byte 12");
    says("[\"ü\", ü]", "expected a value, got `ü` at byte 7");
}

#[test]
fn invalid_utf8_is_an_error_and_a_cut_character_is_not() {
    for (text, at) in [(&b"[\"a\xff\"]"[..], 3), (b"[\"\xc3(\"]", 2), (b"\"\xf0\x9f\x98(", 1), (b"\"\xed\xa0\x80\"", 1)]
    {
        for sizes in [[1], [2], [usize::MAX]] {
            let error = read(text, &sizes).expect_err("no UTF-8");
            assert_eq!(error.to_string(), format!("expected UTF-8, got other bytes at byte {at}"));
        }
    }
    let error = read("\"ü".as_bytes().split_last().unwrap().1, &[1]).expect_err("cut");
    assert!(error.is_cut(), "{error}");

    // Text follows half a character, so the character is invalid.
    let mut json = IncrementalJson::new();
    json.feed(b"\"\xc3").unwrap();
    assert!(json.feed_str("a").is_err());
    for _ in 0..9 {
        assert!(json.feed(b"\xc3").is_err());
    }
}

#[test]
fn an_error_stays_and_so_does_the_value() {
    let mut json = IncrementalJson::new();
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
    // The error belongs to another text, so `explain` adds no details.
    assert_eq!(error.explain("{}"), error.problem());
}

#[test]
fn the_depth_limit_is_that_of_serde_json() {
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
fn a_text_fails_at_its_maximum_length() {
    let text = format!("\"{}", "x".repeat(MAX_BYTES - 2));
    for (last, fits) in [("\"", true), ("x\"", false), ("ü", false)] {
        let mut json = IncrementalJson::new();
        let result = json.feed_str(&text).and_then(|()| json.feed_str(last));
        assert_eq!(result.is_ok(), fits, "{last}");
        if let Err(error) = result {
            assert_eq!(error.to_string(), "expected at most 16777216 bytes, got more");
            assert_eq!(error.problem().kind, ProblemKind::TooLarge);
            assert!(error.offset() <= MAX_BYTES);
        } else {
            assert!(json.finish().is_ok());
        }
    }
    // The first error is reported.
    assert_eq!(read(format!("[}}{}", " ".repeat(MAX_BYTES)).as_bytes(), &[usize::MAX]).unwrap_err().offset(), 1);
}

#[test]
fn a_long_number_is_shown_as_far_as_it_fits() {
    let mut json = IncrementalJson::new();
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
fn the_place_is_that_of_the_latest_value() {
    let mut json = IncrementalJson::new();
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

/// Partial values from the AI SDK, written by `views.mjs`.
const VIEWS: &str = include_str!("views.jsonl");

#[derive(Deserialize)]
struct Case {
    text: String,
    /// Each partial value, and the byte length at which it first appears.
    views: Vec<(usize, Value)>,
}

#[test]
fn views_are_those_of_the_ai_sdk() {
    let mut compared = 0;
    for line in VIEWS.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let mut json = IncrementalJson::new();
        let mut views = case.views.iter().peekable();
        let mut expected = None;
        for (at, c) in case.text.char_indices() {
            json.feed_str(c.encode_utf8(&mut [0; 4])).unwrap();
            let end = at + c.len_utf8();
            if let Some((_, view)) = views.next_if(|(bytes, _)| *bytes == end) {
                expected = Some(view);
            }
            let same = match (json.value(), expected) {
                (Some(ours), Some(theirs)) => same(ours, theirs),
                (ours, theirs) => ours == theirs,
            };
            assert!(same, "{}\nours {:?}, theirs {expected:?}", &case.text[..end], json.value());
            compared += 1;
        }
        assert!(views.next().is_none() && json.finish().is_ok());
    }
    assert!(compared > 600, "{compared}");
}

/// Returns whether two values are equal in JavaScript, which has one type of numbers.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.keys().eq(b.keys()) && a.values().zip(b.values()).all(|(a, b)| same(a, b))
        }
        (a, b) => a == b,
    }
}
