//! The grammar of events: the orders in which they may come.

use std::{collections::HashMap, fmt};

use crate::agent::{Event, EventKind};
use crate::run::{CallId, Interrupt, InterruptId, InterruptKind, Phase};

/// The grammar of a run's events: it gets each event, and reports the one that does not fit, with the reason.
///
/// ```text
/// run    = drive*
/// drive  = calls  (step calls)*  RunAtRest
/// step   = StepStarted  (Text | Reasoning | CallAnnounced | CallArguments | calls of eager tools)*
///          (TurnEnded | TurnFailed)
/// call   = CallAnnounced  CallArguments*
///          [ CallAccepted  ( InterruptOpened  CallAccepted?  CallDecided )*
///            ( CallStarted  CallProgress*  ( InterruptOpened  CallDecided  CallStarted  CallProgress* )* )* ]
///          CallEnded
/// ```
///
/// - Steps are numbered from 1 since the prompt; the next begins when all calls of the previous one have ended. Nothing is
///   expected of the calls of a step that failed.
/// - The events of one call are in this order. The events of different calls of a step may interleave.
/// - The tool accepts a call's arguments before the call waits or starts, and again when a person edits them. `CallEnded` comes
///   once, and is the last event of its call, whatever the outcome.
/// - A finished run has no open call; a suspended one has a call that waits.
///
/// Other events may come anywhere. The grammar may miss events between two drives, such as a decision in another process. So it
/// accepts any event of calls of an earlier drive that have not ended. The grammar is for one run, which one driver at a time
/// drives to its `RunAtRest`.
#[derive(Clone, Debug, Default)]
pub struct Grammar {
    calls: HashMap<CallId, CallEvents>,
    /// The number of the last step.
    step: usize,
    in_step: bool,
    /// Set if the last step failed, so that it may be repeated.
    failed: bool,
    /// Set if a step began in this drive: from then on, each call is announced.
    stepped: bool,
}

#[derive(Clone, Debug, Default)]
struct CallEvents {
    /// Set if more may have happened to it than the events show.
    is_loose: bool,
    is_accepted: bool,
    /// Set if its tool ran, or runs.
    is_started: bool,
    is_over: bool,
    open: Option<InterruptId>,
}

/// An event that does not fit at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MisplacedEvent {
    /// The event, as a line.
    pub event: String,
    /// The problem.
    pub why: String,
}

impl fmt::Display for MisplacedEvent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "an event out of order: {}: {}", self.event, self.why)
    }
}

impl std::error::Error for MisplacedEvent {}

type Fits = Result<(), String>;

/// Returns the error `why` unless `is` holds.
fn must(is: bool, why: impl Into<String>) -> Fits {
    if is { Ok(()) } else { Err(why.into()) }
}

impl Grammar {
    /// Creates the grammar for the start of a run, or for a run that is resumed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks the next event.
    ///
    /// Fails when it does not fit. The event is then ignored.
    pub fn check(&mut self, event: &Event<'_>) -> Result<(), MisplacedEvent> {
        self.fits(event).map_err(|why| MisplacedEvent { event: EventKind::from(*event).to_string(), why })
    }

    /// Records that the drive ended without an event: its future was dropped, or its store failed.
    pub fn broke_off(&mut self) {
        (self.in_step, self.stepped) = (false, false);
        self.calls.retain(|_, call| !call.is_over);
        self.calls.values_mut().for_each(|call| call.is_loose = true);
    }

    fn fits(&mut self, event: &Event<'_>) -> Fits {
        match *event {
            Event::StepStarted { step } => self.step_started(step),
            Event::Text(_) | Event::Reasoning(_) => self.in_step(),
            Event::CallAnnounced { id, .. } => {
                self.in_step()?;
                must(!self.calls.contains_key(id), "another call of the run has this id")?;
                self.calls.insert(id.clone(), CallEvents::default());
                Ok(())
            }
            Event::CallArguments { id, .. } => {
                self.in_step()?;
                must(self.calls.contains_key(id), "the call was not announced")?;
                let call = self.call(id)?;
                must(!call.is_accepted, "its arguments were accepted already")
            }
            Event::TurnEnded { .. } => {
                self.in_step()?;
                self.in_step = false;
                Ok(())
            }
            Event::TurnFailed { .. } => {
                // Its announced calls may never have become calls of the run.
                self.calls.values_mut().for_each(|call| call.is_loose = true);
                (self.in_step, self.failed) = (false, true);
                Ok(())
            }
            Event::CallAccepted(call) => {
                self.call(&call.id)?.is_accepted = true;
                Ok(())
            }
            Event::InterruptOpened { call, interrupt } => self.call(&call.id)?.opened(interrupt),
            Event::CallDecided { call, interrupt, .. } => self.call(&call.id)?.decided(interrupt),
            Event::CallStarted(call) => self.call(&call.id)?.started(),
            Event::CallProgress(progress) => {
                let call = self.call(&CallId::from(progress.call_id.as_str()))?;
                must(call.is_started || call.is_loose, "the call was not started")
            }
            Event::CallEnded { call, .. } => {
                self.call(&call.id)?.is_over = true;
                Ok(())
            }
            Event::RunAtRest(phase) => self.paused(phase),
            #[allow(unreachable_patterns, reason = "events that come with other features may come anywhere")]
            _ => Ok(()),
        }
    }

    fn step_started(&mut self, step: usize) -> Fits {
        must(!self.in_step, format!("step {} has not ended", self.step))?;
        let is_next = step == self.step + 1 || (self.failed && step == self.step);
        must(step == 1 || is_next || !self.stepped, format!("the last step was {}", self.step))?;
        let left = self.calls.iter().find(|(_, call)| !call.is_over && !call.is_loose);
        must(left.is_none(), format!("the call {} has not ended", left.map_or("", |(id, _)| id.as_str())))?;
        if step == 1 {
            // It may be another run, whose calls have their own ids.
            self.calls.clear();
        }
        (self.step, self.in_step, self.stepped, self.failed) = (step, true, true, false);
        Ok(())
    }

    fn paused(&mut self, phase: &Phase) -> Fits {
        must(!self.in_step || matches!(phase, Phase::Stopped(_)), "a step is under way")?;
        let mut left = self.calls.values().filter(|call| !call.is_over && !call.is_loose);
        match phase {
            Phase::Finished | Phase::Idle => must(left.next().is_none(), "a call has not ended")?,
            Phase::Suspended => {
                let waits = self.calls.values().any(|call| !call.is_over && (call.is_loose || call.open.is_some()));
                must(waits || !self.stepped, "no call waits for a decision")?;
            }
            _ => {}
        }
        self.broke_off();
        Ok(())
    }

    fn in_step(&self) -> Fits {
        must(self.in_step, "no step is under way")
    }

    /// Returns a call that has not ended.
    fn call(&mut self, id: &CallId) -> Result<&mut CallEvents, String> {
        if !self.stepped && !self.calls.contains_key(id) {
            // It belongs to an earlier drive, or to one elsewhere.
            self.calls.insert(id.clone(), CallEvents { is_loose: true, ..CallEvents::default() });
        }
        let call = self.calls.get_mut(id).ok_or("the call was not announced")?;
        must(!call.is_over, "the call has ended before")?;
        Ok(call)
    }
}

impl CallEvents {
    fn opened(&mut self, interrupt: &Interrupt) -> Fits {
        if !self.is_loose {
            must(self.open.is_none(), "the call has another open interrupt")?;
            match interrupt.kind {
                InterruptKind::Question { .. } | InterruptKind::Reconcile => {
                    must(self.is_started, "the call was not started")?;
                }
                _ => must(self.is_accepted, "its arguments were not accepted")?,
            }
        }
        self.open = Some(interrupt.id.clone());
        Ok(())
    }

    fn decided(&mut self, interrupt: &InterruptId) -> Fits {
        must(self.is_loose || self.open.as_ref() == Some(interrupt), "the call has no such open interrupt")?;
        self.open = None;
        Ok(())
    }

    fn started(&mut self) -> Fits {
        if !self.is_loose {
            must(self.is_accepted, "its arguments were not accepted")?;
            must(self.open.is_none(), "the call waits for a decision")?;
        }
        self.is_started = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{FinishReason, Usage};

    fn first_wrong(events: &[Event<'_>]) -> Option<(usize, String)> {
        let mut grammar = Grammar::new();
        let wrong = |(at, event)| grammar.check(event).err().map(|wrong| (at, wrong.why));
        events.iter().enumerate().find_map(wrong)
    }

    #[test]
    fn events_out_of_order_are_reported() {
        let (a, reason, usage) = (CallId::from("a"), &FinishReason::Stop, Usage::default());
        let begin = Event::StepStarted { step: 1 };
        let end = Event::TurnEnded { reason, usage };
        let call = Event::CallAnnounced { id: &a, name: "look" };
        let done = Event::RunAtRest(&Phase::Finished);
        assert_eq!(first_wrong(&[begin, Event::Text("hi"), end, done, begin, end, done]), None);
        let wrong: [(&[Event<'_>], usize, &str); 9] = [
            (&[Event::Text("hi")], 0, "no step is under way"),
            (&[begin, end, Event::Reasoning("hm")], 2, "no step is under way"),
            (&[begin, end, end], 2, "no step is under way"),
            (&[begin, begin], 1, "step 1 has not ended"),
            (&[begin, end, Event::StepStarted { step: 3 }], 2, "the last step was 1"),
            (&[begin, call, call], 2, "another call of the run has this id"),
            (&[begin, call, end, Event::StepStarted { step: 2 }], 3, "the call a has not ended"),
            (&[begin, call, end, done], 3, "a call has not ended"),
            (&[begin, end, Event::RunAtRest(&Phase::Suspended)], 2, "no call waits for a decision"),
        ];
        for (events, at, why) in wrong {
            assert_eq!(first_wrong(events), Some((at, why.to_owned())), "{events:?}");
        }
    }
}
