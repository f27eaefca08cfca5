//! The cost of a call through an agent without store, layers and policies, against the call through its toolset.

use std::hint::black_box;

use tool_runtime::{Agent, Context, Toolset, agent::CallOutcome, tool, toolset};

use crate::{
    case::{Case, finish},
    cost,
    report::Report,
};

const NAME: &str = "call/plain";
const ARGUMENTS: &str = r#"{"a":20,"b":22}"#;
const ROUNDS: (u64, u64) = (100, 1100);

const LIMIT: f64 = 18.0;

pub(crate) const CASES: &[Case] =
    &[Case::new("plain-ours", call_agent, ROUNDS), Case::new("plain-floor", call_directly, ROUNDS)];

/// Measures a plain call, and reports the target.
pub(crate) fn measure(report: &mut Report) {
    if report.wants(NAME) {
        let (ratio, how) = cost::compare(&CASES[0], &CASES[1]);
        report.at_most(NAME, ratio, LIMIT, &how);
    }
}

/// Calls the tool through an agent.
fn call_agent() -> Box<dyn FnMut(u64)> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime starts");
    let agent = Agent::tools_only(tools());
    Box::new(move |rounds| {
        runtime.block_on(async {
            for _ in 0..rounds {
                match agent.call("add", black_box(ARGUMENTS)).await.expect("the call is right") {
                    CallOutcome::Ended(ended) => drop(black_box(ended)),
                    CallOutcome::Waits(_) => panic!("the tool asks nobody"),
                }
            }
        });
    })
}

/// Calls the tool through its toolset.
fn call_directly() -> Box<dyn FnMut(u64)> {
    let (tools, cx) = (tools(), Context::new("call_1"));
    Box::new(move |rounds| {
        for _ in 0..rounds {
            black_box(finish(tools.call("add", black_box(ARGUMENTS), &cx)).expect("the call is right"));
        }
    })
}

fn tools() -> Toolset {
    let tools = toolset!(add);
    let _ = tools.list();
    tools
}

/// Adds two numbers.
#[tool(effect = read_only)]
async fn add(
    /// The first.
    a: i64,
    /// The second.
    b: i64,
) -> i64 {
    a + b
}
