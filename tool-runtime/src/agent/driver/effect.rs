//! The condition of the first effect that cannot be undone.

use super::Driver;
use crate::agent::{AgentError, logged_run::Tail, observers::Observers};
use crate::run::{Phase, Run, StopReason};
use crate::store::StoreError;
use tool_run::run::{Action, LogEntry, LogInput};

/// A run that no store has, with the entries of its tail and the positions at which the inputs begin.
pub struct BeforeEntries {
    run: String,
    entries: Vec<LogEntry>,
    begins: Vec<usize>,
}

impl Driver<'_> {
    /// Awaits the condition of the first effect that cannot be undone: the start of a call, or a request to the model. This
    /// happens before the log is stored, so that the store has no entries about effects that did not happen.
    pub(super) async fn await_before_next_effect(&mut self) -> Result<(), AgentError> {
        let stops_before_model = self.queue.stops_before_model;
        let acts = |action: &Action| match action {
            Action::Execute { .. } => true,
            Action::CallModel => !stops_before_model,
            _ => false,
        };
        if !self.queue.actions.iter().any(acts) {
            return Ok(());
        }
        self.stored.await_before_next_effect().await
    }

    /// Keeps the run as it is, in case the condition of the next effect fails. A store has it anyway.
    pub(super) fn keep_before_entries(&mut self) {
        let is_needed = self.stored.before_next_effect.is_some() && !self.stored.storage.has_keeper();
        self.before_entries = is_needed.then(|| {
            let Tail { entries, begins, .. } = &self.stored.tail;
            BeforeEntries { run: self.run().freeze(), entries: entries.clone(), begins: begins.clone() }
        });
    }

    /// Handles an effect whose condition failed. If the model was about to be asked, the run stops. If calls were about to
    /// start, the run is as it was before the entries that need the condition.
    pub(super) async fn give_up_effect(&mut self, observers: &mut Observers) -> Result<(), AgentError> {
        if self.queue.actions.contains(&Action::CallModel) {
            // A stop lets the next waiting prompt begin a turn.
            while self.run().phase() == Phase::Generating {
                let reason = StopReason::Condition("the condition of the next effect failed".to_owned());
                self.try_record(LogInput::Stop { reason, at: self.now() })?;
            }
            return self.store(observers, false).await;
        }
        self.stored.drop_tail().await?;
        if let Some(BeforeEntries { run, entries, begins }) = self.before_entries.take() {
            let run = Run::thaw(&run).map_err(StoreError::from)?;
            self.stored.restore(run, Tail { entries, begins, may_join: false, refused: None });
        }
        Ok(())
    }
}
