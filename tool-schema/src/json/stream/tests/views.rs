//! The views of npm `ai`, whose rules a user interface may rely on.

use serde::Deserialize;
use serde_json::Value;

use crate::json::Incremental;

/// The views that `views.mjs` has written.
const VIEWS: &str = include_str!("views.jsonl");

#[derive(Deserialize)]
struct Case {
    text: String,
    /// From which length on, in bytes, what is shown.
    views: Vec<(usize, Value)>,
}

#[test]
fn views_are_those_of_the_ai_sdk() {
    let mut compared = 0;
    for line in VIEWS.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let mut json = Incremental::new();
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
