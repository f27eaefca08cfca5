//! The entries and actions that follow from an event. Pure: no clock, no randomness, no waiting; the run is only read.

mod decide;
mod draft;
mod execute;
mod inspect;
mod prompt;
mod recover;
mod schedule;
mod turn;

use super::{Action, Event, InterruptKind, LogEvent, Refusal, Run};
use draft::Draft;

/// Returns the entries that follow from `event`, and the actions to take when the entries are in the log.
///
/// The cost does not grow with the run, only with the calls of the turn at hand. Events that come too late, such as the
/// end of a call that was cancelled, lead to nothing.
///
/// Fails when the event is refused. Then nothing happened.
pub fn step(run: &Run, event: Event) -> Result<(Vec<LogEvent>, Vec<Action>), Refusal> {
    step_into(run, event, (Vec::new(), Vec::new()))
}

/// Takes a step as [`step`] does, into lists that are there already, and empty: a driver makes no new ones for each.
pub fn step_into(
    run: &Run,
    event: Event,
    lists: (Vec<LogEvent>, Vec<Action>),
) -> Result<(Vec<LogEvent>, Vec<Action>), Refusal> {
    let mut draft = Draft::new(run, lists);
    match event {
        Event::Prompt(prompt) => draft.prompt(prompt)?,
        Event::Continue { by, at } => draft.go_on(&by, at)?,
        Event::Offered { tools } => draft.offered(tools)?,
        Event::Called { index, provider_id, name, arguments } => draft.called(index, provider_id, name, arguments)?,
        Event::TurnEnded { parts, finish, usage, model, at } => {
            draft.turn_ended(parts, finish, usage, model, at)?;
        }
        Event::TurnFailed { error, again, usage, model, at } => draft.turn_failed(error, again, usage, model, at)?,
        Event::Inspected { call, inspection, at } => draft.inspected(&call, inspection, at),
        Event::Decide { interrupt, ruling, by, at } => draft.decide(interrupt, ruling, by, at)?,
        Event::Ended { call, attempt, outcome, at } => draft.ended(&call, attempt, outcome, at),
        Event::Asked { call, attempt, question, at } => draft.asked(&call, attempt, question, at)?,
        Event::AskedInside { call, attempt, tool, interrupt, feedback, at } => {
            draft.asked_inside(&call, attempt, InterruptKind::Inner { tool, interrupt, feedback }, at)?;
        }
        Event::Stepping { call, attempt, name } => draft.stepping(call, attempt, name)?,
        Event::Stepped { call, attempt, name, value, spent } => draft.stepped(call, attempt, name, value, spent)?,
        Event::Tick { at } => draft.tick(at),
        Event::Recover { at } => draft.recover(at),
        Event::Repaired { call, name, arguments, by, usage } => draft.repaired(call, name, arguments, by, usage)?,
        Event::StopRequested { by, at } => draft.stop(by, at)?,
        Event::Cancel { by, at } => draft.cancel(&by, at)?,
        Event::Stop { reason, at } => draft.halt(reason, at),
    }
    Ok((draft.log, draft.effects))
}

/// Returns the actions of a driver that has just loaded the run, or lost its own changes to another's.
///
/// Calls that run are not in it: whoever started them waits for them, or [`Event::Recover`] declares them lost.
pub fn pending(run: &Run) -> Vec<Action> {
    recover::pending(run)
}
