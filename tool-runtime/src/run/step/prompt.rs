//! Prompts, going on, and calling it off.

use super::Draft;
#[cfg(test)]
use crate::run::search::mutants::{Mutant, on};
use crate::run::state::Activity;
use crate::run::{
    CallResult, Effect, InterruptedBy, LogEvent, OnPrompt, Phase, Principal, Prompt, Refusal, Stage, StopReason,
    SupersededBy, Time,
};

impl Draft<'_> {
    pub(super) fn prompt(&mut self, prompt: Prompt) -> Result<(), Refusal> {
        if !self.run.is_owner(&prompt.by) {
            return Err(Refusal::Forbidden);
        }
        let at = prompt.at;
        if self.is_busy() {
            match self.run.options.on_prompt {
                OnPrompt::Refuse => return Err(Refusal::Busy),
                OnPrompt::Block => {
                    if self.run.queue.len() >= self.run.options.limits.open as usize {
                        return Err(Refusal::OverBudget { limit: "too many prompts wait already".to_owned() });
                    }
                    self.log.push(LogEvent::Queued { prompt });
                    return Ok(());
                }
                #[cfg(test)]
                OnPrompt::Supersede if on(Mutant::GrantSurvivesSupersede) => {
                    self.clear(at, true);
                    if self.count(Stage::Ready) > 0 {
                        self.log.push(LogEvent::Queued { prompt });
                        self.schedule(at);
                        return Ok(());
                    }
                }
                OnPrompt::Supersede => self.clear(at, true),
            }
        }
        self.log.push(LogEvent::Prompted { prompt, queued: false });
        self.start_turn(at);
        Ok(())
    }

    pub(super) fn go_on(&mut self, by: &Principal, at: Time) -> Result<(), Refusal> {
        if !self.run.is_owner(by) {
            return Err(Refusal::Forbidden);
        }
        match self.run.activity {
            Activity::Stopped(_) => {
                self.start_turn(at);
                Ok(())
            }
            _ => Err(Refusal::NotStopped),
        }
    }

    pub(super) fn cancel(&mut self, by: &Principal, at: Time) -> Result<(), Refusal> {
        if !self.run.is_owner(by) {
            return Err(Refusal::Forbidden);
        }
        if self.is_busy() {
            self.clear(at, false);
            self.log.push(LogEvent::Stopped { reason: StopReason::Cancelled, at });
        }
        Ok(())
    }

    pub(super) fn start_turn(&mut self, at: Time) {
        self.log.push(LogEvent::TurnStarted { at });
        self.effects.push(Effect::CallModel);
    }

    fn is_busy(&self) -> bool {
        matches!(self.run.phase(), Phase::Generating | Phase::Acting | Phase::Suspended)
    }

    /// Ends everything that goes on: calls that did not start do not, and nobody waits for those that did.
    fn clear(&mut self, at: Time, by_prompt: bool) {
        if self.turn_end.is_none() {
            self.effects.push(Effect::AbortModel);
            let error = if by_prompt { "a new prompt came first" } else { "it was cancelled" };
            self.log.push(LogEvent::TurnFailed { error: error.to_owned(), again: false, at });
        }
        for call in self.run.current_range() {
            if self.stage(call) == Stage::Running {
                self.effects.push(Effect::Abort(self.call(call).id.clone()));
                self.end(call, CallResult::Cancelled, at);
            }
        }
        if by_prompt {
            self.end_waiting(SupersededBy::Prompt, InterruptedBy::Prompt, at);
        }
        for call in self.run.current_range() {
            #[cfg(test)]
            if by_prompt && (on(Mutant::GrantSurvivesSupersede) || on(Mutant::PromptLeavesUnanswered)) {
                continue;
            }
            if self.stage(call) != Stage::Done {
                if self.call(call).attempts > 0 {
                    self.effects.push(Effect::Abort(self.call(call).id.clone()));
                }
                self.end(call, CallResult::Cancelled, at);
            }
        }
    }
}
