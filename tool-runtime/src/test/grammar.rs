//! The order in which events may come.

use std::{collections::HashMap, fmt};

use super::Seen;
use crate::agent::Event;
use crate::run::{CallId, Interrupt, InterruptId, InterruptKind, Phase};

/// The grammar of a run's events: fed with each, it says which one does not fit where it came, and why.
///
/// ```text
/// run    = drive*
/// drive  = calls  (step calls)*  RunPaused
/// step   = StepStarted  (Text | Reasoning | CallAnnounced | CallArguments | calls of eager tools)*
///          (StepFinished | StepFailed)
/// call   = CallAnnounced  CallArguments*
///          [ CallAccepted  ( CallOpened  CallAccepted?  CallDecided )*
///            ( CallStarted  CallProgress*  ( CallOpened  CallDecided  CallStarted  CallProgress* )* )* ]
///          CallFinished
/// ```
///
/// - Steps are counted from 1 since the prompt; the next begins when all calls of the one before have ended. Nothing is
///   expected of the calls of a step that failed.
/// - What is told of one call stands in this order. Calls of one step may mix, and so may their progress.
/// - A call's arguments are accepted before anything is decided about it or done with it, and again when somebody edits
///   them. `CallFinished` comes once, and is the last of its call, whatever became of it.
/// - A run that finished has no call left; one that is suspended has one that waits.
///
/// What happened between two drives (somebody decided elsewhere, another process went on) may not be told, so nothing is
/// expected of the calls of before. It is the grammar of one run, driven by one driver at a time to its `RunPaused`.
#[derive(Clone, Debug, Default)]
pub struct Grammar {
    calls: HashMap<CallId, Told>,
    /// The number of the last step, and whether it is under way.
    step: usize,
    in_step: bool,
    /// Set if the last step failed, so that it may come again.
    failed: bool,
    /// Set if a step began in this drive: from then on each call is announced.
    stepped: bool,
}

/// The events of a call so far.
#[derive(Clone, Debug, Default)]
struct Told {
    /// Set if more may have happened to it than was reported.
    is_loose: bool,
    is_accepted: bool,
    /// Set if its tool ran, or runs.
    is_started: bool,
    is_over: bool,
    open: Option<InterruptId>,
}

/// An event that does not fit where it came.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Misplaced {
    /// The event, as a line.
    pub event: String,
    /// The problem.
    pub why: String,
}

impl fmt::Display for Misplaced {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "an event out of order: {}: {}", self.event, self.why)
    }
}

impl std::error::Error for Misplaced {}

type Fits = Result<(), String>;

/// `why` unless it `is` so.
fn must(is: bool, why: impl Into<String>) -> Fits {
    if is { Ok(()) } else { Err(why.into()) }
}

impl Grammar {
    /// At the start of a run, or where one is taken up.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next event.
    ///
    /// Fails when it does not fit; then it is taken as if it had not come.
    pub fn event(&mut self, event: &Event<'_>) -> Result<(), Misplaced> {
        self.fits(event).map_err(|why| Misplaced { event: Seen::from(*event).to_string(), why })
    }

    /// Says that the drive came to its end without an event: its future was dropped, or its store failed.
    pub fn broke_off(&mut self) {
        (self.in_step, self.stepped) = (false, false);
        self.calls.retain(|_, told| !told.is_over);
        self.calls.values_mut().for_each(|told| told.is_loose = true);
    }

    fn fits(&mut self, event: &Event<'_>) -> Fits {
        match *event {
            Event::StepStarted { step } => self.step_started(step),
            Event::Text(_) | Event::Reasoning(_) => self.in_step(),
            Event::CallAnnounced { id, .. } => {
                self.in_step()?;
                must(!self.calls.contains_key(id), "another call of the run has this id")?;
                self.calls.insert(id.clone(), Told::default());
                Ok(())
            }
            Event::CallArguments { id, .. } => {
                self.in_step()?;
                must(self.calls.contains_key(id), "the call was not announced")?;
                let told = self.call(id)?;
                must(!told.is_accepted, "its arguments were accepted already")
            }
            Event::StepFinished { .. } => {
                self.in_step()?;
                self.in_step = false;
                Ok(())
            }
            Event::StepFailed { .. } => {
                // What it announced may never have become a call of the run.
                self.calls.values_mut().for_each(|told| told.is_loose = true);
                (self.in_step, self.failed) = (false, true);
                Ok(())
            }
            Event::CallAccepted(call) => {
                self.call(&call.id)?.is_accepted = true;
                Ok(())
            }
            Event::CallOpened { call, interrupt } => self.call(&call.id)?.opened(interrupt),
            Event::CallDecided { call, interrupt, .. } => self.call(&call.id)?.decided(interrupt),
            Event::CallStarted(call) => self.call(&call.id)?.started(),
            Event::CallProgress(progress) => {
                let told = self.call(&CallId::from(progress.call_id.as_str()))?;
                must(told.is_started || told.is_loose, "the call was not started")
            }
            Event::CallFinished { call, .. } => {
                self.call(&call.id)?.is_over = true;
                Ok(())
            }
            Event::RunPaused(phase) => self.paused(phase),
            #[allow(unreachable_patterns, reason = "events that come with other features may come anywhere")]
            _ => Ok(()),
        }
    }

    fn step_started(&mut self, step: usize) -> Fits {
        must(!self.in_step, format!("step {} has not ended", self.step))?;
        let is_next = step == self.step + 1 || (self.failed && step == self.step);
        must(step == 1 || is_next || !self.stepped, format!("the last step was {}", self.step))?;
        let left = self.calls.iter().find(|(_, told)| !told.is_over && !told.is_loose);
        must(left.is_none(), format!("the call {} has not ended", left.map_or("", |(id, _)| id.as_str())))?;
        if step == 1 {
            // Maybe it is another run, whose calls have ids of their own.
            self.calls.clear();
        }
        (self.step, self.in_step, self.stepped, self.failed) = (step, true, true, false);
        Ok(())
    }

    fn paused(&mut self, phase: &Phase) -> Fits {
        must(!self.in_step || matches!(phase, Phase::Stopped(_)), "a step is under way")?;
        let mut left = self.calls.values().filter(|told| !told.is_over && !told.is_loose);
        match phase {
            Phase::Finished | Phase::Idle => must(left.next().is_none(), "a call has not ended")?,
            Phase::Suspended => {
                let waits = self.calls.values().any(|told| !told.is_over && (told.is_loose || told.open.is_some()));
                must(waits || !self.stepped, "no call waits for anybody")?;
            }
            _ => {}
        }
        self.broke_off();
        Ok(())
    }

    fn in_step(&self) -> Fits {
        must(self.in_step, "no step is under way")
    }

    /// A call that has not ended.
    fn call(&mut self, id: &CallId) -> Result<&mut Told, String> {
        if !self.stepped && !self.calls.contains_key(id) {
            // Of a drive that was before, or elsewhere.
            self.calls.insert(id.clone(), Told { is_loose: true, ..Told::default() });
        }
        let told = self.calls.get_mut(id).ok_or("the call was not announced")?;
        must(!told.is_over, "the call has ended before")?;
        Ok(told)
    }
}

impl Told {
    fn opened(&mut self, interrupt: &Interrupt) -> Fits {
        if !self.is_loose {
            must(self.open.is_none(), "the call waits for something else already")?;
            match interrupt.kind {
                InterruptKind::Answer { .. } | InterruptKind::Reconcile => {
                    must(self.is_started, "the call was not started")?;
                }
                _ => must(self.is_accepted, "its arguments were not accepted")?,
            }
        }
        self.open = Some(interrupt.id.clone());
        Ok(())
    }

    fn decided(&mut self, interrupt: &InterruptId) -> Fits {
        must(self.is_loose || self.open.as_ref() == Some(interrupt), "the call does not wait for that")?;
        self.open = None;
        Ok(())
    }

    fn started(&mut self) -> Fits {
        if !self.is_loose {
            must(self.is_accepted, "its arguments were not accepted")?;
            must(self.open.is_none(), "the call waits for somebody")?;
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
        let wrong = |(at, event)| grammar.event(event).err().map(|wrong| (at, wrong.why));
        events.iter().enumerate().find_map(wrong)
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let (a, reason, usage) = (CallId::from("a"), &FinishReason::Stop, Usage::default());
        let begin = Event::StepStarted { step: 1 };
        let end = Event::StepFinished { reason, usage };
        let call = Event::CallAnnounced { id: &a, name: "look" };
        let done = Event::RunPaused(&Phase::Finished);
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
            (&[begin, end, Event::RunPaused(&Phase::Suspended)], 2, "no call waits for anybody"),
        ];
        for (events, at, why) in wrong {
            assert_eq!(first_wrong(events), Some((at, why.to_owned())), "{events:?}");
        }
    }
}
