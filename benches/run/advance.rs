//! The cost of one input in the state machine alone.

use futures_util::FutureExt;

use serde_json::json;
use tool_run::run::{Action, LogInput, advance};
use tool_runtime::{
    Context, Output,
    gate::Gate,
    message::{AssistantPart, FinishReason, Part, ToolCall, Usage},
    run::{Principal, Prompt, Run, RunId, RunOptions, Timestamp},
    tool, toolset,
};

use crate::{clock, report::Report};

const NAMES: [&str; 2] = ["run/advance", "run/advance-length"];

/// The inputs of a turn with four calls: its end, four checks, and the ends of the calls.
const INPUTS: f64 = 9.0;

/// Measures the state machine, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    if !report.wants_any(&NAMES) {
        return;
    }
    let (mut short, mut long) = (BusyRun::new(10), BusyRun::new(20_000));
    let [mut in_short, mut in_long] = [&mut short, &mut long].map(|run| {
        move |rounds| {
            for _ in 0..rounds {
                run.take_turn();
            }
        }
    });
    let times = clock::time_least(&mut [&mut in_short, &mut in_long], 50, 20);
    report.at_most(NAMES[0], times[0] / INPUTS / 1000.0, 1.0, "µs of CPU: an input is recorded; the checks included");
    let how = format!("a turn after 20,000 turns {:.0} ns, after 10 to 1,000 turns {:.0} ns", times[1], times[0]);
    report.at_most(NAMES[1], times[1] / times[0], 1.2, &how);
}

/// Doubles a number.
#[tool(effect = read_only)]
fn double(
    /// The number.
    n: i64,
) -> i64 {
    n * 2
}

/// A run of many turns with four calls each. The model is asked for the next turn.
struct BusyRun {
    run: Run,
    gate: Gate,
    cx: Context,
}

impl BusyRun {
    fn new(turns: usize) -> Self {
        let me = Principal::anonymous();
        let mut options = RunOptions::default();
        options.limits.steps = u32::MAX;
        options.limits.calls = u32::MAX;
        let (run, _) = Run::new(RunId::from("bench"), me.clone(), options, Vec::new(), Timestamp(0));
        let mut busy = Self { run, gate: Gate::new(toolset!(double)), cx: Context::new("c") };
        busy.feed(LogInput::Prompt(Prompt::new(vec![Part::text("Go.")], me, Timestamp(1))));
        (0..turns).for_each(|_| busy.take_turn());
        busy
    }

    fn feed(&mut self, input: LogInput) -> Vec<Action> {
        advance(&mut self.run, input).expect("the input fits").1
    }

    fn take_turn(&mut self) {
        self.add_turn();
        for (call, attempt) in self.check_calls() {
            self.feed(LogInput::Ended { call, attempt, outcome: Ok(output()), handover: None, at: Timestamp(3) });
        }
    }

    /// Adds a turn with four calls.
    fn add_turn(&mut self) {
        let call = |n: i64| {
            let arguments = json!({ "n": n }).to_string();
            AssistantPart::Call(ToolCall { id: String::new(), name: "double".to_owned(), arguments })
        };
        let (parts, finish) = ((0..4).map(call).collect(), FinishReason::ToolCalls);
        self.feed(LogInput::TurnEnded { parts, finish, usage: Usage::default(), model: None, at: Timestamp(2) });
    }

    /// Checks the calls of the turn, which then run. Returns them with the numbers of their starts.
    fn check_calls(&mut self) -> Vec<(tool_runtime::run::CallId, u32)> {
        let ids: Vec<_> = self.run.current_calls().iter().map(|call| call.id.clone()).collect();
        let mut started = Vec::new();
        for id in ids {
            let checked = self
                .gate
                .check_call(&self.run, self.run.call(&id).expect("it is there"), &self.cx)
                .now_or_never()
                .expect("nobody is asked");
            for action in self.feed(LogInput::Checked { call: id, checked, at: Timestamp(2) }) {
                if let Action::Execute { call, attempt } = action {
                    started.push((call, attempt));
                }
            }
        }
        started
    }
}

fn output() -> Output {
    Output::json(&8).expect("a number is JSON")
}
