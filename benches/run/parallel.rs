//! Calls side by side, against a bare `JoinSet` that makes the same calls.

use serde_json::json;
use tokio::task::JoinSet;
use tool_runtime::{
    Agent, Context, Toolset,
    model::{ScriptedModel, Turn},
    tool, toolset,
};

use crate::{clock, report::Report};

/// How many calls one turn has.
const CALLS: usize = 256;

/// Prints the target.
pub(crate) fn measure(report: &mut Report) {
    const NAME: &str = "run/parallel";
    if !report.wants(NAME) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime starts");
    let tools = toolset!(double);
    let _ = tools.list();
    let mut ours = |rounds| {
        for _ in 0..rounds {
            runtime.block_on(agent(&tools));
        }
    };
    let mut alone = |rounds| {
        for _ in 0..rounds {
            runtime.block_on(turns(&tools));
        }
    };
    let mut floor = |rounds| {
        for _ in 0..rounds {
            runtime.block_on(join_set(&tools));
        }
    };
    let times = clock::least(&mut [&mut ours, &mut alone, &mut floor], 2, 80);
    #[allow(clippy::cast_precision_loss, reason = "a few hundred")]
    let each = |nanos: f64| nanos / CALLS as f64;
    // What the model's script and the conversation cost is not the calls'.
    let (ours, floor) = (each(times[0] - times[1]), each(times[2]));
    let how =
        format!("{ours:.0} ns of CPU a call, looked at, logged, told and cancellable; a bare JoinSet {floor:.0} ns");
    report.at_most(NAME, ours / floor, 2.0, &how);
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

async fn agent(tools: &Toolset) {
    let agent = Agent::new(script("double")).tools(tools.clone()).parallel(CALLS).max_calls(CALLS);
    agent.run("Go.").await.expect("the script goes through");
}

/// The same turns, of which every call ends before anything is done about it.
async fn turns(tools: &Toolset) {
    let agent = Agent::new(script("double")).tools(tools.clone()).parallel(CALLS).max_calls(0);
    agent.run("Go.").await.expect("the script goes through");
}

async fn join_set(tools: &Toolset) {
    let cx = Context::new("call");
    let mut set = JoinSet::new();
    for n in 0..CALLS {
        let (tools, cx) = (tools.clone(), cx.clone());
        let arguments = json!({ "n": n }).to_string();
        set.spawn(async move { tools.call("double", &arguments, &cx).await });
    }
    while let Some(result) = set.join_next().await {
        std::hint::black_box(result.expect("it ends").expect("it is right"));
    }
}
