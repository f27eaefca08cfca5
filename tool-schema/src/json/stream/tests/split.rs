//! What holds for any text and any way to cut it.

use proptest::prelude::*;
use serde_json::Value;

use super::{
    apply,
    model::view,
    pieces, read,
    text::{broken, json, sizes},
};
use crate::json::Incremental;

/// The same value as `serde_json`, or an error where it has one.
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
