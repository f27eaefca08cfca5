//! Compares [`IncrementalJson`], which reads JSON in pieces, with `serde_json`, which reads the whole text.

use serde_json::Value;
use tool_runtime::json::IncrementalJson;

use tool_test_kit::mutate::Random;

/// Reads `text` in pieces. Their lengths depend only on the text, so a failure can be repeated.
pub(crate) fn read(text: &str) {
    let seed = text.bytes().fold(1, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
    let mut random = Random::new(seed);
    let longest = 1 + random.below(24);
    let (mut json, mut copy) = (IncrementalJson::new(), IncrementalJson::new());
    let (mut rest, mut reported) = (text.as_bytes(), 0usize);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at((1 + random.below(longest)).min(rest.len()));
        let result = json.feed_with(piece, &mut |path, _| reported += path.segments().count());
        assert_eq!(copy.feed(piece), result, "a listener does not change the result");
        assert_eq!(result.is_err(), json.error().is_some());
        rest = after;
    }
    assert_eq!(json.value(), copy.value());
    match (json.finish(), serde_json::from_str::<Value>(text)) {
        (Ok(ours), Ok(theirs)) => assert_eq!(ours.to_string(), theirs.to_string()),
        (Err(error), Err(_)) => {
            assert!(error.offset() <= text.len());
            let _ = (error.to_string(), error.explain(text).to_string());
        }
        (ours, theirs) => panic!("ours: {ours:?}\ntheirs: {theirs:?}"),
    }
}
