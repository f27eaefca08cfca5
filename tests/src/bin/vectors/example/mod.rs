//! `example`: calls of the tools of the examples, one after the other.

mod censorship;
mod consensus;
mod middleware;

use serde_json::{Value, json};
use tool_runtime::{CallError, Context, Toolset, feedback::Success, schema::answer::Form};

use crate::case::same;

pub(crate) fn run(case: &Value) -> Result<(), String> {
    let name = case["name"].as_str().ok_or("no name")?;
    let calls = case["calls"].as_array().ok_or("no calls")?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(|error| error.to_string())?;
    runtime.block_on(async {
        if name.contains("censorship") {
            return censorship::run(calls).await;
        }
        if name.contains("consensus") {
            return consensus::run(calls, name.contains("as is")).await;
        }
        if name.contains("middleware") {
            return middleware::run(calls).await;
        }
        Err(format!("kind not run yet: example, of {name}"))
    })
}

/// Makes sure that `got` is what is recorded of `call`.
fn compare(call: &Value, got: &Value) -> Result<(), String> {
    same(&call["result"], got).map_err(|difference| format!("{} {}: {difference}", call["op"], call["input"]))
}

/// What the tool `name` answers to `input`, as it crosses the wire. `thrown` is what the original writes before the text of an
/// error that is no refusal.
async fn answer(tools: &Toolset, name: &str, input: &Value, thrown: &str) -> Result<Value, String> {
    let spec = tools.get(name).ok_or_else(|| format!("no tool {name}"))?.spec();
    let output = match tools.call(name, &input.to_string(), &Context::new("call")).await {
        Ok(output) => output,
        Err(CallError::Failed(failure)) if failure.feedback().is_none() => {
            return Ok(json!({ "ok": false, "problems": [format!("{thrown}{}", failure.for_model())] }));
        }
        Err(error) => return error.feedback().map(tool_runtime::Rejection::to_json).ok_or_else(|| error.to_string()),
    };
    let Some(text) = output.as_json() else { return Ok(json!({ "ok": true })) };
    let value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let success = Success::new(value, Form::of(spec.output.as_ref().map(|schema| schema.neutral())));
    success.map(|success| json!(success)).map_err(|collision| collision.to_string())
}
