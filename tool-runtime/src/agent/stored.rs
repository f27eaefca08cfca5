//! Runs that are kept in a store.

use std::sync::Arc;

use super::{Agent, AgentError, Session, log::conversation};
use crate::message::{Message, Part};
use crate::run::{Decision, InterruptId, Principal, Prompt, Refusal, Run, RunId};
use crate::store::{Append, Store, StoreError, Waiting, WaitingItem};
use tool_run::run::CheckedDecision;
use tool_run::run::{StepEvent, step};

/// How often a change is tried again when others change the same run at the same time.
const TRIES: usize = 256;

impl Agent {
    /// Returns whether runs are kept in a store, so that others can take them up.
    pub fn is_stored(&self) -> bool {
        self.setup.store.is_some()
    }

    /// The run `id`, to be continued.
    ///
    /// Fails when the agent has no store, there is no such run in it, or a newer version wrote it.
    pub async fn open(&self, id: &RunId) -> Result<Session, AgentError> {
        Ok(self.session_of(self.load(id).await?))
    }

    /// Decides about something that waits in the run `id`, on behalf of `by`, who was authenticated by the application.
    /// Whoever drives the run goes on; if nobody does, [`Session::resume`]. The run as it is then.
    ///
    /// Fails when the decision does not fit, `by` may not decide, or somebody decided otherwise before; then nothing has
    /// changed. The same decision again is fine.
    pub async fn decide(
        &self,
        id: &RunId,
        interrupt: &InterruptId,
        decision: Decision,
        by: impl Into<Principal>,
    ) -> Result<Run, AgentError> {
        let mut decisions = self.decisions(id).await?;
        self.decide_in(&mut decisions, interrupt, decision, by).await?;
        Ok(decisions.into_run())
    }

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
        interrupt: &InterruptId,
        decision: Decision,
        by: impl Into<Principal>,
    ) -> Result<(), AgentError> {
        let by = by.into();
        for _ in 0..TRIES {
            let Decisions { run, messages } = decisions;
            let ruling = self.rule(run, Arc::clone(messages), interrupt, decision.clone(), &by).await?;
            let event = StepEvent::Decide { interrupt: interrupt.clone(), ruling, by: by.clone(), at: self.now() };
            if self.add(run, event).await? {
                return Ok(());
            }
            let id = run.id().clone();
            *decisions = self.decisions(&id).await?;
        }
        Err(StoreError::Conflict.into())
    }

    /// Calls the run `id` off, on behalf of `by`, in whatever process it goes on: what is under way is dropped, as with
    /// [`Handle::cancel`](super::Handle::cancel). Whoever drives it notices within about a second. The run as it is then.
    ///
    /// Fails when there is no such run, or `by` is not its owner.
    pub async fn cancel(&self, id: &RunId, by: impl Into<Principal>) -> Result<Run, AgentError> {
        let by = by.into();
        self.change(id, || StepEvent::Cancel { by: by.clone(), at: self.now() }).await
    }

    /// Lets the run `id` stop when its step has ended, as with [`Handle::stop`](super::Handle::stop).
    ///
    /// Fails when there is no such run, or `by` is not its owner.
    pub async fn stop(&self, id: &RunId, by: impl Into<Principal>) -> Result<Run, AgentError> {
        let by = by.into();
        self.change(id, || StepEvent::StopRequested { by: by.clone(), at: self.now() }).await
    }

    /// Says something to the run `id`, which goes on in any process, on behalf of `by`, who was authenticated by the
    /// application. It is kept in the run's log at once; whoever drives the run takes it up between two of the next turns.
    ///
    /// Fails when nothing goes on in the run ([`Refusal::Idle`]), or `by` is not its owner.
    pub async fn steer(&self, id: &RunId, content: Vec<Part>, by: impl Into<Principal>) -> Result<Run, AgentError> {
        self.steer_named(id, None, content, by).await
    }

    /// Says something as [`Agent::steer`] does, under the id that its author has for it.
    pub async fn steer_named(
        &self,
        id: &RunId,
        name: Option<String>,
        content: Vec<Part>,
        by: impl Into<Principal>,
    ) -> Result<Run, AgentError> {
        let mut prompt = Prompt::new(content, by.into(), self.now()).steering();
        prompt.id = name;
        self.change(id, || StepEvent::Prompt(prompt.clone())).await
    }

    /// Adds what follows from `event` to the run `id`, whoever drives it.
    pub(super) async fn change(&self, id: &RunId, event: impl Fn() -> StepEvent) -> Result<Run, AgentError> {
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
    pub(super) async fn add(&self, run: &mut Run, event: StepEvent) -> Result<bool, AgentError> {
        let (log, _) = step(run, event)?;
        if log.is_empty() {
            return Ok(true);
        }
        let before = run.rev();
        for entry in &log {
            run.apply(entry).map_err(tool_run::run::RecordError::from).map_err(StoreError::from)?;
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
        interrupt: &InterruptId,
        decision: Decision,
        by: &Principal,
    ) -> Result<CheckedDecision, Refusal> {
        if run.interrupt(interrupt).is_some_and(|open| !run.may_decide(open, by)) {
            return Err(Refusal::Forbidden);
        }
        let cx = self.setup.context.clone().for_call(interrupt.call().as_str());
        let cx = cx.with_taint(run.taint()).with_shared_messages(messages);
        self.setup.gate.rule(run, interrupt, decision, &cx).await
    }

    /// Returns the open interrupts and who may decide about them, oldest first.
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
        self.setup
            .store
            .as_deref()
            .ok_or_else(|| StoreError::unavailable("the agent has no store; give it one with `store`"))
    }
}

/// A stored run that several decisions are about: it is loaded once, and again only when somebody else has changed it.
#[derive(Debug)]
pub struct Decisions {
    run: Run,
    messages: Arc<Vec<Message>>,
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
