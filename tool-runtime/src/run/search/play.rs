//! What can happen in a world, as events.

use std::sync::Arc;

use super::world::{self, ARGUMENTS, Choice, Move, NAMES, Says, World};
use crate::message::{AssistantPart, FinishReason, Part, ToolCall, Usage};
use crate::run::{
    Call, Event, Inspection, LogEvent, ObligationKind, OnPrompt, Phase, Principal, Prompt, Run, RunOptions, Stage,
    StopReason, Time, step,
};
use crate::tool::{CallError, Failure};

pub(super) fn owner() -> Principal {
    Principal::from("owner")
}

/// How long approvals, hand-outs and grants last.
const EXPIRY: u64 = 10;

/// The log of a run whose model just made two calls, which have one provider's id and the same arguments.
pub(super) fn opening() -> Vec<LogEvent> {
    let options = RunOptions {
        on_prompt: OnPrompt::Supersede,
        approval_expiry: Some(EXPIRY),
        external_expiry: Some(EXPIRY),
        grant_expiry: Some(EXPIRY),
        ..RunOptions::default()
    };
    let mut log =
        vec![LogEvent::Created { run: "run".into(), owner: owner(), options, messages: Vec::new(), at: Time(0) }];
    let call = |name: &&str| {
        AssistantPart::Call(ToolCall {
            id: "call".to_owned(),
            name: (*name).to_owned(),
            arguments: ARGUMENTS.to_owned(),
        })
    };
    let parts = NAMES.iter().map(call).collect();
    let ended =
        Event::TurnEnded { parts, finish: FinishReason::ToolCalls, usage: Usage::default(), model: None, at: Time(0) };
    for event in [prompt(Time(0)), ended] {
        let run = Run::fold(log.clone()).expect("a log");
        log.extend(step(&run, event).expect("an event that fits").0);
    }
    log
}

fn prompt(at: Time) -> Event {
    Event::Prompt(Prompt::new(vec![Part::text("go")], owner(), at))
}

pub(super) fn is_busy(run: &Run) -> bool {
    matches!(run.phase(), Phase::Generating | Phase::Acting | Phase::Suspended)
}

pub(super) fn is_current(run: &Run, call: &Call) -> bool {
    run.current().iter().any(|other| other.id == call.id)
}

/// What can happen now.
pub(super) fn moves(run: &Run, world: &World) -> Vec<Move> {
    let mut moves = Vec::new();
    for (at, (call, seen)) in run.calls().iter().zip(&world.calls).enumerate() {
        if seen.look {
            let usual = seen.kind.says();
            moves.push(Move::Look(at, usual, seen.changed));
            if world.troubles > 0 {
                if call.stage() != Stage::Proposed || !seen.decided.is_empty() {
                    let others = [Says::Allow, Says::Ask, Says::Deny].into_iter().filter(|says| *says != usual);
                    moves.extend(others.map(|says| Move::Look(at, says, seen.changed)));
                }
                if !seen.changed {
                    moves.push(Move::Look(at, usual, true));
                }
            }
        }
        if let Some(open) = call.obligation()
            && seen.told >= open.id.number
            && open.expires.is_none_or(|expires| world.time() < expires)
        {
            let choices: &[Choice] = match &open.kind {
                ObligationKind::Approval { .. } if seen.edits == 0 => {
                    &[Choice::Approve, Choice::Edit, Choice::Deny, Choice::Respond]
                }
                ObligationKind::Approval { .. } => &[Choice::Approve, Choice::Deny, Choice::Respond],
                ObligationKind::External => &[Choice::Respond, Choice::Fail, Choice::Deny],
                _ => &[Choice::Approve, Choice::Respond, Choice::Fail, Choice::Deny],
            };
            moves.extend(choices.iter().map(|choice| Move::Decide(at, *choice)));
        }
        if seen.live.is_some() {
            moves.extend([Move::End(at, true), Move::End(at, false)]);
        }
    }
    if world.troubles > 0 {
        if run.wake().is_some() {
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

/// A move as the event that a driver sends.
pub(super) fn event(run: &Run, world: &World, happens: Move) -> Event {
    let at = world.time();
    match happens {
        Move::Look(which, says, changed) => look(run, world, which, says, changed),
        Move::Decide(which, choice) => {
            let open = run.calls()[which].obligation().expect("it is open").id.number;
            decide(run, world, which, open, choice, owner(), at)
        }
        Move::End(which, ok) => {
            let attempt = world.calls[which].live.expect("it runs");
            end(run, which, attempt, ok, at)
        }
        Move::Tick => Event::Tick { at: run.wake().expect("something ends") },
        Move::Recover => Event::Recover { at },
        Move::Prompt => prompt(at),
        Move::Steer => Event::Prompt(Prompt::new(vec![Part::text("and")], owner(), at).steering()),
        Move::Cancel => Event::Cancel { by: owner(), at },
        Move::Stop => Event::Stop { reason: StopReason::TimedOut("it took too long".to_owned()), at },
        Move::Fail => {
            let error = "it broke off".to_owned();
            Event::TurnFailed { error, again: true, usage: Usage::default(), model: None, at }
        }
        Move::Model => {
            let parts = vec![AssistantPart::Text { text: "done".to_owned() }];
            Event::TurnEnded { parts, finish: FinishReason::Stop, usage: Usage::default(), model: None, at }
        }
    }
}

pub(super) fn look(run: &Run, world: &World, which: usize, says: Says, changed: bool) -> Event {
    let call = &run.calls()[which];
    let tool = world::tool(which, world.calls[which].kind, changed);
    let text = &call.arguments().text;
    let inspection = world::touch(world::accepted(&call.id, tool, text, says), world.touching.of(which, text));
    Event::Inspected { call: call.id.clone(), inspection, at: world.time() }
}

pub(super) fn end(run: &Run, which: usize, attempt: u32, ok: bool, at: Time) -> Event {
    let outcome = if ok { Ok(world::output()) } else { Err(CallError::Failed(Failure::told("it broke"))) };
    Event::Ended { call: run.calls()[which].id.clone(), attempt, outcome, at }
}

pub(super) fn decide(
    run: &Run,
    world: &World,
    which: usize,
    number: u32,
    choice: Choice,
    by: Principal,
    at: Time,
) -> Event {
    let call = &run.calls()[which];
    let seen = &world.calls[which];
    let obligation = crate::run::ObligationId { call: call.id.clone(), number };
    let touches = world.touching.of(which, &world::edited().to_string());
    let ruling = world::ruling(&obligation, choice, world::tool(which, seen.kind, seen.changed), touches);
    Event::Decide { obligation, ruling, by, at }
}

/// An edit whose arguments are wrong, not allowed, or for another tool.
pub(super) fn wrong_edits(run: &Run, world: &World, which: usize, number: u32) -> Vec<Event> {
    let call = &run.calls()[which];
    let seen = &world.calls[which];
    let text: Arc<str> = world::edited().to_string().into();
    let with = |inspection: Inspection| {
        let mut event = decide(run, world, which, number, Choice::Edit, owner(), world.time());
        if let Event::Decide { ruling, .. } = &mut event {
            ruling.inspection = Some(inspection);
        }
        event
    };
    vec![
        with(world::rejected(&call.id, &text)),
        with(world::accepted(&call.id, world::tool(which, seen.kind, seen.changed), &text, Says::Deny)),
        with(world::accepted(&call.id, world::tool(which, seen.kind, !seen.changed), &text, Says::Ask)),
    ]
}
