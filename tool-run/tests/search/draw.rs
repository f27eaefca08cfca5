//! Random options and inputs.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::moves::{next_interrupt_number, owner};
use super::world::{self, ToolDefinition};
use tool_run::message::{AssistantPart, FinishReason, Message, Part, ToolCall, Usage};
use tool_run::run::{
    Author, Call, CallOrder, CheckedCall, CheckedDecision, Decision, InnerUsage, InterruptId, LogInput, OnDeny,
    OnPrompt, OnTaint, Phase, Principal, Prompt, Question, Run, RunOptions, Stage, StopReason, Summary, Timestamp,
    WantedAnswer,
};
use tool_run::tool::{CallError, Failure, TouchedResources};

/// Numbers that determine an input for the present run.
pub(super) type Seed = (u8, u8, u8, u8);

pub(super) fn options() -> impl Strategy<Value = RunOptions> {
    let small = || prop_oneof![Just(1u32), Just(2), Just(8)];
    let choice = || (0..3u8, any::<bool>(), any::<bool>(), any::<bool>());
    let expiry = || prop_oneof![Just(None), Just(Some(Duration::from_millis(5)))];
    (small(), small(), small(), small(), choice(), expiry(), expiry(), expiry()).prop_map(
        |(in_flight, open, records, calls, choice, approval_expiry, external_expiry, grant_expiry)| {
            let mut options = RunOptions::default();
            let limits = &mut options.limits;
            limits.steps = 4;
            (limits.parallel_calls, limits.open_interrupts, limits.recorded_steps, limits.retries) =
                (in_flight, open, records, records);
            limits.tokens = (calls == 2).then_some(3);
            limits.calls_per_turn = calls;
            (limits.argument_bytes, limits.argument_depth) = (64, 3);
            options.on_prompt = [OnPrompt::Queue, OnPrompt::Supersede, OnPrompt::Refuse][usize::from(choice.0)];
            options.on_deny = if choice.1 { OnDeny::StopTurn } else { OnDeny::Continue };
            options.call_order = if choice.2 { CallOrder::Sequential } else { CallOrder::Parallel };
            options.on_taint = if choice.3 { OnTaint::Ask } else { OnTaint::Ignore };
            options.approval_expiry = approval_expiry;
            options.external_expiry = external_expiry;
            options.grant_expiry = grant_expiry;
            options
        },
    )
}

/// Returns the tool called `t0` to `t7`, whose number determines its properties.
fn tool(name: &str, changed: bool) -> &'static ToolDefinition {
    static ALL: LazyLock<Vec<ToolDefinition>> = LazyLock::new(|| {
        let all = (0..16).map(|number: usize| {
            let (number, changed) = (number / 2, !number.is_multiple_of(2));
            ToolDefinition::new(&format!("t{number}"), changed, |options| {
                options.idempotent = number.is_multiple_of(2);
                options.external = number == 3;
                options.sequential = number == 5;
                options.eager = number.is_multiple_of(4);
                options.untrusted = number == 6;
                options.resumable = number == 1;
                options.retries = u32::from(number > 5);
                options.version = (number == 7).then(|| if changed { "2" } else { "1" }.to_owned());
                options.migrate_from = (number == 7 && changed).then(|| "1".to_owned()).into_iter().collect();
            })
        });
        all.collect()
    });
    let number = name.bytes().last().map_or(0, |digit| usize::from(digit % 8));
    &ALL[number * 2 + usize::from(changed)]
}

/// Returns resources for some calls of some tools.
fn touches(name: &str, seed: Seed) -> Option<Arc<TouchedResources>> {
    let number = name.bytes().last().unwrap_or_default() % 4;
    let touches = TouchedResources::new();
    (!seed.3.is_multiple_of(4)).then(|| match number {
        0 => Arc::new(touches.writes("a")),
        1 => Arc::new(touches.reads("a")),
        2 => Arc::new(touches.writes("a/b").reads("c")),
        _ => Arc::new(touches.writes("c")),
    })
}

/// Returns the content of a turn: the calls that the model has made early, and more.
fn parts(seed: Seed, run: &Run) -> Vec<AssistantPart> {
    let known = run.current_calls().iter().map(|call| ToolCall {
        id: call.provider_id.clone(),
        name: call.name.clone(),
        arguments: call.arguments().text.to_string(),
    });
    let known: Vec<_> = known.collect();
    let arguments = |at: u8| match (seed.2.wrapping_add(at)) % 16 {
        0 => "x".repeat(65),
        1 => "[[[[1]]]]".to_owned(),
        _ => format!(r#"{{"v":{}}}"#, at % 2),
    };
    let more = (0..seed.1 % 9).map(|at| ToolCall {
        id: if seed.3.is_multiple_of(3) { "same".to_owned() } else { format!("p{}", at % 3) },
        name: format!("t{}", seed.3.wrapping_add(at) % 8),
        arguments: arguments(at),
    });
    known.into_iter().chain(more).map(AssistantPart::Call).collect()
}

/// Returns a message of the application, or a summary.
fn change_of_history(run: &Run, seed: Seed, by: Principal, at: Timestamp) -> LogInput {
    if seed.2 % 4 == 1 {
        let message = if seed.3.is_multiple_of(2) { Message::user("a fact") } else { Message::assistant("a refusal") };
        return LogInput::AddMessage { message, reason: "a test".to_owned(), by, at };
    }
    if seed.3.is_multiple_of(8) {
        return LogInput::SummaryFailed { error: "gone".to_owned(), at };
    }
    let messages = u32::from(seed.1).min(u32::try_from(run.messages().len() + 1).unwrap_or(u32::MAX));
    let (summary, reason) = (Summary::new(messages, "before"), "it was long".to_owned());
    LogInput::Summarized { summary, reason, usage: Usage::default(), model: None }
}

/// Returns a prompt, or a call from outside.
fn prompt(seed: Seed, by: Principal, at: Timestamp) -> LogInput {
    let prompt = Prompt::new(vec![Part::text("go")], by, at);
    if seed.1 % 8 == 7 {
        let call = ToolCall { id: String::new(), name: format!("t{}", seed.2 % 8), arguments: "{}".to_owned() };
        return LogInput::CallFromOutside { prompt, call };
    }
    LogInput::Prompt(if seed.2.is_multiple_of(3) { prompt.steering() } else { prompt })
}

/// Returns a continuation, sometimes with another answer.
fn continuation(seed: Seed, by: Principal, at: Timestamp) -> LogInput {
    let answer = seed
        .1
        .is_multiple_of(4)
        .then(|| Box::new(WantedAnswer { final_tools: vec![format!("t{}", seed.2 % 8).into()], answer_schema: None }));
    LogInput::Continue { by, at, answer }
}

/// Returns an input that mostly fits the run.
pub(super) fn input(run: &Run, seed: Seed, at: Timestamp) -> LogInput {
    let calls = run.calls();
    let near = calls.len().saturating_sub(8);
    let open: Vec<_> = run.current_calls().iter().filter(|call| call.result().is_none()).collect();
    let any = calls.get(near + usize::from(seed.1) % calls.len().clamp(1, 8));
    let call = open.get(usize::from(seed.1) % open.len().max(1)).copied().filter(|_| seed.0 < 230).or(any);
    // Most inputs fit. Otherwise nothing would ever happen.
    let kind = match (run.phase(), call.map(tool_run::run::Call::stage)) {
        _ if seed.0 >= 160 => seed.0,
        (Phase::Idle | Phase::Finished | Phase::Stopped(_), _) => 0,
        (Phase::Generating, _) => 3,
        (_, Some(Stage::Open)) => 15,
        (_, Some(Stage::Running)) => 9 + seed.0 % 6,
        _ => 23,
    };
    let id = call.map_or_else(|| "none".into(), |call| call.id.clone());
    let attempt = call.map_or(1, |call| call.attempts).saturating_sub(u32::from(seed.3.is_multiple_of(16)));
    let by = if seed.3 % 16 == 1 { Principal::from("stranger") } else { owner() };
    match kind % 24 {
        0 => prompt(seed, by, at),
        1 => continuation(seed, by, at),
        2 => LogInput::Called {
            index: u32::from(seed.1 % 4),
            provider_id: "early".to_owned(),
            name: format!("t{}", seed.2 % 8),
            arguments: "{}".to_owned(),
        },
        3 | 4 => {
            let finish = match seed.2 % 12 {
                0 => FinishReason::Length,
                1 => FinishReason::ContentFilter,
                2 => FinishReason::Other("odd".to_owned()),
                3 => FinishReason::Paused,
                _ => FinishReason::ToolCalls,
            };
            LogInput::TurnEnded {
                parts: parts(seed, run),
                finish,
                usage: Usage { input_tokens: 1, ..Usage::default() },
                model: None,
                at,
            }
        }
        5 if seed.2.is_multiple_of(4) => {
            let (error, again) = ("gone".to_owned(), seed.2.is_multiple_of(8));
            LogInput::TurnFailed { error, again, usage: Usage::default(), model: None, at }
        }
        6 if seed.2.is_multiple_of(2) => LogInput::Recover { at },
        6 => change_of_history(run, seed, by, at),
        7 if seed.2.is_multiple_of(8) => LogInput::Cancel { by, at },
        7 if seed.2 % 8 == 1 => LogInput::Stop { reason: StopReason::Condition("enough".to_owned()), at },
        7 => LogInput::Offered { tools: (0..seed.2 % 8).map(|number| format!("t{number}")).collect() },
        8 if seed.2.is_multiple_of(2) => LogInput::Tick { at },
        8 if seed.2 % 4 == 1 && seed.3.is_multiple_of(4) => LogInput::Title { title: "a trip".to_owned(), by, at },
        8 if seed.2 % 4 == 1 => LogInput::StopRequested { by, at },
        8 => LogInput::Repaired {
            call: id,
            name: Some(format!("t{}", seed.3 % 8)),
            arguments: "{\"v\":2}".to_owned(),
            by: Author::Repair,
            usage: Usage::default(),
            model: None,
        },
        9 => LogInput::Asked { call: id, attempt, question: Question::approval("may I?"), at },
        10 if seed.2 % 4 == 1 => LogInput::DurableStepStarted { call: id, attempt, name: "step".to_owned() },
        10 => LogInput::DurableStepEnded {
            call: id,
            attempt,
            name: "step".to_owned(),
            value: json!(1),
            spent: spent(u32::from(seed.2.is_multiple_of(4))),
        },
        11..=14 => {
            let outcome = match seed.2 % 6 {
                0 => Err(CallError::Failed(Failure::new("no").retryable())),
                1 => Err(CallError::TimedOut { limit: Duration::from_secs(1) }),
                2 => Err(CallError::Panicked { message: "ouch".to_owned() }),
                _ => Ok(world::output()),
            };
            match seed.2 % 12 {
                6 => LogInput::Withdrawn { call: id, attempt, error: None, at },
                7 | 8 => LogInput::Withdrawn { call: id, attempt, error: outcome.err(), at },
                9 => {
                    let error = Some(CallError::LimitReached { limit: "it waited too long".to_owned() });
                    LogInput::Withdrawn { call: id, attempt, error, at }
                }
                _ => LogInput::Ended { call: id, attempt, outcome, handover: None, at },
            }
        }
        15..=18 => {
            let open = call.map_or(1, next_interrupt_number);
            let number = open.saturating_sub(1 + u32::from(seed.3 % 8 == 2));
            let interrupt: InterruptId = format!("{id}.{number}").parse().expect("an id");
            LogInput::Decide { decision: Box::new(draw_decision(run, &interrupt, seed)), interrupt, by, at }
        }
        _ => match call {
            Some(call) => LogInput::Checked { checked: checked(run, call, seed), call: id, at },
            None => LogInput::Tick { at },
        },
    }
}

fn spent(calls: u32) -> InnerUsage {
    let mut spent = InnerUsage::default();
    spent.calls = calls;
    spent
}

fn checked(run: &Run, call: &Call, seed: Seed) -> CheckedCall {
    let text = &call.arguments().text;
    let answer =
        [world::PolicyAnswer::Allow, world::PolicyAnswer::Allow, world::PolicyAnswer::Ask, world::PolicyAnswer::Deny]
            [usize::from(seed.2 % 4)];
    match seed.3 % 16 {
        15 => world::check_rejected(run, call, text),
        changed => {
            world::check_accepted(run, call, tool(&call.name, changed == 14), text, answer, touches(&call.name, seed))
        }
    }
}

fn draw_decision(run: &Run, interrupt: &InterruptId, seed: Seed) -> CheckedDecision {
    let decision = match seed.2 % 9 {
        0 | 1 => Decision::Approve,
        2 => Decision::ApproveForRun,
        3 | 4 => Decision::Edit { arguments: json!({"v": 9}) },
        5 => Decision::Deny { reason: None },
        6 => Decision::Respond { output: json!({"done": true}) },
        7 => Decision::Answer { value: json!("yes") },
        _ => Decision::Fail { error: "no".to_owned() },
    };
    let name = run.call(interrupt.call()).map_or("t0", |call| &call.name);
    let answer = if seed.1 % 8 == 7 { world::PolicyAnswer::Deny } else { world::PolicyAnswer::Ask };
    world::check_decision(run, interrupt, decision, tool(name, seed.3 % 16 == 14), answer, touches(name, seed))
}
