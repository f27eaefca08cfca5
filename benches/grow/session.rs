//! The cost of the thousandth call, and of the thousandth prompt, of a session.

use std::time::Duration;

use tokio::runtime::Runtime;
use tool_runtime::{
    Agent,
    agent::Session,
    model::{FunctionModel, Turn},
    tool, toolset,
};

use crate::{clock, report::Report};

const CALLS: &str = "grow/session";
const PROMPTS: &str = "grow/session-prompts";

/// The numbers of the measured calls, and the largest ratio of their costs.
const NUMBERS: [u64; 2] = [1000, 10];
const LIMIT: f64 = 1.2;

/// The number of calls in a batch, around a number, and of batches.
const BATCH: u64 = 10;
const BATCHES: usize = 40;

/// Double a number.
#[tool(effect = read_only)]
async fn double(
    /// The number.
    n: u32,
) -> u32 {
    n * 2
}

/// Measures calls and prompts of a session, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    compare(report, CALLS, "call", || Agent::tools_only(toolset!(double)), call);
    compare(report, PROMPTS, "prompt", || Agent::new(FunctionModel::new(|_| Turn::say("Hello."))), send);
}

fn compare(report: &mut Report, name: &str, what: &str, agent: fn() -> Agent, repeat: fn(&Runtime, &mut Session, u64)) {
    if !report.wants(name) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime starts");
    let agent = agent();
    let cost = |number: u64| {
        let mut session = agent.session();
        repeat(&runtime, &mut session, number - BATCH / 2);
        clock::time(|| repeat(&runtime, &mut session, BATCH)).1
    };
    #[allow(clippy::cast_precision_loss, reason = "ten")]
    let each = |cost: Duration| cost.as_secs_f64() * 1e6 / BATCH as f64;
    let pairs: Vec<_> = (0..BATCHES).map(|_| NUMBERS.map(|number| each(cost(number)))).collect();
    let [ratio, late, early] = clock::medians(&pairs);
    let [last, first] = NUMBERS;
    let how = format!("medians of pairs; µs of CPU: {what} {last} {late:.1}, {what} {first} {early:.1}");
    report.at_most(name, ratio, LIMIT, &how);
}

fn call(runtime: &Runtime, session: &mut Session, calls: u64) {
    runtime.block_on(async {
        for _ in 0..calls {
            let call = session.call("double", r#"{"n":21}"#).await.expect("the call is right");
            assert!(call.result().is_some());
        }
    });
}

fn send(runtime: &Runtime, session: &mut Session, prompts: u64) {
    runtime.block_on(async {
        for _ in 0..prompts {
            session.send("Hello.").await.expect("the model answers");
        }
    });
}
