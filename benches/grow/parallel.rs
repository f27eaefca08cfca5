//! The cost of parallel calls with a time limit that end one by one.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use tokio::sync::oneshot;
use tool_runtime::{
    Agent,
    model::{ScriptedModel, Turn},
    tool, toolset,
};

use crate::{clock, report::Report};

const NAME: &str = "grow/parallel";

/// The numbers of calls in a turn, and the largest ratio of the costs of a call.
const COUNTS: [usize; 2] = [1000, 100];
const LIMIT: f64 = 1.5;

const BATCHES: usize = 40;

/// The signal that lets a call end, and the one that it sends.
type Signals = (oneshot::Receiver<()>, oneshot::Sender<()>);

/// The places of a queue.
struct Queue(Mutex<Vec<Option<Signals>>>);

/// Wait for the call before this one.
#[tool(effect = read_only, timeout = "60s")]
async fn wait(
    /// The place in the queue.
    place: usize,
    #[state] queue: &Queue,
) {
    let signals = queue.0.lock().unwrap_or_else(PoisonError::into_inner)[place].take();
    let (before, next) = signals.expect("each place has one call");
    let _ = before.await;
    let _ = next.send(());
}

/// Measures parallel calls, and reports the target.
pub(crate) fn measure(report: &mut Report) {
    if !report.wants(NAME) {
        return;
    }
    let pairs: Vec<_> = (0..BATCHES).map(|_| COUNTS.map(cost_of_call)).collect();
    let [ratio, many, few] = clock::medians(&pairs);
    let how = format!(
        "medians of pairs; µs of CPU a call that waits for the one before: among {} {many:.1}, among {} {few:.1}",
        COUNTS[0], COUNTS[1]
    );
    report.at_most(NAME, ratio, LIMIT, &how);
}

/// Returns the microseconds of CPU for each of `count` calls of one turn.
fn cost_of_call(count: usize) -> f64 {
    let (first, mut before) = oneshot::channel();
    let places = (0..count).map(|_| {
        let (next, after) = oneshot::channel();
        Some((std::mem::replace(&mut before, after), next))
    });
    let queue = Queue(Mutex::new(places.collect()));
    let _ = first.send(());
    // The last call in the model's order is the first in the queue, so that all have started before one ends.
    let turn = (0..count).rev().fold(Turn::default(), |turn, place| turn.then_call("wait", json!({ "place": place })));
    let agent = Agent::new(ScriptedModel::new([turn, Turn::say("Done.")]))
        .tools(toolset!(Arc::new(queue); wait))
        .max_parallel_calls(count)
        .max_calls_per_turn(count);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime starts");
    // As a task of its own, the run wakes after each end of a call.
    let run = async move { agent.run("Go.").await.expect("the script goes through") };
    let ((), cost) = clock::time(|| drop(runtime.block_on(async { tokio::spawn(run).await })));
    #[allow(clippy::cast_precision_loss, reason = "a thousand")]
    let each = cost.as_secs_f64() * 1e6 / count as f64;
    each
}
