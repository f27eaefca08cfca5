//! The condition of the first effect that cannot be undone.

use std::sync::PoisonError;

use super::{Log, Tail};
use crate::agent::{AgentError, observers::Observers};
use crate::run::{Phase, Run, StopReason};
use crate::store::StoreError;
use tool_run::run::{Action, StepInput};

impl Log {
    /// Awaits the condition of the first effect that cannot be undone: the start of a call, or a request to the model. This
    /// happens before the log is stored, so that the store has no entries about effects that did not happen.
    pub(super) async fn await_before_next_effect(&mut self) -> Result<(), AgentError> {
        let stops_before_model = self.queue.stops_before_model;
        let acts = |action: &Action| match action {
            Action::Execute { .. } => true,
            Action::CallModel => !stops_before_model,
            _ => false,
        };
        // If the run is driven elsewhere, everything that is stored may have effects at once.
        let is_near = !self.drives() || self.queue.actions.iter().any(acts);
        let Some(condition) = self.before_next_effect.as_mut().filter(|_| is_near) else { return Ok(()) };
        // If this future is dropped, the condition still holds for the next drive.
        let done = condition.get_mut().unwrap_or_else(PoisonError::into_inner).await;
        self.before_next_effect = None;
        done
    }

    /// Keeps the run as it is, in case the condition of the next effect fails. A store has it anyway.
    pub(super) fn keep_before_entries(&mut self) {
        let is_needed = self.before_next_effect.is_some() && !self.storage.has_keeper();
        self.before_entries =
            is_needed.then(|| (self.run.freeze(), self.tail.entries.clone(), self.tail.begins.clone()));
    }

    /// Handles an effect whose condition failed. If the model was about to be asked, the run stops. If calls were about to
    /// start, their starts and the other new entries are dropped, so that the calls are still to start.
    pub(super) async fn give_up_effect(&mut self, observers: &mut Observers) -> Result<(), AgentError> {
        if self.drives() && self.queue.actions.contains(&Action::CallModel) {
            // A stop lets the next waiting prompt begin a turn.
            while self.run.phase() == Phase::Generating {
                let reason = StopReason::Condition("the condition of the next effect failed".to_owned());
                self.try_record(StepInput::Stop { reason, at: self.now() })?;
            }
            return self.store(observers, false).await;
        }
        self.tail = Tail::default();
        if let Some((run, entries, begins)) = self.before_entries.take() {
            self.run = Run::thaw(&run).map_err(StoreError::from)?;
            self.tail = Tail { entries, begins, refused: None };
            self.conversation.forget();
        }
        self.reload().await
    }
}
