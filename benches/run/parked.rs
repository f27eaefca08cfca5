//! What a call that waits holds.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tool_runtime::{
    Agent, Context, Toolset,
    model::{ScriptedModel, Turn},
    store::MemoryStore,
    tool, toolset,
};

use crate::{memory, report::Report};

const CALLS: usize = 512;

/// Prints the targets.
pub(crate) fn measure(report: &mut Report) {
    let names = ["run/parked", "run/parked-log"];
    if !report.wants_any(&names) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime starts");
    let alone = runtime.block_on(alone());
    // What a call holds that has ended, too, such as its part of the conversation, is not of its waiting.
    let plain = runtime.block_on(agent(CALLS, false)) - runtime.block_on(agent(0, false));
    let logged = runtime.block_on(agent(CALLS, true));
    let how = format!("bytes a call: {plain:.0} in the agent, of which the tool's own boxed future {alone:.0}");
    report.at_most(names[0], plain - alone, 600.0, &how);
    let how = format!("bytes a call, with its part of the conversation and its log: {logged:.0}, of which the tool's own future {alone:.0}");
    report.at_most(names[1], logged - alone, 2048.0, &how);
}

/// Waits for ever.
#[tool(effect = read_only)]
async fn wait(
    /// The number.
    n: i64,
    #[state] started: &AtomicUsize,
) -> i64 {
    started.fetch_add(1, Ordering::Relaxed);
    std::future::pending::<()>().await;
    n
}

/// The heap bytes of one call's future.
async fn alone() -> f64 {
    let tools: Toolset = toolset!(AtomicUsize::new(0); wait);
    let cx = Context::new("call");
    drop(tools.start("wait", r#"{"n":1}"#, &cx));
    let before = memory::live();
    let started: Vec<_> = (0..CALLS).map(|_| tools.start("wait", r#"{"n":1}"#, &cx)).collect();
    let after = memory::live();
    drop(started);
    each(after - before - i64::try_from(CALLS * size_of::<tool_runtime::CallFuture<'_>>()).unwrap_or(0))
}

/// The heap bytes, for each call of a turn, of an agent of whose calls `running` run, and wait.
async fn agent(running: usize, log: bool) -> f64 {
    let started = Arc::new(AtomicUsize::new(0));
    let turn = (0..CALLS).fold(Turn::default(), |turn, n| turn.then_call("wait", json!({ "n": n })));
    let mut agent = Agent::new(ScriptedModel::new([turn, Turn::say("Done.")]))
        .tools(toolset!(Arc::clone(&started); wait))
        .parallel(CALLS)
        .max_calls(if running == 0 { 0 } else { CALLS });
    if log {
        agent = agent.store(MemoryStore::new());
    }
    let mut session = agent.session();
    let before = memory::live();
    let going = session.send("Go.");
    let mut going = Box::pin(going);
    let waited = tokio::time::timeout(Duration::from_millis(200), &mut going).await;
    assert_eq!((waited.is_err(), started.load(Ordering::Relaxed)), (running > 0, running), "all calls run, and wait");
    let live = memory::live() - before;
    drop(going);
    each(live)
}

fn each(bytes: i64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    let each = bytes as f64 / CALLS as f64;
    each
}
