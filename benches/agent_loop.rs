//! The cost of a step of the loop with one call, against direct calls of `step` and of the tool, with a log in memory.

use std::{
    hint::black_box,
    sync::atomic::{AtomicUsize, Ordering},
};

use futures_util::{
    FutureExt, StreamExt,
    stream::{self, BoxStream},
};
use tool_run::run::{Action, StepInput, record, step};
use tool_runtime::{
    Agent, Context, Toolset,
    gate::Gate,
    message::{AssistantPart, FinishReason, Part, ToolCall, Usage},
    model::{Delta, Model, ModelError, Request},
    run::{Principal, Prompt, Run, RunId, RunOptions, Timestamp},
    store::MemoryStore,
    tool, toolset,
};

use crate::{clock, report::Report};

/// The maximum cost of a step of the loop, as a multiple of the cost without the loop.
const LIMIT: f64 = 4.0;

const NAMES: [&str; 3] = ["loop/call", "loop/call-unkept", "loop/length"];

/// Measures the loop's cost for a call, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    if !report.wants_any(&NAMES) {
        return;
    }
    let [mut kept, mut unkept, mut half, mut long] =
        [(100, true), (100, false), (500, true), (1000, true)].map(repeat_run);
    let tools = tools();
    let mut floor = |rounds| (0..rounds).for_each(|_| step_by_hand(&tools, 100));
    let batches = clock::time_in_turns(&mut [&mut kept, &mut floor, &mut unkept], 2, 40);
    let micros = |at: usize| batches.iter().map(|batch| batch[at]).fold(f64::INFINITY, f64::min) / 1e5;
    let pairs: Vec<_> = batches.iter().map(|batch| [batch[0] / 1e5, batch[1] / 1e5]).collect();
    let [ratio, kept, floor] = clock::medians(&pairs);
    let how = format!(
        "median of pairs; one call a step in 100 steps, its log in a store in memory: {kept:.2} µs of CPU a call, by hand \
         {floor:.2}"
    );
    report.at_most(NAMES[0], ratio, LIMIT, &how);
    report.info(NAMES[1], &format!("{:.2} µs without a store", micros(2)));
    let times = clock::time_least(&mut [&mut half, &mut long], 1, 8);
    let [half, long] = [times[0] / 5e5, times[1] / 1e6];
    let how = format!("a call in 1000 steps {long:.2} µs of CPU, in 500 steps {half:.2} µs");
    report.at_most(NAMES[2], long / half, 1.2, &how);
}

/// Returns a function that repeats a run of `steps` calls. If `kept` is set, the agent has a store in memory.
fn repeat_run((steps, kept): (usize, bool)) -> impl FnMut(u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime starts");
    let tools = tools();
    move |rounds| {
        for _ in 0..rounds {
            runtime.block_on(run(&tools, steps, kept));
        }
    }
}

fn tools() -> Toolset {
    let tools = toolset!(double);
    let _ = tools.list();
    tools
}

/// Takes the same steps without the loop: without a model and tasks, and with a list of records as the store.
fn step_by_hand(tools: &Toolset, steps: usize) {
    let me = Principal::anonymous();
    let mut options = RunOptions::default();
    options.limits.steps = u32::MAX;
    let (mut run, created) = Run::new(RunId::from("floor"), me.clone(), options, Vec::new(), Timestamp(0));
    let (gate, cx) = (Gate::new(tools.clone()), Context::new("call"));
    let mut records = vec![record::encode(std::slice::from_ref(&created))];
    let mut feed = |run: &mut Run, input| {
        let (entries, actions) = step(run, input).expect("the input fits");
        records.push(record::encode(&entries));
        for entry in &entries {
            run.apply(entry).expect("the entry follows");
        }
        actions
    };
    feed(&mut run, StepInput::Prompt(Prompt::new(vec![Part::text("Go.")], me, Timestamp(1))));
    for left in 0..steps {
        let arguments = r#"{"n":100}"#.to_owned();
        let call = ToolCall { id: format!("call_{left}"), name: "double".to_owned(), arguments };
        let (parts, usage) = (vec![AssistantPart::Call(call)], Usage::default());
        let finish = FinishReason::ToolCalls;
        feed(&mut run, StepInput::TurnEnded { parts, finish, usage, model: None, at: Timestamp(2) });
        let call = &run.current_calls()[0];
        let checked = gate.check_call(&run, call, &cx).now_or_never().expect("nobody is asked");
        let call = call.id.clone();
        let actions = feed(&mut run, StepInput::Checked { call: call.clone(), checked, at: Timestamp(2) });
        let [Action::Execute { attempt, .. }] = actions[..] else { panic!("the call starts: {actions:?}") };
        let outcome = tools.call("double", r#"{"n":100}"#, &cx).now_or_never().expect("it does not wait");
        feed(&mut run, StepInput::Ended { call, attempt, outcome, at: Timestamp(3) });
    }
    black_box(records);
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

/// A model with one call in each of several steps.
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
