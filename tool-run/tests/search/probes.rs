//! Inputs that must have no effect, such as repeated decisions, decisions of strangers, and outcomes of old attempts. Also
//! the checks of a run's stored forms.

use super::moves::{self, copy, owner};
use super::transition_invariants::{CheckResult, Violation};
use super::world::{self, CHOICES, Choice, PolicyAnswer, World};
use tool_run::run::{
    InputError, InterruptKind, LogEntry, LogInput, Phase, Principal, Refusal, Run, Stage, Timestamp, advance,
    pending_actions, record,
};

/// Sends inputs that must have no effect to the state number `at`: with every choice in each seventh state, and with one
/// choice in the others.
pub(super) fn probe(at: usize, run: &mut Run, world: &World) -> CheckResult {
    let choices = if at.is_multiple_of(7) { &CHOICES[..] } else { &CHOICES[at % 5..][..1] };
    for (which, facts) in world.calls.iter().enumerate() {
        probe_decisions(run, world, which, choices)?;
        for attempt in (0..4).filter(|attempt| facts.live != Some(*attempt)) {
            ensure_ignored("I4", run, moves::end_input(run, which, attempt, true, world.time()))?;
            for late in [true, false] {
                ensure_ignored("I4", run, moves::withdraw_input(run, which, attempt, late, world.time()))?;
            }
        }
        if let Some(attempt) = facts.live.filter(|_| facts.begun) {
            ensure_ignored("I6", run, moves::withdraw_input(run, which, attempt, false, world.time()))?;
        }
        let call = &run.calls()[which];
        let is_behind = matches!(call.stage(), Stage::Running | Stage::Lost | Stage::Done);
        let id = call.id.clone();
        if is_behind || !moves::is_current(run, call) {
            ensure_ignored("I2", run, moves::check_input(run, world, which, PolicyAnswer::Allow, facts.changed))?;
        }
        // Neither a check of the other call nor one of other arguments has an effect.
        let mut other = moves::check_input(run, world, 1 - which, PolicyAnswer::Allow, false);
        if let LogInput::Checked { call, .. } = &mut other {
            call.clone_from(&id);
        }
        ensure_ignored("I1", run, other)?;
        let text: std::sync::Arc<str> = r#"{"v":7}"#.into();
        let tool = world::tool(which, facts.kind, facts.changed);
        let checked = world::check_accepted(run, &run.calls()[which], tool, &text, PolicyAnswer::Allow, None);
        ensure_ignored("I1", run, LogInput::Checked { call: id, checked, at: world.time() })?;
    }
    probe_text(run)
}

/// Sends the text of a turn that ends early: of the present turn, and of another. The run accepts it if it is still missing.
fn probe_text(run: &mut Run) -> CheckResult {
    let input = |turn| LogInput::Written { turn, text: "half".to_owned() };
    ensure_refused("I5", run, input(run.turn() + 1), &|refusal| matches!(refusal, Refusal::Misplaced { .. }))?;
    let mut after = copy(run);
    if advance(&mut after, input(run.turn())).is_err() {
        return Ok(());
    }
    let is_stopped = matches!(run.phase(), Phase::Stopped(_));
    if is_stopped && advance(&mut after, input(run.turn())).is_ok() {
        return Err(Violation::new("I5", "the text of a turn is accepted twice".to_owned()));
    }
    let ends = LogInput::Cancel { by: owner(), at: Timestamp(0) };
    advance(&mut after, ends).map_err(|error| Violation::new("I5", error.to_string()))?;
    if after.last_text() == "half" { Ok(()) } else { Err(Violation::new("I5", "the text is lost".to_owned())) }
}

/// Sends repeated (I7), late (I2) and unauthorized or wrong (I1) decisions.
fn probe_decisions(run: &mut Run, world: &World, which: usize, choices: &[Choice]) -> CheckResult {
    let facts = &world.calls[which];
    let stranger = Principal::from("stranger");
    let now = world.time();
    for (number, first) in &facts.decided {
        ensure_ignored("I7", run, moves::decide_input(run, world, which, *number, *first, owner(), now))?;
        ensure_refused(
            "I7",
            run,
            moves::decide_input(run, world, which, *number, *first, stranger.clone(), now),
            &|refusal| *refusal == Refusal::Forbidden,
        )?;
        for other in choices.iter().copied().filter(|choice| choice != first) {
            let input = moves::decide_input(run, world, which, *number, other, owner(), now);
            ensure_refused("I7", run, input, &|refusal| matches!(refusal, Refusal::Conflict { .. }))?;
        }
    }
    let next = moves::next_interrupt_number(&run.calls()[which]);
    for number in [0, next, next + 1] {
        let input = moves::decide_input(run, world, which, number, Choice::Approve, owner(), now);
        ensure_refused("I1", run, input, &|refusal| matches!(refusal, Refusal::Unknown { .. }))?;
    }
    let open = run.calls()[which].interrupt().map(|open| (open.id.number(), open.kind.clone(), open.expires_at));
    let is_open = |number: u32| open.as_ref().is_some_and(|(open, ..)| *open == number);
    let closed =
        (1..next).filter(|number| !facts.decided.iter().any(|(decided, _)| decided == number) && !is_open(*number));
    for (number, choice) in closed.flat_map(|number| choices.iter().map(move |choice| (number, *choice))) {
        let input = moves::decide_input(run, world, which, number, choice, owner(), now);
        ensure_refused("I2", run, input, &|refusal| matches!(refusal, Refusal::Closed { .. }))?;
    }
    let Some((number, kind, expires_at)) = open else { return Ok(()) };
    for choice in choices.iter().copied() {
        let input = moves::decide_input(run, world, which, number, choice, stranger.clone(), now);
        ensure_refused("I1", run, input, &|refusal| *refusal == Refusal::Forbidden)?;
        if let Some(expires) = expires_at {
            let input = moves::decide_input(run, world, which, number, choice, owner(), Timestamp(expires.0));
            ensure_refused("I2", run, input, &|refusal| matches!(refusal, Refusal::Closed { .. }))?;
        }
    }
    if matches!(kind, InterruptKind::Approval { .. }) {
        for input in moves::wrong_edits(run, world, which, number) {
            ensure_refused("I1", run, input, &|refusal| {
                matches!(refusal, Refusal::Invalid { .. } | Refusal::PolicyDenied { .. } | Refusal::ToolChanged)
            })?;
        }
    }
    Ok(())
}

/// Checks that an input has no effect.
fn ensure_ignored(invariant: &'static str, run: &mut Run, input: LogInput) -> CheckResult {
    match advance(run, input) {
        Ok((entries, actions)) if entries.is_empty() && actions.is_empty() => Ok(()),
        other => Err(Violation::new(invariant, format_args!("an input that must have no effect leads to {other:?}"))),
    }
}

/// Checks that an input is refused, and for the right reason.
fn ensure_refused(
    invariant: &'static str,
    run: &mut Run,
    input: LogInput,
    is_right: &dyn Fn(&Refusal) -> bool,
) -> CheckResult {
    match advance(run, input) {
        Err(InputError::Refused(refusal)) if is_right(&refusal) => Ok(()),
        other => Err(Violation::new(invariant, format_args!("an input that must be refused leads to {other:?}"))),
    }
}

/// Checks that every prefix of the log is a run, and that the whole log gives this run (I9).
pub(super) fn check_prefixes(log: &[LogEntry], run: &Run) -> CheckResult {
    let wrong = |error: &dyn std::fmt::Display| Violation::new("I9", error);
    let mut prefix = Run::fold(log[..1].iter().cloned()).map_err(|error| wrong(&error))?;
    for entry in &log[1..] {
        prefix.apply(entry).map_err(|error| wrong(&error))?;
    }
    if prefix.freeze() != run.freeze() || stages(&prefix) != stages(run) {
        return Err(wrong(&"a second fold of the log gives another run"));
    }
    Ok(())
}

fn stages(run: &Run) -> [u32; 6] {
    [Stage::Proposed, Stage::Open, Stage::Ready, Stage::Running, Stage::Lost, Stage::Done].map(|stage| run.count(stage))
}

/// Checks that the stored forms are read unchanged (I9).
pub(super) fn check_stored_forms(log: &[LogEntry], run: &Run) -> CheckResult {
    let wrong = |error: &dyn std::fmt::Display| Violation::new("I9", error);
    if record::decode(&record::encode(log)).map_err(|error| wrong(&error))? != log {
        return Err(wrong(&"a log is not the same after it was written and read"));
    }
    let frozen = run.freeze();
    let thawed = Run::thaw(&frozen).map_err(|error| wrong(&error))?;
    if thawed.freeze() != frozen || stages(&thawed) != stages(run) {
        return Err(wrong(&"a run is not the same after it was frozen and thawed"));
    }
    Ok(())
}

/// Checks that a run can be taken over and cancelled after each part of the entries of a transition (I9).
pub(super) fn check_partial_logs(frozen: &str, entries: &[LogEntry]) -> CheckResult {
    let mut prefix = moves::thaw(frozen);
    for entry in entries {
        prefix.apply(entry).map_err(|error| Violation::new("I9", error))?;
        drop(pending_actions(&prefix));
        let mut ended = copy(&prefix);
        for input in [LogInput::Recover { at: Timestamp(0) }, LogInput::Cancel { by: owner(), at: Timestamp(0) }] {
            advance(&mut ended, input).map_err(|error| Violation::new("I9", error))?;
        }
        if !matches!(ended.phase(), Phase::Finished | Phase::Stopped(_) | Phase::Idle) {
            return Err(Violation::new("I9", "a part of a log cannot be cancelled"));
        }
    }
    Ok(())
}
