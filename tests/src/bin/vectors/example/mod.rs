//! `example`: recorded calls of tools of fixtures and examples, one after the other.

mod censorship;
mod consensus;
mod middleware;

use serde_json::{Value, json};
use tool_runtime::{CallError, Context, Toolset};

use crate::case::{block_on, check_equal};

pub(crate) fn run(case: &Value) -> Result<(), String> {
    let name = case["name"].as_str().ok_or("no name")?;
    let calls = case["calls"].as_array().ok_or("no calls")?;
    match name {
        _ if name.contains("middleware") => block_on(middleware::run(calls)),
        _ if name.contains("censorship") => block_on(censorship::run(calls)),
        _ if name.contains("consensus") => block_on(consensus::run(calls, name.contains("as is"))),
        _ => Err(format!("no such example: {name}")),
    }
}

/// Checks that `got` is the recorded result of `call`.
fn compare(call: &Value, got: &Value) -> Result<(), String> {
    check_equal(&call["result"], got).map_err(|difference| format!("{} {}: {difference}", call["op"], call["input"]))
}

/// Returns the answer of the tool `name` to `input` in the wire format. `thrown` is tool2agent's prefix for an error that is not
/// a refusal.
async fn answer(tools: &Toolset, name: &str, input: &Value, thrown: &str) -> Result<Value, String> {
    let spec = tools.get(name).ok_or_else(|| format!("no tool {name}"))?.spec();
    let result = tools.call(name, &input.to_string(), &Context::new("call")).await;
    Ok(match &result {
        Err(CallError::Failed(failure)) if failure.rejection().is_none() => {
            json!({ "ok": false, "problems": [format!("{thrown}{}", failure.for_model())] })
        }
        // A layer may return nothing in place of the declared output.
        Ok(output) if output.as_json().is_none() => json!({ "ok": true }),
        _ => json!(spec.answer(&result)),
    })
}
