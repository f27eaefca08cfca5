//! Runs that are kept in a store.

use std::sync::Arc;

use super::{Agent, AgentError, Session};
use crate::message::Message;
use crate::run::{Decision, Event, ObligationId, Principal, Refusal, Ruling, Run, RunId, step};
use crate::store::{Append, Store, StoreError, Waiting, WaitingItem};

/// How often a change is tried again when others change the same run at the same time.
const TRIES: usize = 256;

impl Agent {
    /// Whether runs are kept in a store, so that others can take them up.
    pub fn is_stored(&self) -> bool {
        self.store.is_some()
    }

    /// The run `id`, to be continued.
    ///
    /// Fails when the agent has no store, there is no such run in it, or a newer version wrote it.
    pub async fn open(&self, id: &RunId) -> Result<Session, AgentError> {
        Ok(Session::of(self.clone(), self.load(id).await?))
    }

    /// Decides about something that waits in the run `id`, on behalf of `by`, who was authenticated by the application.
    /// Whoever drives the run goes on; if nobody does, [`Session::resume`]. The run as it is then.
    ///
    /// Fails when the decision does not fit, `by` may not decide, or somebody decided otherwise before; then nothing has
    /// changed. The same decision again is fine.
    pub async fn decide(
        &self,
        id: &RunId,
        obligation: &ObligationId,
        decision: Decision,
        by: impl Into<Principal>,
    ) -> Result<Run, AgentError> {
        let mut decisions = self.decisions(id).await?;
        self.decide_in(&mut decisions, obligation, decision, by).await?;
        Ok(decisions.into_run())
    }

    /// Calls the run `id` off, on behalf of `by`, in whatever process it goes on: what is under way is dropped, as with
    /// [`Handle::cancel`](super::Handle::cancel). Whoever drives it notices within about a second. The run as it is then.
    ///
    /// Fails when there is no such run, or `by` is not its owner.
    pub async fn cancel(&self, id: &RunId, by: impl Into<Principal>) -> Result<Run, AgentError> {
        let by = by.into();
        self.change(id, || Event::Cancel { by: by.clone(), at: self.now() }).await
    }

    /// Lets the run `id` stop when its step has ended, as with [`Handle::stop`](super::Handle::stop).
    ///
    /// Fails when there is no such run, or `by` is not its owner.
    pub async fn stop(&self, id: &RunId, by: impl Into<Principal>) -> Result<Run, AgentError> {
        let by = by.into();
        self.change(id, || Event::StopRequested { by: by.clone(), at: self.now() }).await
    }

    /// Adds what follows from `event` to the run `id`, whoever drives it.
    pub(super) async fn change(&self, id: &RunId, event: impl Fn() -> Event) -> Result<Run, AgentError> {
        for _ in 0..TRIES {
            let mut run = self.load(id).await?;
            if self.add(&mut run, event()).await? {
                return Ok(run);
            }
        }
        Err(StoreError::Conflict.into())
    }

    /// Adds what follows from `event` to `run` and its log. Returns false, and leaves a run that the store does not have,
    /// when somebody else was faster.
    pub(super) async fn add(&self, run: &mut Run, event: Event) -> Result<bool, AgentError> {
        let (log, _) = step(run, event)?;
        if log.is_empty() {
            return Ok(true);
        }
        let before = run.rev();
        for entry in log.iter().cloned() {
            run.apply(entry).map_err(crate::run::RecordError::from).map_err(StoreError::from)?;
        }
        match self.kept_in()?.append(run.id(), Append::new(before, &log, run, None)).await {
            Ok(()) => Ok(true),
            Err(StoreError::Conflict) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Checks a decision, of somebody who may decide: others do not learn what would fit. `messages` is the conversation.
    pub(super) async fn rule(
        &self,
        run: &Run,
        messages: Arc<Vec<Message>>,
        obligation: &ObligationId,
        decision: Decision,
        by: &Principal,
    ) -> Result<Ruling, Refusal> {
        if run.obligation(obligation).is_some_and(|open| !run.may_decide(open, by)) {
            return Err(Refusal::Forbidden);
        }
        let cx = self.context.clone().for_call(obligation.call().as_str());
        let cx = cx.with_taint(run.taint()).with_shared_messages(messages);
        self.inspector.rule(run, obligation, decision, &cx).await
    }

    /// What waits for whom, oldest first.
    pub async fn waiting(&self, filter: &Waiting) -> Result<Vec<WaitingItem>, AgentError> {
        Ok(self.kept_in()?.waiting(filter).await?)
    }

    /// Takes up runs that were left alone, or in which something is over: expires what waited too long, and goes on with
    /// what can go on. To be called now and then, by as many processes as there are. How many runs were taken up.
    ///
    /// Fails with the first failure when all were tried.
    pub async fn sweep(&self) -> Result<usize, AgentError> {
        let due = self.kept_in()?.due(self.now(), 64).await?;
        let (mut count, mut failure) = (0, None);
        for id in due {
            let resumed = match self.open(&id).await {
                Ok(mut session) => session.resume().await,
                Err(error) => Err(error),
            };
            match resumed {
                // Another worker was faster.
                Err(AgentError::Store(StoreError::Leased { .. } | StoreError::Fenced | StoreError::NotFound)) => {}
                // The run holds what was wrong, and is stopped.
                Ok(_) | Err(AgentError::Model(_) | AgentError::Cancelled) => count += 1,
                // One that cannot be read must not keep the others waiting.
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(count), Err)
    }

    pub(super) async fn load(&self, id: &RunId) -> Result<Run, AgentError> {
        let stored = self.kept_in()?.load(id).await?.ok_or(StoreError::NotFound)?;
        Ok(stored.run()?)
    }

    fn kept_in(&self) -> Result<&dyn Store, StoreError> {
        self.store.as_deref().ok_or_else(|| StoreError::unavailable("the agent has no store; give it one with `store`"))
    }
}
