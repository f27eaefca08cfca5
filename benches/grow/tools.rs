//! The cost of a call, and of a turn, of an agent with many tools.

use std::sync::Arc;

use serde_json::json;
use tokio::runtime::Runtime;
use tool_runtime::{
    Agent, Toolset,
    model::{FunctionModel, Turn},
    tool::ErasedTool,
    toolset::RuntimeTool,
};

use crate::{clock, report::Report};

const CALL: &str = "grow/tools";
const ORDER: &str = "grow/tools-order";
const ACTIVE: &str = "grow/tools-active";

/// The number of rounds in a batch, and of batches.
const ROUNDS: u64 = 20;
const BATCHES: usize = 40;

/// Measures agents with many tools, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    if report.wants_any(&[CALL, ORDER, ACTIVE]) {
        compare(report, CALL, [3000, 10], 1.1, |agent, _| agent, call);
        compare(report, ORDER, [3000, 300], 12.0, |agent, count| agent.tool_order(names(count)), ask);
        compare(report, ACTIVE, [3000, 300], 12.0, |agent, count| agent.active_tools(names(count).skip(1)), ask);
    }
}

fn compare(
    report: &mut Report,
    name: &str,
    counts: [usize; 2],
    limit: f64,
    set: fn(Agent, usize) -> Agent,
    repeat: fn(&Runtime, &Agent, u64),
) {
    if !report.wants(name) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime starts");
    let agent = |count| Agent::new(FunctionModel::new(|_| Turn::say("Hello."))).tools(tools(count));
    let [many, few] = counts.map(|count| set(agent(count), count));
    let mut with_many = |rounds| repeat(&runtime, &many, rounds);
    let mut with_few = |rounds| repeat(&runtime, &few, rounds);
    let measured = clock::time_in_turns(&mut [&mut with_many, &mut with_few], ROUNDS, BATCHES);
    let pairs: Vec<_> = measured.iter().map(|times| [times[0] / 1e3, times[1] / 1e3]).collect();
    let [ratio, many, few] = clock::medians(&pairs);
    let how = format!("medians of pairs; µs of CPU: with {} tools {many:.1}, with {} {few:.1}", counts[0], counts[1]);
    report.at_most(name, ratio, limit, &how);
}

fn call(runtime: &Runtime, agent: &Agent, calls: u64) {
    runtime.block_on(async {
        for _ in 0..calls {
            agent.call("tool_7", "{}").await.expect("the call is right");
        }
    });
}

fn ask(runtime: &Runtime, agent: &Agent, prompts: u64) {
    runtime.block_on(async {
        for _ in 0..prompts {
            agent.run("Hello.").await.expect("the model answers");
        }
    });
}

fn tools(count: usize) -> Toolset {
    let tool = |name: String| {
        let tool = RuntimeTool::new(name, "One of many tools.").handler(async |_, _| Ok(json!("Done.")));
        Arc::new(tool.expect("a schema is not set")) as Arc<dyn ErasedTool>
    };
    Toolset::of(names(count).map(tool).collect()).expect("the names are unique")
}

fn names(count: usize) -> impl Iterator<Item = String> {
    (0..count).rev().map(|number| format!("tool_{number}"))
}
