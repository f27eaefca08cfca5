//! The state machine alone.

use std::hint::black_box;

use futures_util::FutureExt;

use serde_json::json;
use tool_run::run::{Action, StepInput, step};
use tool_runtime::{
    Context, Output,
    gate::Gate,
    message::{AssistantPart, FinishReason, Part, ToolCall, Usage},
    run::{Principal, Prompt, Run, RunId, RunOptions, Time},
    tool, toolset,
};

use crate::{clock, report::Report};

const NAMES: [&str; 3] = ["run/step-ended", "run/step-checked", "run/step-length"];

/// Prints the targets of the state machine.
pub(crate) fn measure(report: &mut Report) {
    if !report.wants_any(&NAMES) {
        return;
    }
    let (short, long) = (Bench::new(10), Bench::new(1000));
    let [mut ended_short, mut ended_long] = [&short, &long].map(|bench| {
        move |rounds| {
            for _ in 0..rounds {
                bench.ended();
            }
        }
    });
    let mut checked = |rounds| {
        for _ in 0..rounds {
            short.checked();
        }
    };
    let times = clock::least(&mut [&mut ended_short, &mut ended_long, &mut checked], 1000, 60);
    report.at_most(NAMES[0], times[0] / 1000.0, 1.0, "µs of CPU: one of four calls ends; event and answer included");
    report.at_most(NAMES[1], times[2] / 1000.0, 1.0, "µs of CPU: a call was looked at, and starts; the look included");
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
struct Bench {
    run: Run,
    gate: Gate,
    cx: Context,
}

impl Bench {
    fn new(turns: usize) -> Self {
        let me = Principal::anonymous();
        let mut options = RunOptions::default();
        options.limits.steps = u32::MAX;
        options.limits.calls = u32::MAX;
        let (run, _) = Run::new(RunId::from("bench"), me.clone(), options, Vec::new(), Time(0));
        let mut bench = Self { run, gate: Gate::new(toolset!(double)), cx: Context::new("c") };
        bench.feed(StepInput::Prompt(Prompt::new(vec![Part::text("Go.")], me, Time(1))));
        for _ in 1..turns {
            bench.turn();
            for (call, attempt) in bench.look(4) {
                bench.feed(StepInput::Ended { call, attempt, outcome: Ok(output()), at: Time(3) });
            }
        }
        bench.turn();
        bench.look(3);
        bench
    }

    fn feed(&mut self, input: StepInput) -> Vec<Action> {
        let (log, actions) = step(&self.run, input).expect("the input fits");
        for input in log {
            self.run.apply(&input).expect("it follows");
        }
        actions
    }

    fn turn(&mut self) {
        let call = |n: i64| {
            let arguments = json!({ "n": n }).to_string();
            AssistantPart::Call(ToolCall { id: String::new(), name: "double".to_owned(), arguments })
        };
        let (parts, finish) = ((0..4).map(call).collect(), FinishReason::ToolCalls);
        self.feed(StepInput::TurnEnded { parts, finish, usage: Usage::default(), model: None, at: Time(2) });
    }

    /// Checks the first `count` calls of the turn. Returns those that started.
    fn look(&mut self, count: usize) -> Vec<(tool_runtime::run::CallId, u32)> {
        let ids: Vec<_> = self.run.current_calls().iter().take(count).map(|call| call.id.clone()).collect();
        let mut started = Vec::new();
        for id in ids {
            let checked = self
                .gate
                .check_call(&self.run, self.run.call(&id).expect("it is there"), &self.cx)
                .now_or_never()
                .expect("nobody is asked");
            for effect in self.feed(StepInput::Checked { call: id, checked, at: Time(2) }) {
                if let Action::Execute { call, attempt } = effect {
                    started.push((call, attempt));
                }
            }
        }
        started
    }

    fn ended(&self) {
        let call = self.run.current_calls()[1].id.clone();
        let event = StepInput::Ended { call, attempt: 1, outcome: Ok(output()), at: Time(3) };
        let (log, actions) = step(black_box(&self.run), black_box(event)).expect("the event fits");
        assert_eq!(log.len(), 1);
        black_box((log, actions));
    }

    fn checked(&self) {
        let call = &self.run.current_calls()[3];
        let checked = self.gate.check_call(&self.run, call, &self.cx).now_or_never().expect("nobody is asked");
        let event = StepInput::Checked { call: call.id.clone(), checked, at: Time(3) };
        let (log, actions) = step(black_box(&self.run), black_box(event)).expect("the event fits");
        assert_eq!(log.len(), 3);
        black_box((log, actions));
    }
}

fn output() -> Output {
    Output::json(&8).expect("a number is JSON")
}
