//! Properties of any text and any way to cut it, and the texts: JSON, or nearly.

use proptest::{collection::vec, prelude::*};
use serde_json::Value;

use super::{apply, pieces, read};
use crate::json::Incremental;

/// Asserts that the value is that of `serde_json`, or an error where it has one.
#[track_caller]
fn agrees(text: &[u8], sizes: &[usize]) {
    let shown = String::from_utf8_lossy(text);
    match (read(text, sizes), serde_json::from_slice::<Value>(text)) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!(ours, theirs, "{shown}");
            // `==` does not see the order of names, nor the sign of 0.
            assert_eq!(ours.to_string(), theirs.to_string(), "{shown}");
        }
        (Err(ours), Err(theirs)) => {
            assert!(!ours.is_cut() || theirs.is_eof() || str::from_utf8(text).is_err(), "{shown}\n{ours}\n{theirs}");
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
    fn what_is_no_json_is_none_however_it_is_cut(text in broken(), sizes in sizes()) {
        agrees(&text, &sizes);
    }

    #[test]
    fn texts_near_json_are_read_alike(text in r#"[{}\[\]",:0-9a-c\\u \-.e+]{0,24}"#, sizes in sizes()) {
        agrees(text.as_bytes(), &sizes);
    }

    #[test]
    fn the_value_so_far_is_that_of_the_repaired_text(text in json(), sizes in sizes()) {
        prop_assume!(serde_json::from_str::<Value>(&text).is_ok());
        let mut json = Incremental::new();
        let mut end = 0;
        for piece in pieces(text.as_bytes(), &sizes) {
            json.feed(piece).unwrap();
            end += piece.len();
            let whole = &text[..text.floor_char_boundary(end)];
            prop_assert_eq!(json.value().cloned(), view(whole), "{}", whole);
        }
    }

    #[test]
    fn changes_make_of_a_copy_what_the_value_is(text in broken(), sizes in sizes()) {
        let mut json = Incremental::new();
        let (mut copy, mut closed) = (None, 0);
        for piece in pieces(&text, &sizes) {
            let result = json.feed_with(piece, &mut |path, change| {
                closed += usize::from(change == crate::json::Change::Closed);
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
        let (mut bytes, mut chars) = (Incremental::new(), Incremental::new());
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

/// JSON texts with all that JSON has: white space, escapes, names given twice. Some have half a surrogate pair or a number
/// out of range.
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

/// JSON texts with something else in one place.
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

/// Returns the sizes of pieces.
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

/// Returns the value so far, by the simplest means: repair the text and read it from its start.
///
/// The value of a beginning of a JSON text: what can be read when as little as possible of its end is left out, a word is
/// completed, and what is open is closed.
fn view(text: &str) -> Option<Value> {
    const WORDS: [&str; 3] = ["true", "false", "null"];
    let endings = WORDS.iter().flat_map(|word| (1..word.len()).map(|at| &word[at..]));
    let endings: Vec<&str> = std::iter::once("").chain(endings).collect();
    (0..=text.len()).rev().filter(|&end| text.is_char_boundary(end)).find_map(|end| {
        // Only the word that the text ends with is completed: not one whose end was left out, and none in quotes.
        let letter = text.ends_with(|c: char| c.is_ascii_lowercase());
        let endings = if end == text.len() && letter && !closed(text).contains('"') { &endings[..] } else { &[""] };
        endings.iter().find_map(|ending| {
            let text = format!("{}{ending}", &text[..end]);
            serde_json::from_str(&(text.clone() + &closed(&text))).ok()
        })
    })
}

/// Returns the brackets and quotes that close everything that is open at the end of `text`.
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
    use serde_json::json;

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
