//! The log of a run: it receives inputs, and returns actions.
//!
//! [`Log::record`] passes an input to the run's state machine. The run has the resulting entries at once. The resulting
//! actions wait until [`Log::commit`] has stored and reported the entries. So every action follows from stored entries.

mod conversation;
mod effect;
mod inner;
mod leased;
mod storage;
mod tail;

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, OnceLock},
};

use futures_util::future::BoxFuture;
use serde::Serialize;
use tokio::time::Instant;

use crate::agent::{
    Agent, AgentError, Event,
    clock::Clocks,
    drive::{DriveOptions, SignalWaits},
    handle::{HandleRequest, Signal, SignalSources, SteeringMessages},
    observers::{ForeignEntries, Observers},
    pieces::{self, Piece},
    shared::Shared,
};
use crate::message::Message;
use crate::run::{CallId, Phase, Principal, Prompt, Refusal, Run, StopReason, Timestamp};
use crate::store::StoreError;
use crate::tool::{Cancellation, Context, Journal};
use conversation::Conversation;
pub use conversation::conversation;
pub use storage::Added;
use storage::Storage;
use tail::{Tail, has_new_prompt, is_of_model};
use tool_run::run::{Action, LogEntry, Stage, StepInput, pending_actions, step};

/// The capacity of lists of entries and actions that is kept for reuse.
const KEPT_CAPACITY: usize = 16;

/// A run, its log, and the actions that the log requires.
pub struct Log {
    agent: Agent,
    run: Run,
    tail: Tail,
    queue: Queue,
    storage: Storage,
    clocks: Clocks,
    conversation: Conversation,
    pub outside: SignalSources,
    /// The condition for the first effect that cannot be undone. The mutex makes it `Sync`.
    pub before_next_effect: Option<Mutex<BoxFuture<'static, Result<(), AgentError>>>>,
    /// The run, and the tail's entries and beginnings, before the entries that need the condition. Unset if a store has the run.
    before_entries: Option<(String, Vec<LogEntry>, Vec<usize>)>,
    changes: Changes,
    /// Set until the first drive begins with the run as it was loaded.
    is_fresh: bool,
    /// The entries of other processes that are not reported yet.
    others: ForeignEntries,
    /// The part that the runs inside of calls see, from the first call on that may have one.
    shared: OnceLock<Arc<Shared>>,
}

impl fmt::Debug for Log {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Log").field("run", &self.run).field("tail", &self.tail.entries).finish_non_exhaustive()
    }
}

/// The actions to take, and the calls to check.
#[derive(Default)]
struct Queue {
    checks: VecDeque<CallId>,
    actions: VecDeque<Action>,
    /// Set while all entries that `actions` follow from are stored.
    is_due: bool,
    /// Reusable lists for the consequences of an input.
    lists: (Vec<LogEntry>, Vec<Action>),
    /// Set if the loop stops before the next request to the model.
    stops_before_model: bool,
    /// Set if the loop has stopped there.
    has_stopped_before_model: bool,
}

/// The changes that the parts of the loop need to know.
#[derive(Default)]
struct Changes {
    by_others: bool,
    /// Set if the run has a new prompt.
    is_prompted: bool,
}

impl Queue {
    fn add(&mut self, action: Action) {
        match action {
            Action::Check(call) => self.checks.push_back(call),
            action => {
                self.actions.push_back(action);
                self.is_due = false;
            }
        }
    }
}

impl Log {
    /// Creates the log of `run`, driven as `agent` defines. `entries` are not stored yet.
    pub fn new(agent: &Agent, run: Run, entries: Vec<LogEntry>) -> Self {
        Self {
            agent: agent.clone(),
            run,
            tail: Tail { entries, ..Tail::default() },
            queue: Queue::default(),
            storage: Storage::default(),
            clocks: Clocks::default(),
            conversation: Conversation::new(agent),
            outside: SignalSources::default(),
            before_next_effect: None,
            before_entries: None,
            changes: Changes::default(),
            is_fresh: true,
            others: ForeignEntries::default(),
            shared: OnceLock::new(),
        }
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Replaces the run by the state that another writer has stored.
    pub fn replace(&mut self, run: Run) {
        self.run = run;
        self.conversation.forget();
    }

    pub fn now(&self) -> Timestamp {
        self.agent.now()
    }

    /// Begins to use the store of `agent`, and acquires the right to drive the run there. If the run is driven elsewhere,
    /// [`Log::drives`] returns `false` afterwards.
    pub async fn begin(&mut self, agent: &Agent, drive: &DriveOptions) -> Result<(), AgentError> {
        self.agent = agent.clone();
        self.queue = Queue { stops_before_model: drive.stops_before_model, ..Queue::default() };
        self.conversation.restart(agent);
        self.clocks = Clocks::default();
        let is_fresh = std::mem::take(&mut self.is_fresh);
        self.changes = Changes::default();
        self.others = ForeignEntries::default();
        self.shared = OnceLock::new();
        // A remaining lease belongs to a future that was dropped. The lease is not used again, so that the work of that future
        // cannot reach the log any more.
        let given_back = self.storage.release().await;
        // No other process can know the run before it is stored.
        let is_known = self.stored() > 0;
        self.storage.begin(agent, self.run.id(), drive.follows && is_known);
        given_back?;
        if is_known {
            self.renew().await?;
        }
        if !self.drives() {
            self.others = ForeignEntries::following(&self.run);
        }
        // Without a lease to renew, an engine gave this process the right to drive before the run was loaded. So the run is as it
        // was loaded.
        self.is_fresh = is_fresh && self.drives() && !self.storage.must_renew();
        Ok(())
    }

    async fn renew(&mut self) -> Result<(), AgentError> {
        let now = self.now();
        Ok(self.storage.renew(now).await?)
    }

    /// Passes everything since the last drive to the run's state machine, and then `input`.
    ///
    /// Fails if the run refuses `input`. Then the loop takes no action.
    pub async fn resume(&mut self, input: Option<StepInput>, observers: &mut Observers) -> Result<(), AgentError> {
        if self.drives() {
            self.restart_run_clock();
        }
        if let Some(StepInput::Prompt(prompt)) = &input {
            // A run whose first prompt is too large is not stored.
            self.check_size(&prompt.content)?;
        }
        let is_new = self.stored() == 0;
        let is_fresh = std::mem::take(&mut self.is_fresh);
        if is_new {
            self.commit(observers).await?;
            self.renew().await?;
        }
        if self.storage.has_keeper() && !self.tail.entries.is_empty() {
            // The entries did not reach the store, or this is unknown. The loop took no action that follows from them.
            self.tail = Tail::default();
            self.reload().await?;
        }
        let were_added = !is_new && !is_fresh && self.refresh(observers).await?;
        // Another process may have continued the run already, or stopped it.
        let input = input
            .filter(|input| !matches!(input, StepInput::Continue { .. }) || (!were_added && can_continue(&self.run)));
        observers.resumed(&self.run);
        if !self.drives() {
            return Ok(input.map_or(Ok(()), |input| self.record_once(input))?);
        }
        if self.run.current_calls().iter().any(|call| call.result().is_none()) {
            self.extend_conversation();
        }
        self.keep_before_entries();
        if !is_new || !self.run.current_calls().is_empty() {
            let at = self.now();
            // Calls that ran when the run was left are lost, because none of them runs here.
            self.try_record(StepInput::Recover { at })?;
            // Expired interrupts are closed now, because a run at rest waits for no timer.
            self.try_record(StepInput::Tick { at })?;
        }
        let Some(input) = input else { return Ok(()) };
        if let Err(refusal) = self.record_once(input) {
            self.queue.checks.clear();
            self.commit(observers).await?;
            return Err(refusal.into());
        }
        Ok(())
    }

    /// Passes an input to the run's state machine, unless the run has it already: the prompt of a request that was sent twice.
    fn record_once(&mut self, input: StepInput) -> Result<(), Refusal> {
        match self.try_record(input) {
            Err(Refusal::Repeated) => Ok(()),
            recorded => recorded,
        }
    }

    /// Reports the entries of others that waited for their turn's entry, which does not come any more.
    pub fn flush_others(&mut self, observers: &mut Observers) {
        std::mem::take(&mut self.others).take_over(&self.run, observers);
    }

    /// Returns whether this process takes the actions of the run. Otherwise the run is driven elsewhere.
    pub fn drives(&self) -> bool {
        self.storage.drives()
    }

    /// Returns whether this process follows the run only until it can acquire the right to drive it.
    pub fn may_take_over(&self) -> bool {
        !self.drives() && self.storage.must_renew()
    }

    pub async fn release(&mut self) -> Result<(), AgentError> {
        Ok(self.storage.release().await?)
    }

    /// Passes an input to the run's state machine. The run has the resulting entries at once. The resulting actions wait until
    /// the entries are stored.
    ///
    /// Fails, and changes nothing, if the run refuses the input.
    pub fn try_record(&mut self, input: StepInput) -> Result<(), Refusal> {
        let (mut entries, mut actions) = self.step_within(input)?;
        self.tail.begins.push(self.tail.entries.len());
        let before = self.before_inner_usage(&entries);
        if self.agent.setup.stop.is_some() || self.agent.setup.outer.is_some() {
            self.apply_until_condition(&mut entries, &mut actions);
        }
        self.apply(&mut entries);
        self.stop_inner_runs(before);
        self.queue(entries, actions);
        Ok(())
    }

    /// Passes an input to the run's state machine like [`Log::try_record`], but ignores a refusal: then the input came too
    /// late.
    pub fn record(&mut self, input: StepInput) {
        let _ = self.try_record(input);
    }

    /// Adds entries to the run and the tail. If the run refuses one, [`Log::commit`] drops the tail.
    fn apply(&mut self, entries: &mut Vec<LogEntry>) {
        if self.tail.refused.is_none()
            && let Err(corrupt) = entries.iter().try_for_each(|entry| self.run.apply(entry))
        {
            self.tail.refused = Some(AgentError::Inconsistent { reason: corrupt.to_string() });
        }
        self.tail.entries.append(entries);
    }

    /// Queues the actions that follow from an input. Drops all actions if the run refused an entry or is driven elsewhere.
    fn queue(&mut self, entries: Vec<LogEntry>, mut actions: Vec<Action>) {
        if self.tail.refused.is_some() || !self.drives() {
            self.queue.checks.clear();
            self.queue.actions.clear();
            return;
        }
        actions.drain(..).for_each(|action| self.queue.add(action));
        if entries.capacity() <= KEPT_CAPACITY && actions.capacity() <= KEPT_CAPACITY {
            self.queue.lists = (entries, actions);
        }
    }

    /// Adds the entries before the next turn, and then tests the application's conditions, and those of the runs around this
    /// one. If one holds, the run stops, and the entries and the action of the next turn are removed.
    fn apply_until_condition(&mut self, entries: &mut Vec<LogEntry>, actions: &mut Vec<Action>) {
        // Prompts that steer the run join it with the next turn. Without that turn they keep waiting.
        let joins = |entry: &LogEntry| matches!(entry, LogEntry::Prompted { prompt, .. } if prompt.steers);
        let [before @ .., LogEntry::TurnStarted { .. }] = &entries[..] else { return };
        let next_turn = before.iter().rposition(|entry| !joins(entry)).map_or(0, |at| at + 1);
        let rest = entries.split_off(next_turn);
        self.apply(entries);
        *entries = rest;
        if let Some((stop, others)) = self.stop_instead() {
            actions.retain(|action| *action != Action::CallModel);
            actions.extend(others);
            *entries = stop;
        }
    }

    /// Returns the entries and actions in place of the next turn, if a condition of the application holds.
    fn stop_instead(&mut self) -> Option<(Vec<LogEntry>, Vec<Action>)> {
        // In any other phase, a prompt or a continuation requested the turn.
        if self.run.phase() != Phase::Acting {
            return None;
        }
        let reason = self.condition().or_else(|| self.stop_outside())?;
        let stop = StepInput::Stop { reason, at: self.now() };
        step(&self.run, stop).ok().filter(|(entries, _)| !entries.is_empty())
    }

    /// Returns the next action. Checks come first, so that their entries go into the same append. Other actions come after the
    /// entries from which they follow are stored.
    pub fn next_action(&mut self) -> Option<Action> {
        if let Some(call) = self.queue.checks.pop_front() {
            return Some(Action::Check(call));
        }
        if !self.queue.is_due {
            return None;
        }
        let action = self.queue.actions.pop_front()?;
        if action == Action::CallModel && (self.queue.stops_before_model || self.storage.ends_drive()) {
            self.queue.has_stopped_before_model = true;
            return self.next_action();
        }
        Some(action)
    }

    /// Returns whether there are entries to store, or actions to take.
    pub fn has_pending_work(&self) -> bool {
        let is_stored = self.tail.entries.is_empty() && self.tail.refused.is_none();
        !is_stored || !self.queue.checks.is_empty() || !self.queue.actions.is_empty()
    }

    /// Sets a time at which the run's state machine gets [`StepInput::Tick`].
    pub fn wake_at(&mut self, at: Timestamp) {
        self.clocks.wake_at(at);
    }

    /// Stores and reports the new entries. Actions that entries of other writers made void are dropped.
    pub async fn commit(&mut self, observers: &mut Observers) -> Result<(), AgentError> {
        if let Some(error) = self.tail.refused.take() {
            self.tail = Tail::default();
            self.reload().await?;
            return Err(error);
        }
        if self.before_next_effect.is_some()
            && let Err(error) = self.await_before_next_effect().await
        {
            // The caller gets the reason, even if the run cannot be stored.
            let _ = self.give_up_effect(observers).await;
            return Err(error);
        }
        self.store(observers, false).await
    }

    async fn store(&mut self, observers: &mut Observers, is_leaving: bool) -> Result<(), AgentError> {
        let mut stored = Vec::new();
        while self.storage.has_keeper() && !self.tail.entries.is_empty() {
            match self.storage.append(&self.run, &self.tail.entries, &self.tail.begins).await {
                Ok(Some(count)) if count == self.tail.entries.len() => break,
                Ok(Some(count)) => stored.extend(self.tail.take_first(count)),
                Ok(None) => self.rebase(observers, is_leaving).await?,
                Err(error @ StoreError::TooLarge { .. }) if self.drives() => self.give_up_entries(error).await?,
                Err(error) => return Err(error.into()),
            }
        }
        if !stored.is_empty() {
            stored.append(&mut self.tail.entries);
            self.tail.entries = stored;
        }
        if !self.drives() {
            // These entries are reported like those of others, because the run goes on elsewhere.
            let Tail { entries, .. } = std::mem::take(&mut self.tail);
            self.report_others(entries, observers);
            return Ok(());
        }
        observers.publish(&self.run, &self.tail.entries);
        self.changes.is_prompted |= has_new_prompt(&self.tail.entries);
        if let Some(hooks) = &observers.argument_hooks {
            hooks.accepted(&self.run, &self.tail.entries, &self.conversation.context);
        }
        self.tail.clear();
        self.queue.actions.shrink_to(KEPT_CAPACITY);
        self.queue.checks.shrink_to(KEPT_CAPACITY);
        self.queue.is_due = true;
        self.keep_before_entries();
        Ok(self.storage.save_snapshot(&self.run).await?)
    }

    /// Drops entries that the store never takes, and stops the run instead. Fails with `error` if the run does not go on anyway.
    async fn give_up_entries(&mut self, error: StoreError) -> Result<(), AgentError> {
        self.tail = Tail::default();
        self.queue.checks.clear();
        self.queue.actions.clear();
        self.reload().await?;
        self.changes.by_others = true;
        self.record(StepInput::Stop { reason: StopReason::LimitReached(error.to_string()), at: self.now() });
        if self.tail.entries.is_empty() { Err(error.into()) } else { Ok(()) }
    }

    /// Returns the maximum size in bytes of the text of one append.
    pub fn max_append_bytes(&self) -> usize {
        self.storage.max_append_bytes()
    }

    /// Checks that the store takes `value` at once. Fails with [`StoreError::TooLarge`].
    pub fn check_size(&self, value: &impl Serialize) -> Result<(), StoreError> {
        let max = self.max_append_bytes();
        if max == usize::MAX {
            return Ok(());
        }
        // An eighth is for the rest of the entries.
        let (bytes, limit) = (serde_json::to_vec(value).map_or(0, |text| text.len()), max - max / 8);
        if bytes > limit { Err(StoreError::TooLarge { bytes, limit }) } else { Ok(()) }
    }

    /// Reloads the run after another writer's append, and applies again each entry of the tail that the run accepts. If the run
    /// refuses the first entry of an input, the input's other entries are dropped, too. Otherwise a late denial would end a call
    /// that was approved. Entries of the model's turn are dropped if the other writer began another turn.
    async fn rebase(&mut self, observers: &mut Observers, is_leaving: bool) -> Result<(), AgentError> {
        let known = self.stored();
        let begins_turn = |entry: &&LogEntry| matches!(entry, LogEntry::TurnStarted { .. });
        let turn = self.run.turn() as usize - self.tail.entries.iter().filter(begins_turn).count();
        let Tail { entries: mut mine, begins, .. } = std::mem::take(&mut self.tail);
        if is_leaving {
            mine.clear();
            self.queue.actions.clear();
        }
        self.reload().await?;
        self.publish_since(known, observers).await?;
        self.queue.actions.retain(|action| matches!(action, Action::Abort(_) | Action::Execute { .. }));
        let is_cancelled = |entry: &LogEntry| matches!(entry, LogEntry::Stopped { reason: StopReason::Cancelled, .. });
        let cancels = mine.iter().any(is_cancelled);
        let is_other_turn = self.run.turn() as usize != turn;
        let mut is_dropped = false;
        for (at, entry) in mine.into_iter().enumerate() {
            let is_first = begins.contains(&at);
            if !is_first && is_dropped {
                continue;
            }
            let follows = !(is_other_turn && is_of_model(&entry)) && self.run.apply(&entry).is_ok();
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
        if cancels && !self.tail.entries.iter().any(is_cancelled) {
            // The dropped entry did not cancel the work that the other writer added.
            self.record(StepInput::Cancel { by: self.owner(), at: self.now() });
        }
        self.queue_pending_actions();
        Ok(())
    }

    async fn reload(&mut self) -> Result<(), AgentError> {
        if let Some(run) = self.storage.load().await? {
            self.replace(run);
        }
        Ok(())
    }

    /// Reports the entries that others added to the log after its first `known` entries.
    async fn publish_since(&mut self, known: u64, observers: &mut Observers) -> Result<(), AgentError> {
        // Entries that came after the run was loaded are reported when they are read.
        let mut left = usize::try_from(self.run.rev().saturating_sub(known)).unwrap_or(usize::MAX);
        for record in self.storage.read(known).await? {
            let mut entries = record.entries()?;
            entries.truncate(left);
            left -= entries.len();
            self.report_others(entries, observers);
        }
        if self.drives() {
            self.others.flush(&self.run, observers);
        }
        Ok(())
    }

    fn report_others(&mut self, entries: Vec<LogEntry>, observers: &mut Observers) {
        self.changes.is_prompted |= has_new_prompt(&entries);
        self.others.publish(&self.run, entries, observers);
    }

    /// Reads and reports the entries that others added to the log, and queues their actions. Returns whether there were any.
    /// Does nothing while entries of this process are not stored.
    pub async fn refresh(&mut self, observers: &mut Observers) -> Result<bool, AgentError> {
        if !self.tail.entries.is_empty() || !self.read_and_report(observers).await? {
            return Ok(false);
        }
        if self.drives() {
            self.others.flush(&self.run, observers);
        }
        self.queue_pending_actions();
        Ok(true)
    }

    /// Reads and reports the entries that others added to the log. Returns whether there were any.
    async fn read_and_report(&mut self, observers: &mut Observers) -> Result<bool, AgentError> {
        let records = self.storage.read(self.run.rev()).await?;
        for record in &records {
            let entries = record.entries()?;
            // A record that begins before the end of the known entries is returned whole.
            let known = usize::try_from(self.run.rev().saturating_sub(record.rev)).unwrap_or(usize::MAX);
            // Each entry is reported with the run as it was then: a record may end one step and begin the next.
            for entry in entries.into_iter().skip(known) {
                self.run.apply(&entry).map_err(tool_run::run::RecordError::from).map_err(StoreError::from)?;
                self.report_others(vec![entry], observers);
            }
        }
        Ok(!records.is_empty())
    }

    /// Queues the actions of a run that others changed.
    fn queue_pending_actions(&mut self) {
        self.changes.by_others = true;
        if !self.drives() {
            return;
        }
        // The entries of both writers together can have consequences that neither has alone, such as a turn's end.
        self.record(StepInput::Tick { at: self.now() });
        for action in pending_actions(&self.run) {
            if !self.queue.actions.contains(&action) {
                self.queue.add(action);
            }
        }
    }

    /// Returns whether others have added to the log since the last call of this method.
    pub fn take_changed_by_others(&mut self) -> bool {
        std::mem::take(&mut self.changes.by_others)
    }

    /// Returns whether the run was prompted since the last call of this method. If so, the run's time limit begins anew.
    pub fn take_prompted(&mut self) -> bool {
        let is_prompted = std::mem::take(&mut self.changes.is_prompted);
        if is_prompted {
            self.restart_run_clock();
        }
        is_prompted
    }

    /// Returns the number of entries in the store.
    fn stored(&self) -> u64 {
        self.run.rev() - self.tail.entries.len() as u64
    }

    /// Returns whether nothing is left to do here. `asks_people` is set if a request to the operator is open or queued.
    pub fn is_at_rest(&self, asks_people: bool) -> bool {
        match self.run.phase() {
            Phase::Idle | Phase::Finished | Phase::Stopped(_) => true,
            Phase::Suspended => !asks_people,
            Phase::Generating => {
                self.queue.has_stopped_before_model || (self.queue.stops_before_model && !self.drives())
            }
            Phase::Acting => false,
        }
    }

    /// Reads messages that came just when the run ended; under a lease, also entries. Returns whether there were any.
    pub async fn queue_late_messages(&mut self, observers: &mut Observers) -> Result<bool, AgentError> {
        // For entries that come after the last append, an engine resumes the run itself.
        if self.storage.must_renew() && self.refresh(observers).await? {
            return Ok(true);
        }
        if self.run.phase() != Phase::Finished || self.may_take_over() {
            return Ok(false);
        }
        let Some(content) = SteeringMessages::received(&mut self.outside.steered) else { return Ok(false) };
        let prompt = Prompt::new(content, self.run.owner().clone(), self.now());
        Ok(self.try_record(StepInput::Prompt(prompt)).is_ok())
    }

    /// Cancels the run if no client follows it, and no call with a decision runs or is about to run. Returns whether anything
    /// has changed. A process that follows another one's drive does not know the clients there, and cancels nothing.
    /// `before` runs right before the cancellation.
    pub async fn stop_if_abandoned(
        &mut self,
        observers: &mut Observers,
        before: impl FnOnce(&mut Self, &mut Observers),
    ) -> Result<bool, AgentError> {
        if !self.outside.handle.has_left() || self.may_take_over() || self.has_decided_work() {
            return Ok(false);
        }
        // A decision that is already in the store comes first.
        if self.refresh(observers).await? {
            return Ok(true);
        }
        before(self, observers);
        if !self.tail.entries.is_empty() {
            // These entries hold also if the cancellation is dropped.
            self.store(observers, false).await?;
            if self.has_decided_work() {
                return Ok(true);
            }
        }
        self.try_record(StepInput::Cancel { by: self.owner(), at: self.now() })?;
        // The entry is stored separately. If a decision comes at this moment, `rebase` drops the entry, and the run is examined
        // again.
        self.store(observers, true).await?;
        Ok(true)
    }

    /// Returns whether a call with a decision runs, or is about to run.
    fn has_decided_work(&self) -> bool {
        let is_work = |stage| matches!(stage, Stage::Ready | Stage::Running);
        self.run.current_calls().iter().any(|call| is_work(call.stage()) && call.decisions().next().is_some())
    }

    /// Waits for a signal from outside. Cancel safe.
    pub async fn next_signal(&mut self, signals: &mut SignalWaits) -> Signal {
        let (known, asks) = (self.stored(), self.run.interrupts().next().is_some());
        let is_elsewhere = !self.drives();
        tokio::select! {
            biased;
            signal = self.outside.next(&self.agent, &mut signals.listener) => signal,
            () = self.storage.added(known, asks, &mut signals.added) => Signal::Added,
            signal = pieces::next(&self.agent, self.run.id(), is_elsewhere, &mut signals.pieces) => signal,
        }
    }

    /// Waits for the next signal in a process that does not drive the run. Pieces of the model's turn are reported meanwhile.
    pub async fn next_but_pieces(
        &mut self,
        signals: &mut SignalWaits,
        observers: &mut Observers,
    ) -> Result<Signal, AgentError> {
        loop {
            let text = match self.next_signal(signals).await {
                Signal::Piece(text) => text,
                signal => return Ok(signal),
            };
            let Some(piece) = Piece::read(&text) else { continue };
            let is_ahead = piece.is_ahead_of(&self.run);
            if is_ahead {
                self.read_and_report(observers).await?;
            }
            self.others.show(&self.run, &piece, observers);
            if is_ahead {
                return Ok(Signal::Added);
            }
        }
    }

    /// Handles a signal from outside.
    pub async fn receive(&mut self, signal: Signal, observers: &mut Observers) -> Result<(), AgentError> {
        let (by, at) = (self.owner(), self.now());
        match signal {
            Signal::Added | Signal::Requested(HandleRequest::PollStore) => drop(self.refresh(observers).await?),
            Signal::Requested(HandleRequest::Stop) => self.record(StepInput::StopRequested { by, at }),
            Signal::Cancelled | Signal::Requested(HandleRequest::Cancel) => {
                self.try_record(StepInput::Cancel { by, at })?;
            }
            Signal::Steered(content) => {
                if let Err(refusal) = self.try_record(StepInput::Prompt(Prompt::new(content, by, at).steering())) {
                    observers.report(Event::PromptRefused(&refusal));
                }
            }
            Signal::ClockMoved => self.tick(),
            Signal::Followed(_) | Signal::Piece(_) => {}
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
        let renew = self.storage.renew_at(|at| self.agent.setup.clock.instant(at));
        clocks.into_iter().chain(wake).chain(renew).min()
    }

    /// Records that time has passed, if the run's state machine waits for this.
    pub fn tick(&mut self) {
        self.storage.clock_moved();
        let now = self.now();
        if self.clocks.has_come(now) {
            self.record(StepInput::Tick { at: now });
        }
    }

    /// Stops the run if its time, or that of its step, is over. `before` runs right before that.
    pub fn stop_if_overdue(&mut self, before: impl FnOnce(&mut Self)) {
        if let Some(reason) = self.clocks.overdue() {
            before(self);
            self.record(StepInput::Stop { reason, at: self.now() });
        }
    }

    /// Renews the lease, and reads the entries that others added.
    pub async fn renew_if_due(&mut self, observers: &mut Observers) -> Result<(), AgentError> {
        self.renew().await?;
        self.refresh(observers).await?;
        Ok(())
    }

    fn restart_run_clock(&mut self) {
        self.clocks.run.restart(self.run.options().limits.time);
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

    /// Creates the context of a call that runs.
    pub fn call_context(&self, call: &CallId, cancellation: Cancellation, journal: Arc<dyn Journal>) -> Context {
        self.tainted(self.conversation.context.of_call(call.shared(), cancellation, journal))
    }

    /// Returns `cx` with the present taint of the run, because more calls may have ended since `cx` was created.
    fn tainted(&self, cx: Context) -> Context {
        let taint = self.run.taint();
        if cx.taint().len() == taint.len() { cx } else { cx.with_taint(taint) }
    }
}

/// Returns whether the run was left in a state from which it continues only on request.
pub fn can_continue(run: &Run) -> bool {
    match run.phase() {
        Phase::Stopped(
            StopReason::ModelFailed(_)
            | StopReason::Cancelled
            | StopReason::Requested
            | StopReason::StepLimit
            | StopReason::LimitReached(_)
            | StopReason::TimedOut(_)
            | StopReason::Condition(_),
        ) => true,
        // A conversation from another source may end with a prompt that has no answer.
        Phase::Idle => !run.messages().is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
