//! Several decisions in one run.

use std::sync::Arc;

use super::driver::conversation;
use super::{Agent, AgentError};
use crate::message::Message;
use crate::run::{Decision, Event, ObligationId, Principal, Run, RunId};
use crate::store::StoreError;

/// How often a decision is tried again when others decide in the same run at the same time.
const TRIES: usize = 256;

/// A stored run that several decisions are about: it is loaded once, and again only when somebody else has changed it.
#[derive(Debug)]
pub struct Decisions {
    run: Run,
    messages: Arc<Vec<Message>>,
}

impl Agent {
    /// Loads the run `id`, for several decisions in it.
    ///
    /// Fails when the agent has no store, there is no such run in it, or a newer version wrote it.
    pub async fn decisions(&self, id: &RunId) -> Result<Decisions, AgentError> {
        let run = self.load(id).await?;
        let messages = conversation(self, &run);
        Ok(Decisions { run, messages })
    }

    /// Decides about something that waits, like [`Agent::decide`], in a run that is loaded.
    ///
    /// Fails when the decision does not fit, `by` may not decide, or somebody decided otherwise before; then nothing has
    /// changed.
    pub async fn decide_in(
        &self,
        decisions: &mut Decisions,
        obligation: &ObligationId,
        decision: Decision,
        by: impl Into<Principal>,
    ) -> Result<(), AgentError> {
        let by = by.into();
        for _ in 0..TRIES {
            let Decisions { run, messages } = decisions;
            let ruling = self.rule(run, Arc::clone(messages), obligation, decision.clone(), &by).await?;
            let event = Event::Decide { obligation: obligation.clone(), ruling, by: by.clone(), at: self.now() };
            if self.add(run, event).await? {
                return Ok(());
            }
            let id = run.id().clone();
            *decisions = self.decisions(&id).await?;
        }
        Err(StoreError::Conflict.into())
    }
}

impl Decisions {
    /// The run as it is after the decisions.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The run itself.
    pub fn into_run(self) -> Run {
        self.run
    }
}
