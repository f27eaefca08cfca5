//! Prompts, going on, and calling it off.

use super::Draft;
use crate::message::Usage;
use crate::run::state::Activity;
use crate::run::{
    Action, CallResult, InterruptedBy, LogEvent, OnPrompt, Phase, Principal, Prompt, Refusal, Stage, StopReason,
    SupersededBy, Time,
};

impl Draft<'_> {
    pub fn prompt(&mut self, prompt: Prompt) -> Result<(), Refusal> {
        self.is_owner(&prompt.by)?;
        let at = prompt.at;
        if self.is_busy() {
            match self.run.options.on_prompt {
                _ if prompt.steers => return self.queue(prompt),
                OnPrompt::Refuse => return Err(Refusal::Busy),
                OnPrompt::Block => return self.queue(prompt),
                OnPrompt::Supersede => self.supersede(at),
            }
        }
        if prompt.steers {
            return Err(Refusal::Idle);
        }
        self.log.push(LogEvent::Prompted { prompt, queued: false });
        self.start_turn(at);
        Ok(())
    }

    fn queue(&mut self, prompt: Prompt) -> Result<(), Refusal> {
        if self.run.queue.len() >= self.run.options.limits.open as usize {
            return Err(Refusal::OverBudget { limit: "too many prompts wait already".to_owned() });
        }
        self.log.push(LogEvent::Queued { prompt });
        Ok(())
    }

    pub fn go_on(&mut self, by: &Principal, at: Time) -> Result<(), Refusal> {
        self.is_owner(by)?;
        match self.run.activity {
            // A run that was created with a conversation may answer that.
            Activity::Idle if self.run.messages.is_empty() => Err(Refusal::NotStopped),
            Activity::Stopped(_) | Activity::Idle => {
                self.start_turn(at);
                Ok(())
            }
            _ => Err(Refusal::NotStopped),
        }
    }

    pub fn cancel(&mut self, by: &Principal, at: Time) -> Result<(), Refusal> {
        self.is_owner(by)?;
        if self.is_busy() {
            self.clear(at, "it was cancelled");
            self.log.push(LogEvent::Stopped { reason: StopReason::Cancelled, at });
        }
        Ok(())
    }

    pub fn stop(&mut self, by: Principal, at: Time) -> Result<(), Refusal> {
        self.is_owner(&by)?;
        if self.is_busy() && !self.run.stopping {
            self.log.push(LogEvent::StopRequested { by, at });
        }
        Ok(())
    }

    pub fn halt(&mut self, reason: StopReason, at: Time) {
        if self.is_busy() {
            self.clear(at, "the run was stopped");
            self.conclude(LogEvent::Stopped { reason, at }, at);
        }
    }

    pub fn start_turn(&mut self, at: Time) {
        self.log.push(LogEvent::TurnStarted { at });
        self.effects.push(Action::CallModel);
    }

    /// Fails where `by` does not own the run.
    fn is_owner(&self, by: &Principal) -> Result<(), Refusal> {
        if self.run.is_owner(by) { Ok(()) } else { Err(Refusal::Forbidden) }
    }

    fn is_busy(&self) -> bool {
        matches!(self.run.phase(), Phase::Generating | Phase::Acting | Phase::Suspended)
    }

    /// Ends everything that goes on: calls that did not start do not, and nobody waits for those that did.
    fn clear(&mut self, at: Time, why: &str) {
        self.give_up(at, why);
        self.end_all(at);
    }

    /// Ends everything that goes on, because a new prompt comes first.
    fn supersede(&mut self, at: Time) {
        self.give_up(at, "a new prompt came first");
        self.end_waiting(SupersededBy::Prompt, InterruptedBy::Prompt, at);
        self.end_all(at);
    }

    /// Lets go of the model and of the calls that run.
    fn give_up(&mut self, at: Time, why: &str) {
        if self.turn_end.is_none() {
            self.effects.push(Action::AbortModel);
            let (error, usage) = (why.to_owned(), Usage::default());
            self.log.push(LogEvent::TurnFailed { error, again: false, usage, model: None, at });
        }
        self.end_at(&[Stage::Running], &CallResult::Cancelled, at);
    }

    fn end_all(&mut self, at: Time) {
        use Stage::{Open, Proposed, Ready, Running, Unknown};
        self.end_at(&[Proposed, Open, Ready, Running, Unknown], &CallResult::Cancelled, at);
    }
}
