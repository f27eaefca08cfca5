//! The operations of an agent on runs in its store.

use std::{collections::HashSet, sync::Arc};

use super::{
    Agent, AgentError, Session,
    logged_run::{can_continue, conversation},
};
use crate::message::{Message, Part};
use crate::run::{Decision, InterruptId, Principal, Prompt, Refusal, Run, RunId};
use crate::store::{Append, Store, StoreError, WaitingFilter, WaitingItem};
use tool_run::run::{CheckedDecision, LogInput, RecordError, advance};

/// The number of tries of a change while others change the same run.
const MAX_TRIES: usize = 256;

/// The maximum number of runs that one sweep tries to continue.
const MAX_SWEPT: usize = 64;

/// The outcome of a worker's attempt to continue a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TakenUp {
    Continued,
    /// The run is driven elsewhere, was deleted, or is at rest.
    Unavailable,
    /// A worker of another application, or one with the missing tool, continues the run.
    Left,
}

impl Agent {
    /// Returns whether the agent has a store, so that other processes can continue its runs.
    pub fn is_stored(&self) -> bool {
        self.setup.store.is_some()
    }

    /// Loads the run `id`, to continue it.
    ///
    /// Fails if the agent has no store, the run does not exist, or a newer version wrote it.
    pub async fn open(&self, id: &RunId) -> Result<Session, AgentError> {
        Ok(self.session_from_run(self.load(id).await?))
    }

    /// Decides an open interrupt of the run `id` on behalf of `by`, whom the application has authenticated. Returns the run
    /// with the decision. The driver of the run continues it; if there is none, call [`Session::resume`].
    ///
    /// Fails if the decision does not fit, `by` may not decide, or another decision was made before. Then nothing changes. A
    /// repetition by the principal that made the decision succeeds.
    pub async fn decide(
        &self,
        id: &RunId,
        interrupt: &InterruptId,
        decision: Decision,
        by: impl Into<Principal>,
    ) -> Result<Run, AgentError> {
        let mut decisions = self.load_run(id).await?;
        self.decide_in(&mut decisions, interrupt, decision, by).await?;
        Ok(decisions.into_run())
    }

    /// Loads the run `id`, for several decisions in it.
    ///
    /// Fails if the agent has no store, the run does not exist, or a newer version wrote it.
    pub async fn load_run(&self, id: &RunId) -> Result<LoadedRun, AgentError> {
        Ok(LoadedRun::new(self.load(id).await?))
    }

    /// Decides an open interrupt, like [`Agent::decide`], in a run that is loaded.
    ///
    /// Fails if the decision does not fit, `by` may not decide, or another decision was made before. Then nothing changes.
    pub async fn decide_in(
        &self,
        loaded: &mut LoadedRun,
        interrupt: &InterruptId,
        decision: Decision,
        by: impl Into<Principal>,
    ) -> Result<(), AgentError> {
        let by = by.into();
        let mut queued = None;
        for _ in 0..MAX_TRIES {
            let LoadedRun { run, judge, messages } = loaded;
            let agent = match judge {
                Some(agent) => agent,
                None if self.asks_for_callers() || self.setup.before_caller.is_some() => {
                    judge.insert(self.of_owner(run).await?)
                }
                None => judge.insert(self.clone()),
            };
            let messages = messages.get_or_insert_with(|| conversation(agent, run));
            let checked = agent.check_decision(run, Arc::clone(messages), interrupt, decision.clone(), &by).await?;
            let input = LogInput::Decide {
                interrupt: interrupt.clone(),
                decision: Box::new(checked),
                by: by.clone(),
                at: self.now(),
            };
            if self.append_input(run, input).await? {
                return Ok(());
            }
            let id = run.id().clone();
            if queued.is_none() {
                queued = Some(self.setup.change_queues.enter(&id).await);
            }
            (loaded.run, loaded.messages) = (self.load(&id).await?, None);
        }
        Err(StoreError::Conflict.into())
    }

    /// Cancels the run `id` on behalf of `by`, in any process: its work is dropped, as by
    /// [`Handle::cancel`](super::Handle::cancel). The driver of the run notices within about a second. Returns the run.
    ///
    /// Fails if the run does not exist, or `by` is not its owner.
    pub async fn cancel(&self, id: &RunId, by: impl Into<Principal>) -> Result<Run, AgentError> {
        let by = by.into();
        self.change(id, || LogInput::Cancel { by: by.clone(), at: self.now() }).await
    }

    /// Stops the run `id` after its present step, as by [`Handle::stop`](super::Handle::stop).
    ///
    /// Fails if the run does not exist, or `by` is not its owner.
    pub async fn stop(&self, id: &RunId, by: impl Into<Principal>) -> Result<Run, AgentError> {
        let by = by.into();
        self.change(id, || LogInput::StopRequested { by: by.clone(), at: self.now() }).await
    }

    /// Sends a message to the run `id`, which may go on in any process, on behalf of `by`, whom the application has
    /// authenticated. The run's log stores it at once, and the run accepts it between two of its next turns.
    ///
    /// Fails if the run does not exist or is not active ([`Refusal::NotActive`]), or `by` is not its owner.
    pub async fn steer(&self, id: &RunId, content: Vec<Part>, by: impl Into<Principal>) -> Result<Run, AgentError> {
        self.steer_with_id(id, None, content, by).await
    }

    /// Sends a message like [`Agent::steer`], with an id that its author chose.
    pub async fn steer_with_id(
        &self,
        id: &RunId,
        name: Option<String>,
        content: Vec<Part>,
        by: impl Into<Principal>,
    ) -> Result<Run, AgentError> {
        let mut prompt = Prompt::new(content, by.into(), self.now()).steering();
        prompt.final_tools = self.setup.final_tools.to_vec();
        prompt.claims = self.setup.context.shared_claims().cloned();
        prompt.id = name;
        self.change(id, || LogInput::Prompt(prompt.clone())).await
    }

    /// Gives the run `id` a title, on behalf of `by`. Until then, the beginning of the first prompt is its title.
    ///
    /// Fails if the run does not exist, or `by` is not its owner.
    pub async fn rename(
        &self,
        id: &RunId,
        title: impl Into<String>,
        by: impl Into<Principal>,
    ) -> Result<Run, AgentError> {
        let (title, by) = (title.into(), by.into());
        self.change(id, || LogInput::Title { title: title.clone(), by: by.clone(), at: self.now() }).await
    }

    /// Adds the consequences of `input` to the run `id`, in whatever process it is driven.
    pub(super) async fn change(&self, id: &RunId, input: impl Fn() -> LogInput) -> Result<Run, AgentError> {
        let mut queued = None;
        for _ in 0..MAX_TRIES {
            let mut run = self.load(id).await?;
            if self.append_input(&mut run, input()).await? {
                return Ok(run);
            }
            if queued.is_none() {
                queued = Some(self.setup.change_queues.enter(id).await);
            }
        }
        Err(StoreError::Conflict.into())
    }

    /// Adds the consequences of `input` to `run` and its log. If another writer was faster, returns `false`, and leaves `run`
    /// in a state that the store does not have.
    pub(super) async fn append_input(&self, run: &mut Run, input: LogInput) -> Result<bool, AgentError> {
        let before = run.rev();
        let (entries, _) = advance(run, input)?;
        if entries.is_empty() {
            return Ok(true);
        }
        match self.required_store()?.append(run.id(), Append::new(before, &entries, run, None)).await {
            Ok(()) => Ok(true),
            Err(StoreError::Conflict) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Checks a decision. Fails first if `by` may not decide, because other principals must not learn which decisions fit.
    /// `messages` is the conversation.
    pub(super) async fn check_decision(
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
        let cx = self.for_check(self.setup.context.clone().for_call(interrupt.call().as_str()));
        let cx = cx.with_taint(run.taint()).with_shared_messages(messages);
        self.setup.gate.check_decision(run, interrupt, decision, &cx).await
    }

    /// Returns the open interrupts and the principals that may decide them, oldest first. Fails if the agent has no store.
    pub async fn waiting(&self, filter: &WaitingFilter) -> Result<Vec<WaitingItem>, AgentError> {
        Ok(self.required_store()?.waiting(filter).await?)
    }

    /// Continues at most 64 runs that no process drives, or in which an interrupt or a grant has expired. Drives them one after
    /// the other, each on behalf of its owner. Call this now and then, in any process. Returns the number of runs that were
    /// continued.
    ///
    /// Leaves alone the runs of other applications, and those with calls of tools that the agent lacks
    /// ([`Agent::reason_to_leave`]). These do not count, and delay no other run.
    ///
    /// Tries all these runs before it fails, with the first failure. Fails at once if the agent has no store.
    pub async fn sweep(&self) -> Result<usize, AgentError> {
        let (store, left_runs) = (self.required_store()?, &self.setup.left_runs);
        let (mut tried, mut left, mut count, mut failure) = (HashSet::new(), 0, 0, None);
        // Runs that are left alone stay due. So the list must be longer by their number.
        let mut most = left_runs.count_due() + MAX_SWEPT;
        loop {
            let due = store.due(self.now(), most).await?;
            let is_whole = due.len() < most;
            if is_whole {
                let due: HashSet<&RunId> = due.iter().collect();
                left_runs.set_due(|run| due.contains(run));
            }
            for id in due {
                if tried.len() - left >= MAX_SWEPT {
                    break;
                }
                if !tried.insert(id.clone()) {
                    continue;
                }
                match self.take_up(&id).await {
                    Ok(TakenUp::Continued) => count += 1,
                    Ok(TakenUp::Left) => left += 1,
                    Ok(TakenUp::Unavailable) => {}
                    // An unreadable run must not delay the others.
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            if is_whole || tried.len() - left >= MAX_SWEPT {
                return failure.map_or(Ok(count), Err);
            }
            most = most.saturating_mul(2);
        }
    }

    /// Continues the run `id` until it is at rest, as [`Session::resume`] does, on behalf of its owner. The calls see that
    /// principal, whatever the agent's own one is. Returns `false` if another process drives the run, the run was deleted, it
    /// was stopped so that only its owner may continue it, or a worker leaves it alone ([`Agent::reason_to_leave`]).
    ///
    /// Fails if the agent has no store, or the run cannot be loaded or stored. If the model fails, the run stops, and the
    /// method returns `true`.
    pub async fn resume_run(&self, id: &RunId) -> Result<bool, AgentError> {
        Ok(self.take_up(id).await? == TakenUp::Continued)
    }

    async fn take_up(&self, id: &RunId) -> Result<TakenUp, AgentError> {
        if self.is_still_left(id).await? {
            return Ok(TakenUp::Left);
        }
        let opened = match self.load(id).await {
            // The function for callers is not asked about the principals of other applications.
            Ok(run) if self.leaves_foreign(&run) => return Ok(TakenUp::Left),
            Ok(run) => self.of_owner(&run).await.map(|agent| agent.session_from_run(run)),
            Err(error) => Err(error),
        };
        let resumed = match opened {
            Ok(session) if session.agent().reason_to_leave(session.run()).is_some() => return Ok(TakenUp::Left),
            // Only the owner may continue a run that was stopped, perhaps after the sweep found the run.
            Ok(session) if can_continue(session.run()) => return Ok(TakenUp::Unavailable),
            Ok(mut session) => session.resume().await,
            Err(error) => {
                if !matches!(error, AgentError::Store(StoreError::NotFound)) {
                    self.report_unreadable(id, &error);
                }
                Err(error)
            }
        };
        match resumed {
            Ok(_) | Err(AgentError::Model(_) | AgentError::Cancelled | AgentError::Blocked { .. }) => {
                Ok(TakenUp::Continued)
            }
            Err(AgentError::Store(StoreError::Leased { .. } | StoreError::Fenced | StoreError::NotFound)) => {
                Ok(TakenUp::Unavailable)
            }
            Err(error) => Err(error),
        }
    }

    /// Opens the run `id` on behalf of its owner: the calls see that principal, whatever the agent's own one is. Use this in a
    /// process that may drive runs of several users; [`Agent::open`] keeps the agent's principal.
    ///
    /// Fails if the agent has no store, or the run cannot be loaded.
    pub async fn open_for_owner(&self, id: &RunId) -> Result<Session, AgentError> {
        let run = self.load(id).await?;
        Ok(self.of_owner(&run).await?.session_from_run(run))
    }

    pub(super) async fn load(&self, id: &RunId) -> Result<Run, AgentError> {
        let stored = self.required_store()?.load(id).await?.ok_or(StoreError::NotFound)?;
        let run = stored.rebuild()?;
        if run.id() != id {
            return Err(
                StoreError::Record(RecordError::Malformed(format!("it is of another run, {}", run.id()))).into()
            );
        }
        Ok(run)
    }

    pub(super) fn required_store(&self) -> Result<&dyn Store, StoreError> {
        self.setup
            .store
            .as_deref()
            .ok_or_else(|| StoreError::unavailable("the agent has no store; give it one with `store`"))
    }
}

/// A stored run for several decisions. It is loaded once, and again only if another writer has changed it.
#[derive(Debug)]
pub struct LoadedRun {
    run: Run,
    /// The agent that checks decisions, from the first one on: that of the run's owner.
    judge: Option<Agent>,
    /// The conversation of `run`, from the first decision on.
    messages: Option<Arc<Vec<Message>>>,
}

impl LoadedRun {
    /// Creates a copy of `run`, which this process has loaded, for decisions that `run` itself does not see. The copy is made from a
    /// snapshot, because nobody can copy the evidence in a run.
    ///
    /// Fails only if the snapshot of `run` cannot be read, which would be a bug.
    pub fn copy_of(run: &Run) -> Result<Self, AgentError> {
        Ok(Self::new(Run::thaw(&run.freeze()).map_err(StoreError::from)?))
    }

    fn new(run: Run) -> Self {
        Self { run, judge: None, messages: None }
    }

    /// Returns the run with the decisions.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Returns the run with the decisions, by value.
    pub fn into_run(self) -> Run {
        self.run
    }
}
