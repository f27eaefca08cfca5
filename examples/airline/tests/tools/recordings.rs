//! The recording of this package, replayed, and recordings with faults.

use std::sync::Arc;

use airline::data::Desk;
use airline::replay::{Outcome, read, replay};

const RECORDING: &str = include_str!("../recording.jsonl");

#[tokio::test]
async fn the_recording_has_the_outcomes_of_this_desk() {
    let tools = airline::tools(Arc::new(Desk::open().unwrap()));
    let calls = read(RECORDING).unwrap();
    for (index, call) in calls.iter().enumerate() {
        let (outcome, text) = replay(&tools, call, index).await;
        assert_eq!(Some(&outcome), call.outcome.as_ref(), "line {}: {text}", index + 1);
    }
    let called = |tool: &str| {
        calls.iter().filter(|call| call.name == tool).any(|call| matches!(call.outcome, Some(Outcome::Output(_))))
    };
    for tool in tools.names() {
        assert!(called(tool), "no call of {tool} succeeds");
    }
}

#[test]
fn a_line_that_is_no_call_is_named() {
    let error = read("{\"name\": \"add_bags\", \"arguments\": {}}\n\n{\"name\": 1}").unwrap_err().to_string();
    assert!(error.starts_with("line 3: "), "{error}");
}
