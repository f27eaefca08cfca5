//! Events that must change nothing: repeated, late and foreign decisions, and outcomes of old attempts; and the stored form of a
//! run.

use super::invariants::Broken;
use super::play::copy;
use super::play::{self, owner};
use super::world::{self, CHOICES, Choice, Says, World};
use tool_run::run::{
    InterruptKind, LogEntry, Phase, Principal, Refusal, Run, Stage, StepInput, Time, pending_actions, record, step,
};

type Held = Result<(), Broken>;

/// Probes a state.
///
/// Every seventh state is probed with every choice, the others with one choice each.
pub(super) fn probe(at: usize, run: &Run, world: &World) -> Held {
    let choices = if at.is_multiple_of(7) { &CHOICES[..] } else { &CHOICES[at % 5..][..1] };
    for (which, seen) in world.calls.iter().enumerate() {
        decisions(run, world, which, choices)?;
        for attempt in (0..4).filter(|attempt| seen.live != Some(*attempt)) {
            silent("I4", run, play::end(run, which, attempt, true, world.time()))?;
        }
        let call = &run.calls()[which];
        let is_behind = matches!(call.stage(), Stage::Running | Stage::Unknown | Stage::Done);
        if is_behind || !play::is_current(run, call) {
            silent("I2", run, play::look(run, world, which, Says::Allow, seen.changed))?;
        }
        // The other call's check, and one for other arguments.
        let mut other = play::look(run, world, 1 - which, Says::Allow, false);
        if let StepInput::Checked { call: id, .. } = &mut other {
            *id = call.id.clone();
        }
        silent("I1", run, other)?;
        let text: std::sync::Arc<str> = r#"{"v":7}"#.into();
        let tool = world::tool(which, seen.kind, seen.changed);
        let checked = world::accepted(run, call, tool, &text, Says::Allow, None);
        silent("I1", run, StepInput::Checked { call: call.id.clone(), checked, at: world.time() })?;
    }
    Ok(())
}

/// I7 and I2, and the principals that may decide.
fn decisions(run: &Run, world: &World, which: usize, choices: &[Choice]) -> Held {
    let seen = &world.calls[which];
    let stranger = Principal::from("stranger");
    let now = world.time();
    for (number, first) in &seen.decided {
        silent("I7", run, play::decide(run, world, which, *number, *first, owner(), now))?;
        refused("I7", run, play::decide(run, world, which, *number, *first, stranger.clone(), now), &|refusal| {
            *refusal == Refusal::Forbidden
        })?;
        for other in choices.iter().copied().filter(|choice| choice != first) {
            let event = play::decide(run, world, which, *number, other, owner(), now);
            refused("I7", run, event, &|refusal| matches!(refusal, Refusal::Conflict { .. }))?;
        }
    }
    let call = &run.calls()[which];
    let next = play::next_interrupt_id(call);
    for number in [0, next, next + 1] {
        let event = play::decide(run, world, which, number, Choice::Approve, owner(), now);
        refused("I1", run, event, &|refusal| matches!(refusal, Refusal::Unknown { .. }))?;
    }
    let closed = (1..next).filter(|number| {
        !seen.decided.iter().any(|(decided, _)| decided == number)
            && call.interrupt().is_none_or(|open| open.id.number() != *number)
    });
    for (number, choice) in closed.flat_map(|number| choices.iter().map(move |choice| (number, *choice))) {
        let event = play::decide(run, world, which, number, choice, owner(), now);
        refused("I2", run, event, &|refusal| matches!(refusal, Refusal::Closed { .. }))?;
    }
    let Some(open) = call.interrupt() else { return Ok(()) };
    let number = open.id.number();
    for choice in choices.iter().copied() {
        let event = play::decide(run, world, which, number, choice, stranger.clone(), now);
        refused("I1", run, event, &|refusal| *refusal == Refusal::Forbidden)?;
        if let Some(expires) = open.expires {
            let event = play::decide(run, world, which, number, choice, owner(), Time(expires.0));
            refused("I2", run, event, &|refusal| matches!(refusal, Refusal::Closed { .. }))?;
        }
    }
    if matches!(open.kind, InterruptKind::Approval { .. }) {
        for event in play::wrong_edits(run, world, which, number) {
            refused("I1", run, event, &|refusal| {
                matches!(refusal, Refusal::Invalid { .. } | Refusal::PolicyDenied { .. } | Refusal::ToolChanged)
            })?;
        }
    }
    Ok(())
}

/// Checks that a late event has no effect.
fn silent(invariant: &'static str, run: &Run, input: StepInput) -> Held {
    match step(run, input) {
        Ok((events, actions)) if events.is_empty() && actions.is_empty() => Ok(()),
        other => Err(Broken::new(invariant, format_args!("what comes too late leads to {other:?}"))),
    }
}

fn refused(invariant: &'static str, run: &Run, input: StepInput, is_right: &dyn Fn(&Refusal) -> bool) -> Held {
    match step(run, input) {
        Err(refusal) if is_right(&refusal) => Ok(()),
        other => Err(Broken::new(invariant, format_args!("what must be refused leads to {other:?}"))),
    }
}

/// I10: every prefix of the log is a run that can be stored, taken over and cancelled. The whole log gives this run.
pub(super) fn prefixes(log: &[LogEntry], run: &Run) -> Held {
    let wrong = |error: &dyn std::fmt::Display| Broken::new("I10", error);
    let mut prefix = Run::fold(log[..1].iter().cloned()).map_err(|error| wrong(&error))?;
    for entry in &log[1..] {
        prefix.apply(entry).map_err(|error| wrong(&error))?;
    }
    if prefix.freeze() != run.freeze() || stages(&prefix) != stages(run) {
        return Err(wrong(&"another fold of the log is another run"));
    }
    Ok(())
}

fn stages(run: &Run) -> [u32; 6] {
    [Stage::Proposed, Stage::Open, Stage::Ready, Stage::Running, Stage::Unknown, Stage::Done]
        .map(|stage| run.count(stage))
}

/// I10: the stored form is read unchanged.
pub(super) fn written(log: &[LogEntry], run: &Run) -> Held {
    let wrong = |error: &dyn std::fmt::Display| Broken::new("I10", error);
    if record::decode(&record::encode(log)).map_err(|error| wrong(&error))? != log {
        return Err(wrong(&"a log that was written and read is another"));
    }
    let frozen = run.freeze();
    let thawed = Run::thaw(&frozen).map_err(|error| wrong(&error))?;
    if thawed.freeze() != frozen || stages(&thawed) != stages(run) {
        return Err(wrong(&"a run that was frozen and thawed is another"));
    }
    Ok(())
}

/// Checks that a partially logged state can still be taken over and cancelled.
pub(super) fn torn(frozen: &str, events: &[LogEntry]) -> Held {
    let mut prefix = play::thaw(frozen);
    for event in events {
        prefix.apply(event).map_err(|error| Broken::new("I10", error))?;
        drop(pending_actions(&prefix));
        let mut ended = copy(&prefix);
        for event in [StepInput::Recover { at: Time(0) }, StepInput::Cancel { by: owner(), at: Time(0) }] {
            let (events, _) = step(&ended, event).map_err(|error| Broken::new("I10", error))?;
            for event in events {
                ended.apply(&event).map_err(|error| Broken::new("I10", error))?;
            }
        }
        if !matches!(ended.phase(), Phase::Finished | Phase::Stopped(_) | Phase::Idle) {
            return Err(Broken::new("I10", "a part of a log cannot be called off"));
        }
    }
    Ok(())
}
