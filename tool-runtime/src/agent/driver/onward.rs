//! Whether and how the run goes on: the application's conditions, what people say meanwhile, and models that failed.

use std::time::Duration;

use super::Driver;
use crate::agent::{Event as Told, knobs::Next, steering::Steered};
use crate::message::Part;
use crate::model::ModelError;
use crate::run::{Effect, Event, LogEvent, Phase, Prompt, StopReason, step};

/// How the turn at hand failed before.
#[derive(Default)]
pub(super) struct Attempts {
    /// Which of the agent's models is asked.
    pub(super) model: usize,
    /// How often that one failed in a row.
    tries: u32,
    /// How often any failed in a row.
    pub(super) failures: usize,
    /// How long to wait before the next.
    pub(super) wait: Duration,
}

impl Driver<'_> {
    /// Returns whether nothing is left to do here.
    pub(super) fn is_done(&self) -> bool {
        match self.kept.run.phase() {
            Phase::Idle | Phase::Finished | Phase::Stopped(_) => true,
            Phase::Suspended => self.person.is_none() && self.people.is_empty(),
            Phase::Generating => self.is_held,
            Phase::Acting => false,
        }
    }

    /// Where in `log` the next turn begins because the calls of the last have ended, if somebody is to be asked about that.
    pub(super) fn next_turn(&self, log: &[LogEvent]) -> Option<usize> {
        self.agent.knobs.stop.as_ref()?;
        let joins = |event: &LogEvent| matches!(event, LogEvent::Prompted { prompt, .. } if prompt.steers);
        let [before @ .., LogEvent::TurnStarted { .. }] = log else { return None };
        Some(before.iter().rposition(|event| !joins(event)).map_or(0, |at| at + 1))
    }

    /// What is logged and done instead of the next turn, when the application does not want the run to go on.
    pub(super) fn stop_instead(&mut self) -> Option<(Vec<LogEvent>, Vec<Effect>)> {
        // Otherwise somebody prompted or continued it, who wants a turn.
        if self.kept.run.phase() != Phase::Acting {
            return None;
        }
        let name = self.agent.knobs.stop.as_ref()?.holds(&self.kept.run)?;
        let stop = Event::Stop { reason: StopReason::Condition(name), at: self.now() };
        step(&self.kept.run, stop).ok().filter(|(log, _)| !log.is_empty())
    }

    /// Somebody says something while the run goes on.
    pub(super) fn steered(&mut self, said: Vec<Part>) {
        let prompt = Prompt::new(said, self.kept.run.owner().clone(), self.now()).steering();
        if let Err(refusal) = self.feed(Event::Prompt(prompt)) {
            self.tell(Told::PromptRefused(&refusal));
        }
    }

    /// Takes up what was said just when the run had come to its end. Whether there was anything.
    pub(super) fn take_late_word(&mut self) -> bool {
        if self.kept.run.phase() != Phase::Finished {
            return false;
        }
        let Some(said) = Steered::said(&mut self.kept.steered) else { return false };
        let prompt = Prompt::new(said, self.kept.run.owner().clone(), self.now());
        self.feed(Event::Prompt(prompt)).is_ok()
    }

    /// Somebody began anew: with the agent's first model, and all the time.
    pub(super) fn begin_anew(&mut self) {
        self.attempts = Attempts::default();
        self.restart_run_clock();
    }

    /// A turn came to its end as it should.
    pub(super) fn succeeded(&mut self) {
        self.attempts = Attempts { model: self.attempts.model, ..Attempts::default() };
    }

    /// Whether the turn that failed is to be asked for again, and of whom.
    pub(super) fn again(&mut self, error: &ModelError) -> bool {
        let attempts = &mut self.attempts;
        attempts.failures += 1;
        attempts.tries += 1;
        attempts.wait = Duration::ZERO;
        match self.agent.after(error, attempts.model, attempts.tries) {
            Next::Again(wait) => attempts.wait = wait,
            Next::Over => (attempts.model, attempts.tries) = (attempts.model + 1, 0),
            Next::Stop => return false,
        }
        true
    }
}
