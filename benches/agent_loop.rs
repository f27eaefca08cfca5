//! The cost of a step of the loop with one call, against direct calls of `advance` and of the tool, with a log in memory.

use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use futures_util::{
    FutureExt, StreamExt,
    stream::{self, BoxStream},
};
use tokio::runtime::Runtime;
use tool_run::run::{Action, LogInput, advance, record};
use tool_runtime::{
    Agent, Context, Toolset,
    agent::{Event, EventKind, Observer},
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

/// The maximum cost of a run whose events are read as a stream, as a multiple of the cost of the same run with an observer.
const STREAM_LIMIT: f64 = 1.1;

const NAMES: [&str; 4] = ["loop/call", "loop/call-unkept", "loop/length", "loop/stream"];

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
    measure_stream(report);
}

/// Measures a run whose events are read as a stream, against the same run with an observer.
fn measure_stream(report: &mut Report) {
    if !report.wants(NAMES[3]) {
        return;
    }
    let [mut streamed, mut observed] = [true, false].map(|is_stream| {
        let (tools, runtime) = (tools(), runtime());
        move |rounds| (0..rounds).for_each(|_| runtime.block_on(talk(&tools, is_stream)))
    });
    let batches = clock::time_in_turns(&mut [&mut streamed, &mut observed], 5, 40);
    let pairs: Vec<_> = batches.iter().map(|batch| [batch[0] / 1e5, batch[1] / 1e5]).collect();
    let [ratio, streamed, observed] = clock::medians(&pairs);
    let how = format!(
        "median of pairs; a step of {PIECES} pieces of text and a call, in 100 steps: {streamed:.2} µs of CPU with a reader of the \
         stream, with an observer {observed:.2}"
    );
    report.at_most(NAMES[3], ratio, STREAM_LIMIT, &how);
}

/// Returns a function that repeats a run of `steps` calls. If `kept` is set, the agent has a store in memory.
fn repeat_run((steps, kept): (usize, bool)) -> impl FnMut(u64) {
    let (tools, runtime) = (tools(), runtime());
    move |rounds| {
        for _ in 0..rounds {
            runtime.block_on(run(&tools, steps, kept));
        }
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime starts")
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
        let (entries, actions) = advance(run, input).expect("the input fits");
        records.push(record::encode(&entries));
        actions
    };
    feed(&mut run, LogInput::Prompt(Prompt::new(vec![Part::text("Go.")], me, Timestamp(1))));
    for left in 0..steps {
        let arguments = r#"{"n":100}"#.to_owned();
        let call = ToolCall { id: format!("call_{left}"), name: "double".to_owned(), arguments };
        let (parts, usage) = (vec![AssistantPart::Call(call)], Usage::default());
        let finish = FinishReason::ToolCalls;
        feed(&mut run, LogInput::TurnEnded { parts, finish, usage, model: None, at: Timestamp(2) });
        let call = &run.current_calls()[0];
        let checked = gate.check_call(&run, call, &cx).now_or_never().expect("nobody is asked");
        let call = call.id.clone();
        let actions = feed(&mut run, LogInput::Checked { call: call.clone(), checked, at: Timestamp(2) });
        let [Action::Execute { attempt, .. }] = actions[..] else { panic!("the call starts: {actions:?}") };
        let outcome = tools.call("double", r#"{"n":100}"#, &cx).now_or_never().expect("it does not wait");
        feed(&mut run, LogInput::Ended { call, attempt, outcome, handover: None, at: Timestamp(3) });
    }
    black_box(records);
}

async fn run(tools: &Toolset, steps: usize, kept: bool) {
    let agent = agent(tools, steps, 0);
    let agent = if kept { agent.store(MemoryStore::new()) } else { agent };
    let reply = agent.run("Go.").await.expect("the script goes through");
    assert_eq!(reply.steps, steps + 1);
}

/// The number of pieces of text in each step of [`talk`].
const PIECES: usize = 20;

/// Runs 100 steps, and counts the bytes of text from a stream or in an observer.
async fn talk(tools: &Toolset, is_stream: bool) {
    let (agent, length) = (agent(tools, 100, PIECES), Arc::new(AtomicUsize::new(0)));
    if is_stream {
        let mut run = agent.stream("Go.");
        while let Some(event) = run.next().await {
            if let EventKind::Text(text) = event.kind {
                length.fetch_add(text.len(), Ordering::Relaxed);
            }
        }
        run.finish().await.expect("the script goes through");
    } else {
        let counter = Counter(Arc::clone(&length));
        agent.observer(counter).run("Go.").await.expect("the script goes through");
    }
    assert_eq!(length.load(Ordering::Relaxed), "word ".len() * PIECES * 100 + "Done.".len());
}

struct Counter(Arc<AtomicUsize>);

impl Observer for Counter {
    fn on_event(&self, event: Event<'_>) {
        if let Event::Text(text) = event {
            self.0.fetch_add(text.len(), Ordering::Relaxed);
        }
    }
}

/// Returns an agent whose model makes a call in each of `steps` steps, after `pieces` pieces of text.
fn agent(tools: &Toolset, steps: usize, pieces: usize) -> Agent {
    Agent::new(Steps { left: AtomicUsize::new(steps), pieces }).tools(tools.clone()).max_steps(steps + 1)
}

/// Doubles a number.
#[tool(effect = read_only)]
async fn double(
    /// The number.
    n: i64,
) -> i64 {
    n * 2
}

/// A model with pieces of text and one call in each of several steps.
struct Steps {
    left: AtomicUsize,
    pieces: usize,
}

impl Model for Steps {
    fn name(&self) -> &'static str {
        "steps"
    }

    fn stream<'a>(&'a self, _: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            let end = [Delta::Text("Done.".to_owned()), Delta::Finish(FinishReason::Stop)];
            return stream::iter(end.map(Ok)).boxed();
        }
        self.left.store(left - 1, Ordering::Relaxed);
        let call = [
            Delta::CallStart { index: 0, id: format!("call_{left}"), name: "double".to_owned() },
            Delta::CallArguments { index: 0, text: r#"{"n":100}"#.to_owned() },
            Delta::CallEnd { index: 0 },
            Delta::Finish(FinishReason::ToolCalls),
        ];
        let texts = (0..self.pieces).map(|_| Delta::Text("word ".to_owned()));
        stream::iter(texts.chain(call).map(Ok)).boxed()
    }
}
