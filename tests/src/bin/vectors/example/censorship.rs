//! Recorded tool calls of the fixture `censorship`, whose search refuses some words.

use serde_json::Value;
use tool_runtime::toolset;
use tool_test_fixtures::censorship::{Library, search};

use super::{answer, compare};

pub(super) async fn run(calls: &[Value]) -> Result<(), String> {
    let tools = toolset!(Library::default(); search);
    for call in calls {
        compare(call, &answer(&tools, "search", &call["input"], "").await?)?;
    }
    Ok(())
}
