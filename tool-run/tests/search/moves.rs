//! The possible moves of a world, and the inputs of `advance` that they become.

use std::time::Duration;

use super::world::{self, ARGUMENTS, Choice, Move, NAMES, PolicyAnswer, World};
use tool_run::message::{AssistantPart, FinishReason, Part, ToolCall, Usage};
use tool_run::run::{
    Call, CallState, Grant, InterruptId, InterruptKind, LogEntry, LogInput, OnPrompt, Phase, Principal, Prompt, Run,
    RunOptions, Stage, StopReason, Timestamp, advance,
};
use tool_run::tool::{CallError, Failure};

pub(super) fn owner() -> Principal {
    Principal::from("owner")
}

/// The lifetime of approvals, announcements and grants.
const EXPIRY: Duration = Duration::from_millis(10);

/// Returns a copy of the run, made through its stored form, because a grant has no `Clone`.
pub(super) fn copy(run: &Run) -> Run {
    thaw(&run.freeze())
}

pub(super) fn thaw(frozen: &str) -> Run {
    Run::thaw(frozen).expect("a run that was frozen")
}

/// Returns the options of the runs in the search.
pub(super) fn options() -> RunOptions {
    let mut options = RunOptions::default();
    options.on_prompt = OnPrompt::Supersede;
    options.approval_expiry = Some(EXPIRY);
    options.external_expiry = Some(EXPIRY);
    options.grant_expiry = Some(EXPIRY);
    options
}

/// Returns the log of a run whose model just made two calls with the same provider id and the same arguments.
pub(super) fn opening_log(options: RunOptions) -> Vec<LogEntry> {
    let mut log = vec![LogEntry::Created {
        run: "run".into(),
        owner: owner(),
        made_by: None,
        options: options.into(),
        messages: Vec::new(),
        at: Timestamp(0),
    }];
    let call = |name: &&str| {
        AssistantPart::Call(ToolCall {
            id: "call".to_owned(),
            name: (*name).to_owned(),
            arguments: ARGUMENTS.to_owned(),
        })
    };
    let parts = NAMES.iter().map(call).collect();
    let ended = LogInput::TurnEnded {
        parts,
        finish: FinishReason::ToolCalls,
        usage: Usage::default(),
        model: None,
        at: Timestamp(0),
    };
    let mut run = Run::fold(log.clone()).expect("a log");
    for input in [prompt(Timestamp(0)), ended] {
        log.extend(advance(&mut run, input).expect("the input fits").0);
    }
    log
}

fn prompt(at: Timestamp) -> LogInput {
    LogInput::Prompt(Prompt::new(vec![Part::text("go")], owner(), at))
}

pub(super) fn is_busy(run: &Run) -> bool {
    matches!(run.phase(), Phase::Generating | Phase::Acting | Phase::Suspended)
}

pub(super) fn is_current(run: &Run, call: &Call) -> bool {
    run.current_calls().iter().any(|other| other.id == call.id)
}

/// Returns the possible moves.
pub(super) fn possible_moves(run: &Run, world: &World) -> Vec<Move> {
    let mut moves = Vec::new();
    for (at, (call, facts)) in run.calls().iter().zip(&world.calls).enumerate() {
        if facts.must_check {
            let usual = facts.kind.policy_answer();
            moves.push(Move::Check(at, usual, facts.changed));
            if world.troubles > 0 {
                if call.stage() != Stage::Proposed || !facts.decided.is_empty() {
                    let all = [PolicyAnswer::Allow, PolicyAnswer::Ask, PolicyAnswer::Deny];
                    let others = all.into_iter().filter(|answer| *answer != usual);
                    moves.extend(others.map(|answer| Move::Check(at, answer, facts.changed)));
                }
                if !facts.changed {
                    moves.push(Move::Check(at, usual, true));
                }
            }
        }
        if let Some(open) = call.interrupt()
            && facts.reported >= open.id.number()
            && open.expires_at.is_none_or(|expires| world.time() < expires)
        {
            let choices: &[Choice] = match &open.kind {
                InterruptKind::Approval { .. } if facts.edits == 0 => {
                    &[Choice::Approve, Choice::Edit, Choice::Deny, Choice::Respond]
                }
                InterruptKind::Approval { .. } => &[Choice::Approve, Choice::Deny, Choice::Respond],
                InterruptKind::External => &[Choice::Respond, Choice::Fail, Choice::Deny],
                _ => &[Choice::Approve, Choice::Respond, Choice::Fail, Choice::Deny],
            };
            moves.extend(choices.iter().map(|choice| Move::Decide(at, *choice)));
        }
        if facts.live.is_some() {
            moves.extend([Move::End(at, true), Move::End(at, false)]);
            // The other call is like this one, in another pair of kinds.
            if at == 0 && !facts.begun {
                moves.extend([Move::Begin(at), Move::Withdraw(at, true)]);
                // Without an end, the call would be checked and started for ever.
                if world.troubles > 0 {
                    moves.push(Move::Withdraw(at, false));
                }
            }
        }
    }
    if world.troubles > 0 {
        if run.next_expiry().is_some() {
            moves.push(Move::Tick);
        }
        if is_busy(run) {
            moves.push(Move::Recover);
        }
    }
    if is_busy(run) {
        if world.prompts > 0 {
            moves.extend([Move::Prompt, Move::Steer]);
        }
        moves.extend([Move::Cancel, Move::Stop]);
    }
    if world.model {
        moves.push(Move::Model);
        if world.troubles > 0 {
            moves.push(Move::Fail);
        }
    }
    moves
}

/// Returns the input that a driver sends for a move.
pub(super) fn input(run: &Run, world: &World, cause: Move) -> LogInput {
    let at = world.time();
    match cause {
        Move::Check(which, answer, changed) => check_input(run, world, which, answer, changed),
        Move::Decide(which, choice) => {
            let open = run.calls()[which].interrupt().expect("it is open").id.number();
            decide_input(run, world, which, open, choice, owner(), at)
        }
        Move::End(which, ok) => {
            let attempt = world.calls[which].live.expect("it runs");
            end_input(run, which, attempt, ok, at)
        }
        Move::Begin(which) => {
            let attempt = world.calls[which].live.expect("it runs");
            LogInput::DurableStepStarted { call: run.calls()[which].id.clone(), attempt, name: "step".to_owned() }
        }
        Move::Withdraw(which, late) => {
            let attempt = world.calls[which].live.expect("it runs");
            withdraw_input(run, which, attempt, late, at)
        }
        Move::Tick => LogInput::Tick { at: run.next_expiry().expect("something expires") },
        Move::Recover => LogInput::Recover { at },
        Move::Prompt => prompt(at),
        Move::Steer => LogInput::Prompt(Prompt::new(vec![Part::text("and")], owner(), at).steering()),
        Move::Cancel => LogInput::Cancel { by: owner(), at },
        Move::Stop => LogInput::Stop { reason: StopReason::TimedOut("it took too long".to_owned()), at },
        Move::Fail => {
            let error = "it broke off".to_owned();
            LogInput::TurnFailed { error, again: true, usage: Usage::default(), model: None, at }
        }
        Move::Model => {
            let parts = vec![AssistantPart::Text { text: "done".to_owned() }];
            LogInput::TurnEnded { parts, finish: FinishReason::Stop, usage: Usage::default(), model: None, at }
        }
    }
}

pub(super) fn check_input(run: &Run, world: &World, which: usize, answer: PolicyAnswer, changed: bool) -> LogInput {
    let call = &run.calls()[which];
    let tool = world::tool(which, world.calls[which].kind, changed);
    let text = &call.arguments().text;
    let checked = world::check_accepted(run, call, tool, text, answer, world.touching.of(which, text));
    LogInput::Checked { call: call.id.clone(), checked, at: world.time() }
}

pub(super) fn end_input(run: &Run, which: usize, attempt: u32, ok: bool, at: Timestamp) -> LogInput {
    let outcome = if ok { Ok(world::output()) } else { Err(CallError::Failed(Failure::new("it broke"))) };
    LogInput::Ended { call: run.calls()[which].id.clone(), attempt, outcome, handover: None, at }
}

/// Returns the withdrawal of a start, because of a limit if `late` is set.
pub(super) fn withdraw_input(run: &Run, which: usize, attempt: u32, late: bool, at: Timestamp) -> LogInput {
    let error = late.then(|| CallError::LimitReached { limit: "the call waited too long".to_owned() });
    LogInput::Withdrawn { call: run.calls()[which].id.clone(), attempt, error, at }
}

pub(super) fn decide_input(
    run: &Run,
    world: &World,
    which: usize,
    number: u32,
    choice: Choice,
    by: Principal,
    at: Timestamp,
) -> LogInput {
    let call = &run.calls()[which];
    let facts = &world.calls[which];
    let interrupt = interrupt_id(call, number);
    let touches = world.touching.of(which, &world::edited_arguments().to_string());
    let tool = world::tool(which, facts.kind, facts.changed);
    let checked = world::check_decision(run, &interrupt, world::decision(choice), tool, PolicyAnswer::Ask, touches);
    LogInput::Decide { interrupt, decision: Box::new(checked), by, at }
}

/// Returns the id of the interrupt `number` of `call`.
pub(super) fn interrupt_id(call: &Call, number: u32) -> InterruptId {
    format!("{}.{number}", call.id).parse().expect("an id")
}

/// Returns the number of the next interrupt of `call`.
pub(super) fn next_interrupt_number(call: &Call) -> u32 {
    u32::try_from(call.interrupt_ids().count()).expect("a few") + 1
}

pub(super) fn grant_of(call: &Call) -> Option<&Grant> {
    match &call.state {
        CallState::Ready(grant) => Some(grant),
        _ => None,
    }
}

/// Returns edits whose arguments are wrong, not allowed, or for another tool.
pub(super) fn wrong_edits(run: &Run, world: &World, which: usize, number: u32) -> Vec<LogInput> {
    let facts = &world.calls[which];
    let interrupt = interrupt_id(&run.calls()[which], number);
    let tool = |changed| world::tool(which, facts.kind, changed);
    let edit = |changed, answer| {
        world::check_decision(run, &interrupt, world::decision(Choice::Edit), tool(changed), answer, None)
    };
    let checked = [
        world::check_rejected_edit(run, &interrupt, tool(facts.changed)),
        edit(facts.changed, PolicyAnswer::Deny),
        edit(!facts.changed, PolicyAnswer::Ask),
    ];
    let input = |checked| LogInput::Decide {
        interrupt: interrupt.clone(),
        decision: Box::new(checked),
        by: owner(),
        at: world.time(),
    };
    checked.into_iter().map(input).collect()
}
