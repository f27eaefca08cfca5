//! What follows from an event. Pure: no clock, no randomness, no waiting; the run is only read.

mod decide;
mod draft;
mod execute;
mod inspect;
mod prompt;
mod recover;
mod repair;
mod schedule;
mod turn;

use super::{Effect, Event, LogEvent, ObligationKind, Refusal, Run};
use draft::Draft;

/// What follows from `event`: what goes into the log, and what is to be done once it is there.
///
/// The cost does not grow with the run, only with the calls of the turn at hand. Events that come too late, such as the
/// end of a call that was cancelled, lead to nothing.
///
/// Fails when the event is refused. Then nothing happened.
pub fn step(run: &Run, event: Event) -> Result<(Vec<LogEvent>, Vec<Effect>), Refusal> {
    step_into(run, event, (Vec::new(), Vec::new()))
}

/// The same into lists that are there already, and empty: who takes many steps makes new ones for none.
pub(crate) fn step_into(
    run: &Run,
    event: Event,
    lists: (Vec<LogEvent>, Vec<Effect>),
) -> Result<(Vec<LogEvent>, Vec<Effect>), Refusal> {
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
        Event::Decide { obligation, ruling, by, at } => draft.decide(obligation, ruling, by, at)?,
        Event::Ended { call, attempt, outcome, at } => draft.ended(&call, attempt, outcome, at),
        Event::Asked { call, attempt, question, at } => draft.asked(&call, attempt, question, at)?,
        Event::AskedInside { call, attempt, tool, obligation, feedback, at } => {
            draft.asked_inside(&call, attempt, ObligationKind::Inner { tool, obligation, feedback }, at)?;
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

/// What a driver has to do that has just loaded the run, or lost its own changes to another's.
///
/// Calls that run are not in it: whoever started them waits for them, or [`Event::Recover`] declares them lost.
pub fn pending(run: &Run) -> Vec<Effect> {
    recover::pending(run)
}
