//! `idempotency`: sequences of calls of a tool that counts its runs.
//!
//! [`Idempotency::compatible`] must return the recorded results, except for equal simultaneous calls. In tool2agent, all
//! of them run. Here, one runs, and the others are refused as duplicates. A key that is present without a value is `null`.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tool_runtime::{
    Failure, Rejection, Toolset,
    layer::{Idempotency, ProblemReports},
    toolset::RuntimeTool,
};

use crate::case;

pub(crate) fn run(case: &Value) -> Result<Vec<&'static str>, String> {
    let calls = case["calls"].as_array().ok_or("no calls")?;
    // A sequence may continue another one.
    let first = calls.iter().filter_map(|call| call["result"]["n"].as_u64()).min().unwrap_or(1);
    let tools = counting_tools(first.saturating_sub(1))?;
    let call = async |input: &Value| case::answer(&tools, &with_null(input.clone())).await;
    case::block_on(async {
        if case["name"].as_str().is_some_and(|name| name.contains("concurrent")) {
            let got = join_all(calls.iter().map(|recorded| call(&recorded["input"]))).await;
            check_that_one_ran(calls, &got)?;
            return Ok(vec!["equal calls at the same time run once"]);
        }
        for recorded in calls {
            case::check_equal(&recorded["result"], &call(&recorded["input"]).await)?;
        }
        Ok(Vec::new())
    })
}

/// Returns a tool that counts its runs, from `count` on.
fn counting_tools(count: u64) -> Result<Toolset, String> {
    let count = Arc::new(AtomicU64::new(count));
    let tool = RuntimeTool::new("count", "Counts its runs.").handler(move |input, _| {
        let count = Arc::clone(&count);
        async move {
            let n = count.fetch_add(1, Ordering::SeqCst) + 1;
            tokio::task::yield_now().await;
            match input["query"].as_str() {
                Some("fail") => Err(Rejection::from_message("down").into()),
                Some("boom") => Err(Failure::hidden("x")),
                _ => Ok(json!({ "n": n })),
            }
        }
    });
    let tools = tool.and_then(|tool| Toolset::new().with(tool)).map_err(|error| error.to_string())?;
    let exceptions = ProblemReports::new().prefix(ProblemReports::PREFIX).in_full();
    Ok(tools.layer(exceptions).layer(Idempotency::compatible(10_000)))
}

/// Checks that one of several equal simultaneous calls ran, with the output of the first, and that the others are duplicates.
fn check_that_one_ran(recorded: &[Value], got: &[Value]) -> Result<(), String> {
    for (at, (recorded, answer)) in recorded.iter().zip(got).enumerate() {
        if at == 0 {
            case::check_equal(&recorded["result"], answer)?;
        } else if answer["problems"].as_array().is_none_or(|problems| problems.len() != 1) || answer["ok"] != false {
            return Err(format!("expected a duplicate, got {answer}"));
        }
    }
    Ok(())
}

fn with_null(mut value: Value) -> Value {
    for value in value.as_object_mut().into_iter().flat_map(serde_json::Map::values_mut) {
        if case::is_undefined(value) {
            *value = Value::Null;
        }
    }
    value
}
