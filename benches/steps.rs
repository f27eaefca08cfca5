//! The loop around a model: what a step with one call costs beside the model and the tool.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use tool_runtime::{
    Agent, Toolset,
    message::FinishReason,
    model::{Delta, Model, ModelError, Request},
    store::MemoryStore,
    tool, toolset,
};

use crate::{clock, report::Report};

const NAMES: [&str; 3] = ["loop/call", "loop/call-unkept", "loop/length"];

/// Prints the targets of the loop.
pub(crate) fn measure(report: &mut Report) {
    if !report.wants_any(&NAMES) {
        return;
    }
    let [mut kept, mut unkept, mut half, mut long] = [(100, true), (100, false), (500, true), (1000, true)].map(start);
    let times = clock::least(&mut [&mut kept, &mut unkept], 2, 40);
    let [kept, unkept] = [times[0], times[1]].map(|nanos| nanos / 1e5);
    let how = "µs of CPU a call, with one call a step in 100 steps, its log in a store in memory";
    report.at_most(NAMES[0], kept, 20.0, how);
    report.info(NAMES[1], &format!("{unkept:.2} µs without a store"));
    let times = clock::least(&mut [&mut half, &mut long], 1, 8);
    let [half, long] = [times[0] / 5e5, times[1] / 1e6];
    let how = format!("a call in 1000 steps {long:.2} µs of CPU, in 500 steps {half:.2} µs");
    report.at_most(NAMES[2], long / half, 1.2, &how);
}

fn start((steps, kept): (usize, bool)) -> impl FnMut(u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime starts");
    let tools = toolset!(double);
    let _ = tools.list();
    move |rounds| {
        for _ in 0..rounds {
            runtime.block_on(run(&tools, steps, kept));
        }
    }
}

async fn run(tools: &Toolset, steps: usize, kept: bool) {
    let agent = Agent::new(Steps(AtomicUsize::new(steps))).tools(tools.clone()).max_steps(steps + 1);
    let agent = if kept { agent.store(MemoryStore::new()) } else { agent };
    let reply = agent.run("Go.").await.expect("the script goes through");
    assert_eq!(reply.steps, steps + 1);
}

/// Doubles a number.
#[tool(effect = read_only)]
async fn double(
    /// The number.
    n: i64,
) -> i64 {
    n * 2
}

/// A model that makes one call in each of so many steps.
struct Steps(AtomicUsize);

impl Model for Steps {
    fn name(&self) -> &'static str {
        "steps"
    }

    fn stream<'a>(&'a self, _: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        let left = self.0.load(Ordering::Relaxed);
        if left == 0 {
            let end = [Delta::Text("Done.".to_owned()), Delta::Finish(FinishReason::Stop)];
            return stream::iter(end.map(Ok)).boxed();
        }
        self.0.store(left - 1, Ordering::Relaxed);
        let call = [
            Delta::CallStart { index: 0, id: format!("call_{left}"), name: "double".to_owned() },
            Delta::CallArguments { index: 0, text: r#"{"n":100}"#.to_owned() },
            Delta::CallEnd { index: 0 },
            Delta::Finish(FinishReason::ToolCalls),
        ];
        stream::iter(call.map(Ok)).boxed()
    }
}
