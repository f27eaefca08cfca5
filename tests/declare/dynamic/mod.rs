//! Tests of dynamic parameters that `#[dynamic]` declares.

#![allow(clippy::unused_async, reason = "a validator may be async without waiting")]

mod checks;
mod edges;
mod enums;
mod equivalence;
mod lists;
mod nested;
mod shapes;

use futures_util::FutureExt;
use serde_json::Value;
use tool_runtime::{CallError, Context, Toolset};

/// Calls a tool. Returns the output, or the refusal that the model receives.
#[allow(clippy::needless_pass_by_value, reason = "arguments are written where they are used")]
fn call(tools: &Toolset, name: &str, arguments: Value) -> Result<Value, Value> {
    let cx = Context::new("c");
    match tools.call(name, &arguments.to_string(), &cx).now_or_never().expect("the call does not wait") {
        Ok(output) => Ok(serde_json::from_str(output.as_json().unwrap()).unwrap()),
        Err(CallError::Rejected(rejection)) => Err(rejection.to_json()),
        Err(other) => panic!("{other:?}"),
    }
}
