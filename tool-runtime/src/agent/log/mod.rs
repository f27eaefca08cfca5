//! The log of a run: it receives events, and returns actions.
//!
//! [`Log::record`] passes an event to the run's state machine. The run has the resulting entries at once. The resulting
//! actions wait until [`Log::keep`] has stored and reported the entries. So every action follows from stored entries.

mod storage;

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use crate::agent::{
    Agent, AgentError, Event,
    clock::Clocks,
    observers::Observers,
    outside::{Listener, Outside, Signal, Steered, Wish},
};
use crate::message::{AssistantPart, Message};
use crate::run::{CallId, Phase, Principal, Prompt, Refusal, Run, StopReason, Time};
use crate::store::StoreError;
use crate::tool::Context;
use storage::Storage;
use tool_run::run::{Action, LogEvent, Stage, StepEvent, pending, step, step_into};

/// The capacity of lists of entries and actions that is kept for reuse.
const SOME: usize = 16;

/// A run, its log, and the actions that the log requires.
pub struct Log {
    agent: Agent,
    run: Run,
    tail: Tail,
    queue: Queue,
    storage: Storage,
    clocks: Clocks,
    conversation: Conversation,
    pub outside: Outside,
    /// The condition for the first effect that cannot be undone. The mutex makes it `Sync`.
    pub commit: Option<Mutex<BoxFuture<'static, Result<(), AgentError>>>>,
    news: News,
}

impl fmt::Debug for Log {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Log").field("run", &self.run).field("tail", &self.tail.entries).finish_non_exhaustive()
    }
}

/// The entries that the run has, and the store does not.
#[derive(Default)]
struct Tail {
    entries: Vec<LogEvent>,
    /// The positions in `entries` at which the entries of each event begin.
    begins: Vec<usize>,
    /// Set if the run refused an entry that followed from its own step.
    refused: Option<AgentError>,
}

/// The actions to take, and the calls to check.
#[derive(Default)]
struct Queue {
    checks: VecDeque<CallId>,
    actions: VecDeque<Action>,
    /// Set while all entries that `actions` follow from are stored.
    is_due: bool,
    /// Reusable lists for the consequences of an event.
    lists: (Vec<LogEvent>, Vec<Action>),
    /// Set if the run is left where its model would be asked; and if it has reached that point.
    leaves_model: bool,
    is_left: bool,
}

/// The changes that the parts of the loop need to know.
#[derive(Default)]
struct News {
    by_others: bool,
    /// Set if the run has a new prompt.
    is_prompted: bool,
}

impl Queue {
    fn add(&mut self, action: Action) {
        match action {
            Action::Inspect(call) => self.checks.push_back(call),
            action => {
                self.actions.push_back(action);
                self.is_due = false;
            }
        }
    }
}

impl Log {
    /// Creates the log of `run`, driven as `agent` defines. `entries` are not stored yet.
    pub fn new(agent: &Agent, run: Run, entries: Vec<LogEvent>) -> Self {
        Self {
            agent: agent.clone(),
            run,
            tail: Tail { entries, ..Tail::default() },
            queue: Queue::default(),
            storage: Storage::default(),
            clocks: Clocks::default(),
            conversation: Conversation::default(),
            outside: Outside::default(),
            commit: None,
            news: News::default(),
        }
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Replaces the run by the state that another writer has stored.
    pub fn replace(&mut self, run: Run) {
        self.run = run;
    }

    /// Returns the time on the agent's clock.
    pub fn now(&self) -> Time {
        self.agent.now()
    }

    /// Begins to drive the run with `agent`; with `leaves_model`, only to the point where its model would be asked.
    pub async fn begin(
        &mut self,
        agent: &Agent,
        leaves_model: bool,
        observers: &mut Observers,
    ) -> Result<(), AgentError> {
        self.agent = agent.clone();
        self.queue = Queue { leaves_model, ..Queue::default() };
        self.conversation = Conversation::new(agent);
        self.clocks = Clocks::default();
        self.news = News::default();
        // A remaining lease belongs to a future that was dropped. Its work must not reach the log any more, so that lease is
        // not used again.
        let given_back = self.storage.release(self.run.id()).await;
        self.storage.begin(agent);
        given_back?;
        if self.stored() == 0 {
            // No other process can know the run before it is stored.
            self.keep(observers).await?;
        }
        let now = self.now();
        self.storage.take_lease(self.run.id(), now).await?;
        Ok(())
    }

    /// Passes the run's state machine everything since the last drive, and `event`.
    ///
    /// Fails if the run refuses `event`. Then no action is taken.
    pub async fn resume(&mut self, event: Option<StepEvent>, observers: &mut Observers) -> Result<(), AgentError> {
        self.restart_run_clock();
        if self.storage.is_somewhere() && !self.tail.entries.is_empty() {
            // The entries did not reach the store, or this is unknown. No action that follows from them was taken.
            self.tail = Tail::default();
            self.reload().await?;
        }
        self.refresh(observers).await?;
        observers.resumed(&self.run);
        if self.run.current().iter().any(|call| call.result().is_none()) {
            self.extend_conversation();
        }
        // Calls that ran when the run was left are lost, because none of them runs here.
        self.record(StepEvent::Recover { at: self.now() })?;
        // Expired interrupts do not wait for a timer, because nothing else may keep the run waiting for it.
        self.record(StepEvent::Tick { at: self.now() })?;
        let Some(event) = event else { return Ok(()) };
        if let Err(refusal) = self.record(event) {
            self.queue.checks.clear();
            self.keep(observers).await?;
            return Err(refusal.into());
        }
        Ok(())
    }

    /// Releases the lease.
    pub async fn end(&mut self) -> Result<(), AgentError> {
        Ok(self.storage.release(self.run.id()).await?)
    }

    /// Passes an event to the run's state machine. The run has the resulting entries, which then must be stored before their
    /// actions.
    ///
    /// Fails, and changes nothing, if the run refuses the event.
    pub fn record(&mut self, event: StepEvent) -> Result<(), Refusal> {
        let (mut entries, mut effects) = step_into(&self.run, event, std::mem::take(&mut self.queue.lists))?;
        self.tail.begins.push(self.tail.entries.len());
        if let Some(next_turn) = self.next_turn(&entries) {
            // The application's conditions judge the run before its next turn begins.
            let mut rest = entries.split_off(next_turn);
            self.apply(&mut entries);
            match self.stop_instead() {
                Some((mut stop, others)) => {
                    effects.retain(|effect| *effect != Action::CallModel);
                    effects.extend(others);
                    self.apply(&mut stop);
                }
                None => self.apply(&mut rest),
            }
        } else {
            self.apply(&mut entries);
        }
        self.queue(entries, effects);
        Ok(())
    }

    /// Passes an event to the run's state machine that may be too late, and is ignored then.
    pub fn record_late(&mut self, event: StepEvent) {
        let _ = self.record(event);
    }

    fn apply(&mut self, entries: &mut Vec<LogEvent>) {
        for entry in entries.drain(..) {
            if self.tail.refused.is_some() {
                continue;
            }
            match self.run.apply(&entry) {
                Ok(()) => self.tail.entries.push(entry),
                Err(corrupt) => self.tail.refused = Some(AgentError::Inconsistent { reason: corrupt.to_string() }),
            }
        }
    }

    /// Queues the actions that follow from an event. If the run refused an entry, all actions are dropped.
    fn queue(&mut self, entries: Vec<LogEvent>, mut effects: Vec<Action>) {
        if self.tail.refused.is_some() {
            self.queue.checks.clear();
            self.queue.actions.clear();
            return;
        }
        effects.drain(..).for_each(|effect| self.queue.add(effect));
        if entries.capacity() <= SOME && effects.capacity() <= SOME {
            self.queue.lists = (entries, effects);
        }
    }

    /// Returns the position in `entries` where the next turn begins after the calls of the last one. Returns `None` if there
    /// is no such turn, or the application has no condition that could stop the run.
    fn next_turn(&self, entries: &[LogEvent]) -> Option<usize> {
        self.agent.setup.stop.as_ref()?;
        // Prompts that steer the run join it with the next turn. Without that turn they keep waiting.
        let joins = |entry: &LogEvent| matches!(entry, LogEvent::Prompted { prompt, .. } if prompt.steers);
        let [before @ .., LogEvent::TurnStarted { .. }] = entries else { return None };
        Some(before.iter().rposition(|entry| !joins(entry)).map_or(0, |at| at + 1))
    }

    /// Returns the entries and actions in place of the next turn, if a condition of the application holds.
    fn stop_instead(&mut self) -> Option<(Vec<LogEvent>, Vec<Action>)> {
        // In any other phase, a prompt or a continuation requested the turn.
        if self.run.phase() != Phase::Acting {
            return None;
        }
        let name = self.agent.setup.stop.as_ref()?.holds(&self.run)?;
        let stop = StepEvent::Stop { reason: StopReason::Condition(name), at: self.now() };
        step(&self.run, stop).ok().filter(|(entries, _)| !entries.is_empty())
    }

    /// Returns the next action. Checks come first, so that their entries go into the same append. Other actions come when the
    /// entries that they follow from are stored.
    pub fn next_action(&mut self) -> Option<Action> {
        if let Some(call) = self.queue.checks.pop_front() {
            return Some(Action::Inspect(call));
        }
        if !self.queue.is_due {
            return None;
        }
        let action = self.queue.actions.pop_front()?;
        if action == Action::CallModel && self.queue.leaves_model {
            self.queue.is_left = true;
            return self.next_action();
        }
        Some(action)
    }

    /// Returns whether there are entries to store, or actions to take.
    pub fn has_news(&self) -> bool {
        let is_stored = self.tail.entries.is_empty() && self.tail.refused.is_none();
        !is_stored || !self.queue.checks.is_empty() || !self.queue.actions.is_empty()
    }

    /// Sets a time at which the run's state machine gets an event.
    pub fn wake_at(&mut self, at: Time) {
        self.clocks.wake_at(at);
    }

    /// Stores and reports the new entries. Actions that entries of other writers made void are dropped.
    pub async fn keep(&mut self, observers: &mut Observers) -> Result<(), AgentError> {
        if let Some(error) = self.tail.refused.take() {
            self.tail = Tail::default();
            self.reload().await?;
            return Err(error);
        }
        self.meet_condition().await?;
        self.store(observers, false).await
    }

    async fn store(&mut self, observers: &mut Observers, is_leaving: bool) -> Result<(), AgentError> {
        while !self.tail.entries.is_empty() && !self.storage.append(&self.run, &self.tail.entries).await? {
            self.rebase(observers, is_leaving).await?;
        }
        let Tail { entries, .. } = std::mem::take(&mut self.tail);
        self.report(&entries, observers);
        observers.hooks.accepted(&self.run, &entries, &self.conversation.context);
        // Many actions at once are rare, so their capacity is not kept.
        self.queue.actions.shrink_to(SOME);
        self.queue.checks.shrink_to(SOME);
        self.queue.is_due = true;
        Ok(self.storage.snapshot(&self.run).await?)
    }

    /// Awaits the condition of the first effect that cannot be undone: the start of a call, or a request to the model. This
    /// happens before the log is stored, so that the store has no entries about effects that did not happen.
    async fn meet_condition(&mut self) -> Result<(), AgentError> {
        let leaves_model = self.queue.leaves_model;
        let acts = |action: &Action| match action {
            Action::Execute { .. } => true,
            Action::CallModel => !leaves_model,
            _ => false,
        };
        match self.commit.take_if(|_| self.queue.actions.iter().any(acts)) {
            Some(commit) => commit.into_inner().unwrap_or_else(PoisonError::into_inner).await,
            None => Ok(()),
        }
    }

    /// Appends the new entries to those that another writer added, as far as they still follow. If the first entry of an
    /// event does not follow, its other entries are dropped. Otherwise a denial that came second would end a call that was
    /// approved first.
    async fn rebase(&mut self, observers: &mut Observers, is_leaving: bool) -> Result<(), AgentError> {
        let known = self.stored();
        let Tail { entries: mut mine, begins, .. } = std::mem::take(&mut self.tail);
        if is_leaving {
            mine.clear();
            self.queue.actions.clear();
        }
        self.reload().await?;
        self.publish_since(known, observers).await?;
        self.queue.actions.retain(|action| matches!(action, Action::Abort(_) | Action::Execute { .. }));
        let mut is_dropped = false;
        for (at, entry) in mine.into_iter().enumerate() {
            let is_first = begins.contains(&at);
            if !is_first && is_dropped {
                continue;
            }
            let follows = self.run.apply(&entry).is_ok();
            if is_first {
                is_dropped = !follows;
            }
            if follows {
                if is_first {
                    self.tail.begins.push(self.tail.entries.len());
                }
                self.tail.entries.push(entry);
            }
        }
        self.take_up();
        Ok(())
    }

    async fn reload(&mut self) -> Result<(), AgentError> {
        if let Some(run) = self.storage.load(self.run.id()).await? {
            self.run = run;
            self.conversation.forget();
        }
        Ok(())
    }

    /// Reports the entries that others added to the log after its first `known` entries.
    async fn publish_since(&mut self, known: u64, observers: &mut Observers) -> Result<(), AgentError> {
        // Entries that came after the run was loaded are reported when they are read.
        let mut left = usize::try_from(self.run.rev().saturating_sub(known)).unwrap_or(usize::MAX);
        for record in self.storage.read(self.run.id(), known).await? {
            let mut entries = tool_run::run::record::decode(&record.text).map_err(StoreError::from)?;
            entries.truncate(left);
            left -= entries.len();
            self.report(&entries, observers);
        }
        Ok(())
    }

    fn report(&mut self, entries: &[LogEvent], observers: &mut Observers) {
        let is_new = |entry: &LogEvent| matches!(entry, LogEvent::Prompted { prompt, .. } if !prompt.steers);
        self.news.is_prompted |= entries.iter().any(is_new);
        observers.publish(&self.run, entries);
    }

    /// Reads the entries that others added to the log. Returns whether there were any.
    pub async fn refresh(&mut self, observers: &mut Observers) -> Result<bool, AgentError> {
        if !self.tail.entries.is_empty() {
            return Ok(false);
        }
        let records = self.storage.read(self.run.id(), self.run.rev()).await?;
        if records.is_empty() {
            return Ok(false);
        }
        for record in &records {
            let entries = tool_run::run::record::decode(&record.text).map_err(StoreError::from)?;
            record.apply(&mut self.run)?;
            self.report(&entries, observers);
        }
        self.take_up();
        Ok(true)
    }

    /// Queues the actions of a run that others changed.
    fn take_up(&mut self) {
        self.news.by_others = true;
        // The entries of both writers together can have consequences that neither has alone, such as the end of a turn's last
        // call.
        self.record_late(StepEvent::Tick { at: self.now() });
        for action in pending(&self.run) {
            if !self.queue.actions.contains(&action) {
                self.queue.add(action);
            }
        }
    }

    /// Returns whether others have added to the log since the last call of this method.
    pub fn take_changed_by_others(&mut self) -> bool {
        std::mem::take(&mut self.news.by_others)
    }

    /// Returns whether the run was prompted since the last call of this method.
    pub fn take_prompted(&mut self) -> bool {
        let is_prompted = std::mem::take(&mut self.news.is_prompted);
        if is_prompted {
            self.restart_run_clock();
        }
        is_prompted
    }

    /// Returns the number of entries in the store.
    fn stored(&self) -> u64 {
        self.run.rev() - self.tail.entries.len() as u64
    }

    /// Returns whether nothing is left to do here. `asks_people` is set if a request to the operator is open.
    pub fn is_at_rest(&self, asks_people: bool) -> bool {
        match self.run.phase() {
            Phase::Idle | Phase::Finished | Phase::Stopped(_) => true,
            Phase::Suspended => !asks_people,
            Phase::Generating => self.queue.is_left,
            Phase::Acting => false,
        }
    }

    /// Reads entries and messages that came just when the run ended. Returns whether there were any.
    pub async fn take_up_late(&mut self, observers: &mut Observers) -> Result<bool, AgentError> {
        if self.refresh(observers).await? {
            return Ok(true);
        }
        if self.run.phase() != Phase::Finished {
            return Ok(false);
        }
        let Some(content) = Steered::received(&mut self.outside.steered) else { return Ok(false) };
        let prompt = Prompt::new(content, self.run.owner().clone(), self.now());
        Ok(self.record(StepEvent::Prompt(prompt)).is_ok())
    }

    /// Cancels the run if no client follows it and no call with a decision is left. Returns whether anything has changed.
    pub async fn leave(&mut self, observers: &mut Observers) -> Result<bool, AgentError> {
        if !self.outside.handle.has_left() || self.has_decided_work() {
            return Ok(false);
        }
        // A decision that is already in the store comes first.
        if self.refresh(observers).await? {
            return Ok(true);
        }
        self.record(StepEvent::Cancel { by: self.owner(), at: self.now() })?;
        // The entry is stored separately. If a decision comes at this moment, `rebase` drops the entry, and the run is
        // examined again.
        self.store(observers, true).await?;
        Ok(true)
    }

    /// Returns whether a call with a decision runs, or is about to run.
    fn has_decided_work(&self) -> bool {
        let is_work = |stage| matches!(stage, Stage::Ready | Stage::Running);
        self.run.current().iter().any(|call| is_work(call.stage()) && call.decisions().next().is_some())
    }

    /// Waits for a signal from outside. If the future is dropped, nothing is lost.
    pub async fn next_signal(&mut self, listener: &mut Option<Listener>) -> Signal {
        self.outside.next(&self.agent, listener).await
    }

    /// Handles a signal from outside.
    pub async fn receive(&mut self, signal: Signal, observers: &mut Observers) -> Result<(), AgentError> {
        let (by, at) = (self.owner(), self.now());
        match signal {
            Signal::Wished(Wish::Look) => drop(self.refresh(observers).await?),
            Signal::Wished(Wish::Stop) => self.record_late(StepEvent::StopRequested { by, at }),
            Signal::Cancelled | Signal::Wished(Wish::Cancel) => self.record(StepEvent::Cancel { by, at })?,
            Signal::Steered(content) => {
                if let Err(refusal) = self.record(StepEvent::Prompt(Prompt::new(content, by, at).steering())) {
                    observers.report(Event::PromptRefused(&refusal));
                }
            }
            Signal::ClockMoved => self.tick(),
        }
        Ok(())
    }

    fn owner(&self) -> Principal {
        self.run.owner().clone()
    }

    /// Returns the time at which the log needs attention next.
    pub fn deadline(&mut self) -> Option<Instant> {
        let clocks = self.clocks.end(self.run.phase() == Phase::Suspended);
        let wake = self.clocks.first_wake().map(|at| self.agent.setup.clock.instant(at));
        let read = self.storage.read_at(self.run.interrupts().next().is_some());
        let lease = self.storage.prolong_at(|at| self.agent.setup.clock.instant(at));
        clocks.into_iter().chain(wake).chain(read).chain(lease).min()
    }

    /// Records that time has passed, if the run's state machine waits for this.
    pub fn tick(&mut self) {
        self.storage.clock_moved();
        let now = self.now();
        if self.clocks.has_come(now) {
            self.record_late(StepEvent::Tick { at: now });
        }
    }

    /// Stops the run if its time is over, renews the lease, and reads the entries that others added.
    pub async fn stay(&mut self, observers: &mut Observers) -> Result<(), AgentError> {
        let now = self.now();
        if let Some(reason) = self.clocks.overdue() {
            self.record_late(StepEvent::Stop { reason, at: now });
        }
        self.storage.prolong(self.run.id(), now).await?;
        self.refresh(observers).await?;
        Ok(())
    }

    fn restart_run_clock(&mut self) {
        self.clocks.run.restart(self.run.options().limits.time.map(std::time::Duration::from_millis));
    }

    pub fn restart_step_clock(&mut self) {
        self.clocks.step.restart(self.agent.setup.timeouts.step);
    }

    /// Extends the conversation that the calls of the turn share, as the model sees it, and returns it.
    pub fn extend_conversation(&mut self) -> Arc<Vec<Message>> {
        self.conversation.extend(&self.agent, &self.run)
    }

    pub fn shared_context(&self) -> &Context {
        &self.conversation.context
    }

    pub fn context(&self, call: &CallId) -> Context {
        self.tainted(self.conversation.context.clone().for_shared(call.shared()))
    }

    /// Returns `cx` with the present taint of the run, because more calls may have ended since `cx` was created.
    pub fn tainted(&self, cx: Context) -> Context {
        let taint = self.run.taint();
        if cx.taint().len() == taint.len() { cx } else { cx.with_taint(taint) }
    }
}

/// The conversation with the instructions, and the context that the calls of a turn share.
///
/// It grows in place from step to step, so the cost of a step does not grow with the run. It is copied only if an earlier
/// state is still in use, for example by a tool that goes on in the background.
#[derive(Default)]
pub struct Conversation {
    messages: Arc<Vec<Message>>,
    /// The number of the run's messages that it contains.
    known: usize,
    context: Context,
}

impl Conversation {
    pub fn new(agent: &Agent) -> Self {
        Self { context: agent.setup.context.clone(), ..Self::default() }
    }

    /// Extends it up to the turn whose calls are handled.
    pub fn extend(&mut self, agent: &Agent, run: &Run) -> Arc<Vec<Message>> {
        // This releases the messages of the last turn, which would otherwise be in use.
        self.context = agent.setup.context.clone();
        let messages = self.grown(agent.setup.instructions.as_deref(), before_calls(run));
        let context = self.context.clone().with_shared_messages(Arc::clone(&messages));
        self.context = context.with_taint(run.taint());
        messages
    }

    fn grown(&mut self, instructions: Option<&str>, messages: &[Message]) -> Arc<Vec<Message>> {
        let all = Arc::make_mut(&mut self.messages);
        if self.known == 0 || self.known > messages.len() {
            self.known = 0;
            all.clear();
            all.extend(instructions.map(Message::system));
        }
        all.extend_from_slice(&messages[self.known..]);
        self.known = messages.len();
        Arc::clone(&self.messages)
    }

    /// Clears the conversation after the run was loaded again.
    pub fn forget(&mut self) {
        self.messages = Arc::default();
        self.known = 0;
    }
}

/// Returns the conversation of `run` with the instructions, up to the turn whose calls are handled.
pub fn conversation(agent: &Agent, run: &Run) -> Arc<Vec<Message>> {
    Conversation::default().grown(agent.setup.instructions.as_deref(), before_calls(run))
}

/// Returns the run's messages, without the turn whose calls are handled.
fn before_calls(run: &Run) -> &[Message] {
    match (run.phase(), run.messages()) {
        (Phase::Acting | Phase::Suspended, [before @ .., Message::Assistant { content }]) if has_call(content, run) => {
            before
        }
        (_, all) => all,
    }
}

/// Returns whether `content` is the turn whose calls are handled.
fn has_call(content: &[AssistantPart], run: &Run) -> bool {
    let mut ids = content.iter().filter_map(|part| match part {
        AssistantPart::Call(call) => Some(call.id.as_str()),
        _ => None,
    });
    ids.next() == run.current().first().map(|call| call.id.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ScriptedModel, Turn};

    #[tokio::test]
    async fn nothing_is_done_where_the_run_refuses_its_own_entries() {
        let agent = Agent::new(ScriptedModel::new([Turn::say("never")]));
        let mut observers = Observers::new(&agent, &agent.setup.gate, Arc::clone(&agent.setup.observer));
        let (run, created) = Run::new("run".into(), agent.principal(), agent.setup.options, Vec::new(), agent.now());
        let mut log = Log::new(&agent, run, vec![created]);
        log.begin(&agent, false, &mut observers).await.unwrap();
        let before = log.run().rev();
        let mut entries = vec![LogEvent::Started { call: "call_1".into(), at: agent.now() }];
        log.apply(&mut entries);
        log.queue(entries, vec![Action::CallModel]);
        assert!(log.has_news() && log.next_action().is_none());
        let error = log.keep(&mut observers).await.unwrap_err();
        assert!(matches!(&error, AgentError::Inconsistent { reason } if reason.contains("call_1")), "{error}");
        assert!(!log.has_news() && log.next_action().is_none());
        assert_eq!(log.run().rev(), before);
    }
}
