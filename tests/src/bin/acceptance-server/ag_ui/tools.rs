//! The tools of the contract.

use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tool_runtime::{Context, Provide, Toolset, tool, toolset};
use tool_server::protocol::ag_ui::Frontend;

/// The paths that were deleted, in order.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn with<T>(&self, work: impl FnOnce(&mut Vec<String>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[derive(Provide)]
struct State {
    log: Log,
}

/// The tools that run here.
pub(crate) fn tools() -> Toolset {
    let state = State { log: Log::default() };
    toolset!(state; get_weather, divide, echo_input, delete_file, executed_log)
}

#[derive(Serialize, JsonSchema)]
struct Weather {
    city: String,
    temp_c: f64,
}

/// The weather of a city.
#[tool(effect = read_only)]
fn get_weather(
    /// The city.
    city: String,
) -> Weather {
    Weather { city, temp_c: 21.5 }
}

/// Divide one number by another.
#[tool(effect = read_only)]
fn divide(
    /// The number.
    a: f64,
    /// By what.
    b: f64,
) -> Result<Value, String> {
    if b == 0.0 {
        return Err("a number cannot be divided by zero".to_owned());
    }
    let quotient = a / b;
    // A whole number is written as one.
    #[allow(clippy::cast_possible_truncation, reason = "it is looked at before")]
    let whole = (quotient.fract() == 0.0 && quotient.abs() < 1e15).then_some(quotient as i64);
    Ok(whole.map_or_else(|| json!(quotient), Value::from))
}

/// What the client sent along.
#[tool(effect = read_only)]
fn echo_input(#[context] cx: &Context) -> Result<Value, String> {
    let frontend = Frontend::of(cx).ok_or("there is no frontend")?;
    let context = frontend.context().iter();
    let context = context.map(|entry| json!({ "description": entry.description, "value": entry.value }));
    Ok(json!({
        "state": frontend.state(),
        "context": context.collect::<Vec<_>>(),
        "forwardedProps": frontend.forwarded_props(),
        "tools": frontend.tools().iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
    }))
}

/// Delete a file.
#[tool(effect = destructive, approval = always)]
fn delete_file(
    /// Which.
    path: String,
    #[state] log: &Log,
) -> String {
    let told = format!("deleted {path}");
    log.with(|deleted| deleted.push(path));
    told
}

/// The files that were deleted.
#[tool(effect = read_only)]
fn executed_log(#[state] log: &Log) -> Vec<String> {
    log.with(|deleted| deleted.clone())
}
