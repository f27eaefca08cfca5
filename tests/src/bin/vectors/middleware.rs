//! `middleware`: chains of layers around a tool that returns its value.
//!
//! The case's name is the chain: `add1|(mul2|add10)` is `add1.pipe(mul2.pipe(add10))`.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tool_runtime::{
    CallFuture, Output, ToolSpec, Toolset,
    toolset::{Invocation, Layer, Next, RuntimeTool},
};

use crate::case;

type Trace = Arc<Mutex<Vec<String>>>;

pub(crate) fn run(case: &Value) -> Result<(), String> {
    let name = case["name"].as_str().unwrap_or_default();
    let chain = name.rsplit_once("/ ").map_or(name, |(_, chain)| chain);
    case::block_on(async {
        for call in case["calls"].as_array().ok_or("no calls")? {
            let trace = Trace::default();
            let (layer, rest) = read(chain, &trace)?;
            if !rest.is_empty() {
                return Err(format!("invalid chain: {chain}"));
            }
            let base = RuntimeTool::new("base", "Gives its value back.")
                .handler(|input, _| async move { Ok(json!({ "result": input["value"] })) })
                .map_err(|error| error.to_string())?;
            let wrapped = layer.apply(Arc::new(base));
            let tools = Toolset::of(vec![wrapped]).map_err(|error| error.to_string())?;
            case::check_equal(&call["result"], &case::answer(&tools, &call["input"]).await)?;
            if let Some(expected) = call.get("trace") {
                let trace = trace.lock().map_err(|error| error.to_string())?;
                case::check_equal(expected, &json!(*trace))?;
            }
        }
        Ok(())
    })
}

/// Reads a chain. Also returns the rest of `text`.
fn read<'a>(text: &'a str, trace: &Trace) -> Result<(Arc<dyn Layer>, &'a str), String> {
    let (mut chain, mut rest) = read_one(text, trace)?;
    while let Some(more) = rest.strip_prefix('|') {
        let (next, behind) = read_one(more, trace)?;
        chain = Arc::new(chain.pipe(next));
        rest = behind;
    }
    Ok((chain, rest))
}

fn read_one<'a>(text: &'a str, trace: &Trace) -> Result<(Arc<dyn Layer>, &'a str), String> {
    if let Some(inside) = text.strip_prefix('(') {
        let (chain, rest) = read(inside, trace)?;
        return Ok((chain, rest.strip_prefix(')').ok_or("a bracket is not closed")?));
    }
    let (name, rest) = text.split_at(text.find(['|', ')']).unwrap_or(text.len()));
    let (kind, number) = name.split_at(name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len()));
    let number: i64 = number.parse().map_err(|_| format!("unknown step: {name}"))?;
    let change: fn(i64, i64) -> i64 = match kind {
        "add" => i64::wrapping_add,
        "sub" => i64::wrapping_sub,
        "mul" => i64::wrapping_mul,
        _ => return Err(format!("unknown step: {name}")),
    };
    Ok((Arc::new(Step { name: name.to_owned(), number, change, trace: Arc::clone(trace) }), rest))
}

struct Step {
    name: String,
    number: i64,
    change: fn(i64, i64) -> i64,
    trace: Trace,
}

impl Step {
    fn note(&self, what: &str) {
        if let Ok(mut trace) = self.trace.lock() {
            trace.push(format!("{what} {}", self.name));
        }
    }
}

impl Layer for Step {
    fn spec(&self, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        self.note("transform");
        Arc::clone(spec)
    }

    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            self.note("before");
            let result = next.run().await;
            self.note("after");
            let mut output: Value = result?.decode().map_err(tool_runtime::Failure::from)?;
            if let Some(number) = output["result"].as_i64() {
                output["result"] = (self.change)(number, self.number).into();
            }
            Ok(Output::json(&output)?)
        })
    }
}
