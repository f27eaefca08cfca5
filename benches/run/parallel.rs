//! The cost of parallel calls, against a bare `JoinSet` with the same calls.

use std::pin::Pin;

use serde_json::json;
use tokio::task::JoinSet;
use tool_runtime::{
    Agent, Context, Toolset,
    model::{ScriptedModel, Turn},
    tool, toolset,
};

use crate::{case::Case, clock, report::Report};

/// The number of calls in a turn.
const CALLS: usize = 256;

/// Measures parallel calls, and reports the target.
pub(crate) fn measure(report: &mut Report) {
    const NAME: &str = "run/parallel";
    if !report.wants(NAME) {
        return;
    }
    let [mut ours, mut turns, mut floor, mut texts] = [0, 1, 2, 3].map(|at: usize| (CASES[at].start)());
    let batches = clock::time_in_turns(&mut [&mut *ours, &mut *turns, &mut *floor, &mut *texts], 2, 800);
    // Subtracting `turns` removes the cost of the script and of the conversation. In `turns`, a limit ends each call at once.
    let against = |floor: usize| {
        let pairs: Vec<_> = batches.iter().map(|times| [times[0] - times[1], times[floor]]).collect();
        clock::medians(&pairs)
    };
    #[allow(clippy::cast_precision_loss, reason = "a few hundred")]
    let each = |nanos: f64| nanos / CALLS as f64;
    let ([ratio, ours, floor], [of_texts, _, texts]) = (against(2), against(3));
    let (ours, floor, texts) = (each(ours), each(floor), each(texts));
    let how = format!(
        "medians of turns; {ours:.0} ns of CPU a call, checked, logged, reported and cancellable; a bare JoinSet {floor:.0} ns"
    );
    report.at_most(NAME, ratio, 2.0, &how);
    let text = format!("{of_texts:.2} x a bare JoinSet that receives the arguments as texts, {texts:.0} ns a call");
    report.info(NAME, &text);
}

/// The calls of an agent, the same turns with calls that end at once, and the calls in a bare `JoinSet`. The arguments for the
/// `JoinSet` are written in each round (`floor`), or copied from a text (`texts`).
pub(crate) const CASES: &[Case] = &[
    Case::new("parallel-agent", || repeat(|tools| Box::pin(run_calls(tools))), (2, 22)),
    Case::new("parallel-turns", || repeat(|tools| Box::pin(run_turns(tools))), (2, 22)),
    Case::new(
        "parallel-floor",
        || repeat(|tools| Box::pin(spawn_calls(tools, |n| json!({ "n": n }).to_string()))),
        (2, 22),
    ),
    Case::new(
        "parallel-texts",
        || repeat(|tools| Box::pin(spawn_calls(tools, |_| r#"{"n":100}"#.to_owned()))),
        (2, 22),
    ),
];

type Work<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Returns a function that repeats `work`.
fn repeat(work: fn(&Toolset) -> Work<'_>) -> Box<dyn FnMut(u64)> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime starts");
    let tools = toolset!(double);
    let _ = tools.list();
    Box::new(move |rounds| {
        for _ in 0..rounds {
            runtime.block_on(work(&tools));
        }
    })
}

/// Doubles a number.
#[tool(effect = read_only)]
async fn double(
    /// The number.
    n: i64,
) -> i64 {
    n * 2
}

fn script(name: &str) -> ScriptedModel {
    let turn = (0..CALLS).fold(Turn::default(), |turn, n| turn.then_call(name, json!({ "n": n })));
    ScriptedModel::new([turn, Turn::say("Done.")])
}

/// Runs an agent whose model makes all calls in one turn.
async fn run_calls(tools: &Toolset) {
    let agent = Agent::new(script("double")).tools(tools.clone()).max_parallel_calls(CALLS).max_calls_per_turn(CALLS);
    agent.run("Go.").await.expect("the script goes through");
}

/// Runs the same turns, but the limit on calls ends each call at once.
async fn run_turns(tools: &Toolset) {
    let agent = Agent::new(script("double")).tools(tools.clone()).max_parallel_calls(CALLS).max_calls_per_turn(0);
    agent.run("Go.").await.expect("the script goes through");
}

/// Makes the calls in a `JoinSet`, without an agent.
async fn spawn_calls(tools: &Toolset, arguments: fn(usize) -> String) {
    let cx = Context::new("call");
    let mut set = JoinSet::new();
    for n in 0..CALLS {
        let (tools, cx) = (tools.clone(), cx.clone());
        let arguments = arguments(n);
        set.spawn(async move { tools.call("double", &arguments, &cx).await });
    }
    while let Some(result) = set.join_next().await {
        std::hint::black_box(result.expect("it ends").expect("it is right"));
    }
}
