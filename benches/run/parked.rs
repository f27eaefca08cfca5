//! The memory of a waiting call, against that of its future.

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

/// The maximum number of waiting calls, which one turn makes. A run with so few entries has no snapshot.
const CALLS: usize = 34;

/// Measures waiting calls, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    let names = ["run/parked", "run/parked-log"];
    if !report.wants_any(&names) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime starts");
    let alone = memory::count_during(measure_futures);
    let [few, many] = memory::count_during(|| [2, CALLS].map(|calls| runtime.block_on(measure_calls(calls))));
    let [work, all] = [0, 1].map(|at| each(many[at] - few[at], CALLS - 2));
    let how = format!(
        "bytes of heap that a call's waiting holds: {work:.0}, of which the tool's own boxed future {alone:.0}"
    );
    report.at_most(names[0], work - alone, 600.0, &how);
    let how = format!(
        "all bytes of a waiting call, its part of the conversation and of the log too: {all:.0}, its future {alone:.0}"
    );
    report.at_most(names[1], all - alone, 2048.0, &how);
}

/// Waits forever.
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

/// Returns the heap bytes of one call's future.
fn measure_futures() -> f64 {
    let tools: Toolset = toolset!(AtomicUsize::new(0); wait);
    let cx = Context::new("call");
    let start = || tools.prepare("wait", r#"{"n":1}"#, &cx).now().unwrap().expect("the call is right").work;
    drop(start());
    let mut started = Vec::with_capacity(CALLS);
    let before = memory::live();
    started.extend((0..CALLS).map(|_| start()));
    each(memory::live() - before, CALLS)
}

/// Returns the heap bytes that `calls` waiting calls hold: without their conversation and log, and with these.
async fn measure_calls(calls: usize) -> [i64; 2] {
    let started = Arc::new(AtomicUsize::new(0));
    let turn = (0..calls).fold(Turn::default(), |turn, n| turn.then_call("wait", json!({ "n": n })));
    let agent = Agent::new(ScriptedModel::new([turn, Turn::say("Done.")]))
        .tools(toolset!(Arc::clone(&started); wait))
        .max_parallel_calls(CALLS)
        .store(MemoryStore::new());
    let mut session = agent.session();
    let before = memory::live();
    let mut going = Box::pin(session.send("Go."));
    let waited = tokio::time::timeout(Duration::from_millis(200), &mut going).await;
    assert_eq!((waited.is_err(), started.load(Ordering::Relaxed)), (true, calls), "all calls run, and wait");
    let waiting = memory::live();
    drop(going);
    // The runtime drops aborted tasks with a delay.
    tokio::time::sleep(Duration::from_millis(20)).await;
    [waiting - memory::live(), waiting - before]
}

fn each(bytes: i64, calls: usize) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    let each = bytes as f64 / calls as f64;
    each
}
