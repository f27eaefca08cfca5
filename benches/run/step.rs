//! The cost of one input in the state machine alone.

use std::hint::black_box;

use futures_util::FutureExt;

use serde_json::json;
use tool_run::run::{Action, StepInput, step};
use tool_runtime::{
    Context, Output,
    gate::Gate,
    message::{AssistantPart, FinishReason, Part, ToolCall, Usage},
    run::{Principal, Prompt, Run, RunId, RunOptions, Timestamp},
    tool, toolset,
};

use crate::{clock, report::Report};

const NAMES: [&str; 3] = ["run/step-ended", "run/step-checked", "run/step-length"];

/// Measures the state machine, and reports the targets.
pub(crate) fn measure(report: &mut Report) {
    if !report.wants_any(&NAMES) {
        return;
    }
    let (short, long) = (BusyRun::new(10), BusyRun::new(1000));
    let [mut ended_short, mut ended_long] = [&short, &long].map(|run| {
        move |rounds| {
            for _ in 0..rounds {
                run.end_call();
            }
        }
    });
    let mut checked = |rounds| {
        for _ in 0..rounds {
            short.check_call();
        }
    };
    let times = clock::time_least(&mut [&mut ended_short, &mut ended_long, &mut checked], 1000, 60);
    report.at_most(
        NAMES[0],
        times[0] / 1000.0,
        1.0,
        "µs of CPU: one of four calls ends; the input and its output included",
    );
    report.at_most(NAMES[1], times[2] / 1000.0, 1.0, "µs of CPU: a checked call starts; the check included");
    let how = format!("a run of 1000 turns {:.0} ns, of 10 turns {:.0} ns", times[1], times[0]);
    report.at_most(NAMES[2], times[1] / times[0], 1.2, &how);
}

/// Doubles a number.
#[tool(effect = read_only)]
fn double(
    /// The number.
    n: i64,
) -> i64 {
    n * 2
}

/// A run of many turns. In the last turn, three calls run, and one waits for its check.
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
        busy.feed(StepInput::Prompt(Prompt::new(vec![Part::text("Go.")], me, Timestamp(1))));
        for _ in 1..turns {
            busy.add_turn();
            for (call, attempt) in busy.check_calls(4) {
                busy.feed(StepInput::Ended { call, attempt, outcome: Ok(output()), at: Timestamp(3) });
            }
        }
        busy.add_turn();
        busy.check_calls(3);
        busy
    }

    fn feed(&mut self, input: StepInput) -> Vec<Action> {
        let (entries, actions) = step(&self.run, input).expect("the input fits");
        for entry in entries {
            self.run.apply(&entry).expect("the entry follows");
        }
        actions
    }

    /// Adds a turn with four calls.
    fn add_turn(&mut self) {
        let call = |n: i64| {
            let arguments = json!({ "n": n }).to_string();
            AssistantPart::Call(ToolCall { id: String::new(), name: "double".to_owned(), arguments })
        };
        let (parts, finish) = ((0..4).map(call).collect(), FinishReason::ToolCalls);
        self.feed(StepInput::TurnEnded { parts, finish, usage: Usage::default(), model: None, at: Timestamp(2) });
    }

    /// Checks the first `count` calls of the turn. Returns those that started.
    fn check_calls(&mut self, count: usize) -> Vec<(tool_runtime::run::CallId, u32)> {
        let ids: Vec<_> = self.run.current_calls().iter().take(count).map(|call| call.id.clone()).collect();
        let mut started = Vec::new();
        for id in ids {
            let checked = self
                .gate
                .check_call(&self.run, self.run.call(&id).expect("it is there"), &self.cx)
                .now_or_never()
                .expect("nobody is asked");
            for action in self.feed(StepInput::Checked { call: id, checked, at: Timestamp(2) }) {
                if let Action::Execute { call, attempt } = action {
                    started.push((call, attempt));
                }
            }
        }
        started
    }

    fn end_call(&self) {
        let call = self.run.current_calls()[1].id.clone();
        let input = StepInput::Ended { call, attempt: 1, outcome: Ok(output()), at: Timestamp(3) };
        let (entries, actions) = step(black_box(&self.run), black_box(input)).expect("the input fits");
        assert_eq!(entries.len(), 1);
        black_box((entries, actions));
    }

    fn check_call(&self) {
        let call = &self.run.current_calls()[3];
        let checked = self.gate.check_call(&self.run, call, &self.cx).now_or_never().expect("nobody is asked");
        let input = StepInput::Checked { call: call.id.clone(), checked, at: Timestamp(3) };
        let (entries, actions) = step(black_box(&self.run), black_box(input)).expect("the input fits");
        assert_eq!(entries.len(), 3);
        black_box((entries, actions));
    }
}

fn output() -> Output {
    Output::json(&8).expect("a number is JSON")
}
