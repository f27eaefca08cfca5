//! A run with the log that stores it: what a session keeps between two drives, and what driving and following have in common.

mod conversation;
mod leased;
mod storage;
mod tail;

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::BoxFuture;
use serde::Serialize;
use tokio::time::Instant;

use crate::agent::{
    Agent, AgentError, Budget,
    ask::CheckedAnswer,
    drive::{DriveOptions, SignalWaits},
    handle::{Signal, SignalSources, SteeringMessages},
    inner_limits::InnerLimits,
    observers::{ForeignEntries, Observers},
    pieces,
};
use crate::message::Message;
use crate::run::{CallId, Phase, Principal, Prompt, Refusal, Run, RunOptions, StopReason, Timestamp};
use crate::store::{Record, StoreError};
use crate::tool::{Cancellation, Context, Journal};
use conversation::Conversation;
pub use conversation::conversation;
pub use storage::Added;
use storage::Storage;
pub use tail::Tail;
use tail::{has_new_prompt, is_of_model};
use tool_run::run::{Action, AdvanceOptions, InnerUsage, InputError, LogEntry, LogInput, Stage, advance_within};

/// The capacity of lists of entries and actions that is kept for reuse.
pub const KEPT_CAPACITY: usize = 16;

/// A run, and the log that stores it. Entries that are not stored yet are in its tail.
pub struct LoggedRun {
    agent: Agent,
    run: Run,
    pub(super) tail: Tail,
    pub(super) storage: Storage,
    conversation: Conversation,
    pub outside: SignalSources,
    /// The condition for the first effect that cannot be undone. The mutex makes it `Sync`.
    pub before_next_effect: Option<Mutex<BoxFuture<'static, Result<(), AgentError>>>>,
    /// Set until the first drive begins with the run as it was loaded.
    is_fresh: bool,
    /// The entries of other processes that are not reported yet.
    others: ForeignEntries,
    /// Set if the run has a new prompt.
    is_prompted: bool,
}

impl fmt::Debug for LoggedRun {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("LoggedRun").field("run", &self.run).field("tail", &self.tail.entries).finish_non_exhaustive()
    }
}

/// The result of an append.
pub enum Appended {
    All,
    /// The store took a part of the entries. These are removed from the tail.
    Some(Vec<LogEntry>),
    /// Another writer has added to the log before.
    Conflict,
}

impl LoggedRun {
    /// Creates the stored form of `run`, as `agent` defines. `entries` are not stored yet.
    pub fn new(agent: &Agent, run: Run, entries: Vec<LogEntry>) -> Self {
        Self {
            agent: agent.clone(),
            run,
            tail: Tail { entries, ..Tail::default() },
            storage: Storage::default(),
            conversation: Conversation::new(agent),
            outside: SignalSources::default(),
            before_next_effect: None,
            is_fresh: true,
            others: ForeignEntries::default(),
            is_prompted: false,
        }
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Replaces the run by the state that another writer has stored.
    pub fn replace(&mut self, run: Run) {
        self.run = run;
        self.conversation.forget();
    }

    /// Sets the options of a run that is not stored yet. Any other run keeps its own.
    pub fn set_options(&mut self, options: RunOptions) {
        if self.is_new()
            && let Some(created) = self.tail.entries.first_mut()
        {
            self.run.set_options(created, options);
        }
    }

    pub fn now(&self) -> Timestamp {
        self.agent.now()
    }

    pub fn owner(&self) -> Principal {
        self.run.owner().clone()
    }

    /// Begins a drive: uses the store of `agent`, and acquires the right to drive the run there. If the run is driven elsewhere,
    /// [`LoggedRun::drives`] returns `false` afterwards.
    pub async fn begin(&mut self, agent: &Agent, drive: &DriveOptions) -> Result<(), AgentError> {
        self.agent = agent.clone();
        self.conversation.restart(agent);
        self.is_prompted = false;
        self.others = ForeignEntries::default();
        let is_fresh = std::mem::take(&mut self.is_fresh);
        // A remaining lease belongs to a future that was dropped. The lease is not used again, so that the work of that future
        // cannot reach the log any more.
        let given_back = self.storage.release().await;
        // No other process can know the run before it is stored.
        let is_known = !self.is_new();
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

    pub async fn renew(&mut self) -> Result<(), AgentError> {
        let now = self.now();
        Ok(self.storage.renew(now).await?)
    }

    pub async fn release(&mut self) -> Result<(), AgentError> {
        Ok(self.storage.release().await?)
    }

    /// Returns whether this process takes the actions of the run. Otherwise the run is driven elsewhere.
    pub fn drives(&self) -> bool {
        self.storage.drives()
    }

    /// Returns the number of entries in the store.
    pub fn stored(&self) -> u64 {
        self.run.rev() - self.tail.entries.len() as u64
    }

    /// Returns whether no entry of the run was stored or reported.
    pub fn is_new(&self) -> bool {
        self.stored() == 0
    }

    /// Prepares to store a new run, whose first input is `input`.
    pub fn prepare_creation(&mut self, input: Option<&LogInput>) {
        self.tail.may_join = matches!(input, Some(LogInput::Prompt(prompt)) if prompt.key.is_some());
    }

    /// Returns whether the run may have changed since it was loaded. Returns `true` from the second call on.
    pub fn may_have_changed(&mut self) -> bool {
        !std::mem::take(&mut self.is_fresh)
    }

    /// Records `input` in the run, within the limits of the runs around it, and adds the entries to the tail. `own` is the part of
    /// this run that the runs inside of its calls see. Where another turn would follow, the application's conditions, and those
    /// of the runs around this one, decide whether it does.
    ///
    /// Fails, and changes nothing, if the run refuses the input. Fails if the run is inconsistent, also at the next append.
    pub fn record(
        &mut self,
        input: LogInput,
        own: Option<&Arc<InnerLimits>>,
        actions: &mut VecDeque<Action>,
    ) -> Result<(), InputError> {
        let setup = &self.agent.setup;
        let refused = setup.checked_answer.as_deref().and_then(CheckedAnswer::stop_reason);
        if let Some(reason) = refused.filter(|_| matches!(input, LogInput::Checked { .. })) {
            // The refused answer must not count as a wrong one, nor be repaired.
            let at = self.now();
            self.advance(LogInput::Stop { reason, at }, own, false, actions)?;
        }
        let setup = &self.agent.setup;
        let has_conditions = setup.stop.is_some()
            || setup.outer.is_some()
            || setup.checked_answer.is_some()
            || !setup.budgets.is_empty();
        self.advance(input, own, has_conditions, actions)?;
        if has_conditions && self.run.is_between_turns() {
            let at = self.now();
            let reason = self.condition().or_else(|| self.stop_outside());
            let next = reason.map_or(LogInput::Tick { at }, |reason| LogInput::Stop { reason, at });
            self.advance(next, own, false, actions)?;
        }
        Ok(())
    }

    fn advance(
        &mut self,
        input: LogInput,
        own: Option<&Arc<InnerLimits>>,
        pauses_between_turns: bool,
        actions: &mut VecDeque<Action>,
    ) -> Result<(), InputError> {
        let log = &mut self.tail.entries;
        let begin = log.len();
        let options = |outer| AdvanceOptions { outer, pauses_between_turns };
        let done = match (own, &self.agent.setup.outer) {
            (None, None) => advance_within(&mut self.run, input, options(None), log, actions),
            // Only runs that share their limits count what an input uses.
            (own, outer) => InnerLimits::spend(&mut self.run, own, outer.as_ref(), |run, left| {
                advance_within(run, input, options(left), log, actions)?;
                Ok(InnerUsage::of(&log[begin..], false))
            }),
        };
        if self.tail.entries.len() > begin {
            self.tail.begins.push(begin);
            if !self.agent.setup.budgets.is_empty() {
                let used = InnerUsage::of(&self.tail.entries[begin..], false);
                self.agent.setup.budgets.iter().for_each(|budget| budget.add(&used));
            }
        }
        if let Err(error @ InputError::Inconsistent(_)) = &done {
            self.tail.refused = Some(error.clone().into());
        }
        done
    }

    /// Returns the reason why the runs around this one, or the budgets, let it ask no model any more, if there is one.
    pub fn stop_outside(&self) -> Option<StopReason> {
        let setup = &self.agent.setup;
        let around = setup.outer.as_ref().and_then(|outer| outer.stop_reason());
        around.or_else(|| setup.budgets.iter().find_map(Budget::stop_reason))
    }

    /// Counts a request to a model in the budgets. If one of them is spent, counts it in none, and returns the reason.
    pub fn begin_request(&self) -> Option<StopReason> {
        let budgets = &self.agent.setup.budgets;
        for (at, budget) in budgets.iter().enumerate() {
            if let Some(reason) = budget.begin_request() {
                budgets[..at].iter().for_each(Budget::undo_request);
                return Some(reason);
            }
        }
        None
    }

    /// Returns the condition of the application that holds, or the refusal of an answer, if there is one.
    pub fn condition(&self) -> Option<StopReason> {
        let setup = &self.agent.setup;
        let refused = setup.checked_answer.as_deref().and_then(CheckedAnswer::stop_reason);
        refused.or_else(|| setup.stop.as_ref()?.holds(&self.run).map(StopReason::Condition))
    }

    /// Returns the error of an inconsistent run, if it has one, and loads the run again if it is stored.
    pub async fn check_consistent(&mut self) -> Result<(), AgentError> {
        let Some(error) = self.tail.refused.take() else { return Ok(()) };
        self.drop_tail().await?;
        Err(error)
    }

    /// Drops the entries that are not stored, and loads the run again if a store has it.
    pub async fn drop_tail(&mut self) -> Result<(), AgentError> {
        self.tail = Tail::default();
        self.reload().await
    }

    /// Drops entries of an earlier drive that did not reach the store, or of which this is unknown. No action was taken that
    /// follows from them.
    pub async fn drop_unstored(&mut self) -> Result<(), AgentError> {
        if self.storage.has_keeper() && !self.tail.is_empty() { self.drop_tail().await } else { Ok(()) }
    }

    /// Awaits the condition of the first effect that cannot be undone, if there is one.
    pub async fn await_before_next_effect(&mut self) -> Result<(), AgentError> {
        let Some(condition) = &mut self.before_next_effect else { return Ok(()) };
        // If this future is dropped, the condition still holds for the next drive.
        let done = condition.get_mut().unwrap_or_else(PoisonError::into_inner).await;
        self.before_next_effect = None;
        done
    }

    /// Goes back to an earlier state of the run and its tail.
    pub fn restore(&mut self, run: Run, tail: Tail) {
        self.replace(run);
        self.tail = tail;
    }

    /// Stores the entries of the tail, as many as the store takes at once.
    pub async fn append(&mut self) -> Result<Appended, StoreError> {
        if !self.storage.has_keeper() || self.tail.entries.is_empty() {
            return Ok(Appended::All);
        }
        Ok(match self.storage.append(&self.run, &self.tail.entries, &self.tail.begins).await? {
            Some(count) if count == self.tail.entries.len() => Appended::All,
            Some(count) => Appended::Some(self.tail.take_first(count)),
            None => Appended::Conflict,
        })
    }

    /// Stores a snapshot, if the log has grown enough.
    pub async fn save_snapshot(&mut self) -> Result<(), StoreError> {
        self.storage.save_snapshot(&self.run).await
    }

    /// Returns the time at which the right to drive must be renewed, or may be free.
    pub fn renew_at(&mut self) -> Option<Instant> {
        self.storage.renew_at(|at| self.agent.setup.clock.instant(at))
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

    /// Checks that the store takes an input. A run whose first prompt is too large is not stored.
    pub fn check_input(&self, input: Option<&LogInput>) -> Result<(), StoreError> {
        match input {
            Some(LogInput::Prompt(prompt)) => self.check_size(&prompt.content),
            Some(LogInput::CallFromOutside { call, .. }) => self.check_size(&call.arguments),
            _ => Ok(()),
        }
    }

    /// Reloads the run after another writer's append, reports that writer's entries, and applies again each entry of the tail that
    /// the run accepts. If the run refuses the first entry of an input, the input's other entries are dropped, too. Otherwise a
    /// late denial would end a call that was approved. Entries of the model's turn are dropped if the other writer began another
    /// turn. With `is_leaving`, all entries of the tail are dropped.
    ///
    /// Returns whether a cancellation was dropped, which then did not cancel the work that the other writer added. Fails, and changes
    /// nothing, if this run is new, and the store has another one with its id.
    pub async fn rebase(&mut self, observers: &mut Observers, is_leaving: bool) -> Result<bool, AgentError> {
        let known = self.stored();
        if known == 0 {
            self.check_created_once().await?;
        }
        let begins_turn = |entry: &&LogEntry| matches!(entry, LogEntry::TurnStarted { .. });
        let turn = self.run.turn() as usize - self.tail.entries.iter().filter(begins_turn).count();
        let Tail { entries: mut mine, begins, .. } = std::mem::take(&mut self.tail);
        if is_leaving {
            mine.clear();
        }
        self.reload().await?;
        self.report_since(known, observers).await?;
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
        Ok(cancels && !self.tail.entries.iter().any(is_cancelled))
    }

    /// Checks that the stored run with this run's id is this run: its creation was stored although the store failed, or another
    /// process got the same request.
    async fn check_created_once(&mut self) -> Result<(), AgentError> {
        let first = self.storage.read(0).await?.first().map(Record::entries).transpose()?;
        let stored = first.as_deref().and_then(begin_of);
        let is_same = begin_of(&self.tail.entries).zip(stored).is_some_and(|(own, stored)| {
            let ((owner, messages, at), (other_owner, other_messages, other_at)) = (own, stored);
            owner == other_owner && messages == other_messages && (self.tail.may_join || at == other_at)
        });
        if is_same { Ok(()) } else { Err(Refusal::Exists { run: self.run.id().clone() }.into()) }
    }

    async fn reload(&mut self) -> Result<(), AgentError> {
        if let Some(run) = self.storage.load().await? {
            self.replace(run);
        }
        Ok(())
    }

    /// Reports the entries that others added to the log after its first `known` entries.
    async fn report_since(&mut self, known: u64, observers: &mut Observers) -> Result<(), AgentError> {
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

    /// Reports entries like those of others.
    pub fn report_others(&mut self, entries: Vec<LogEntry>, observers: &mut Observers) {
        self.is_prompted |= has_new_prompt(&entries);
        self.others.publish(&self.run, entries, observers);
    }

    /// Reports the entries of the tail, which are stored, and clears it.
    pub fn report_own(&mut self, observers: &mut Observers) {
        observers.publish(&self.run, &self.tail.entries);
        self.is_prompted |= has_new_prompt(&self.tail.entries);
        if let Some(hooks) = &observers.argument_hooks {
            hooks.accepted(&self.run, &self.tail.entries, &self.conversation.context);
        }
        self.tail.clear();
    }

    /// Reads and reports the entries that others added to the log. Returns whether there were any. Does nothing while entries of
    /// this process are not stored.
    pub async fn refresh(&mut self, observers: &mut Observers) -> Result<bool, AgentError> {
        if !self.tail.entries.is_empty() || !self.read_and_report(observers).await? {
            return Ok(false);
        }
        if self.drives() {
            self.others.flush(&self.run, observers);
        }
        Ok(true)
    }

    /// Reads and reports the entries that others added to the log. Returns whether there were any.
    pub async fn read_and_report(&mut self, observers: &mut Observers) -> Result<bool, AgentError> {
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

    /// Reports a piece of the model's turn that another process has published.
    pub fn show_piece(&mut self, piece: &pieces::Piece<'_>, observers: &Observers) {
        self.others.show(&self.run, piece, observers);
    }

    /// Reports the entries of others that waited for their turn's entry, which does not come any more.
    pub fn flush_others(&mut self, observers: &mut Observers) {
        std::mem::take(&mut self.others).take_over(&self.run, observers);
    }

    /// Returns whether the run was prompted since the last call of this method.
    pub fn take_prompted(&mut self) -> bool {
        std::mem::take(&mut self.is_prompted)
    }

    /// Returns `input`, unless it continues a run that another process has continued or stopped. `were_added` is set if others have
    /// added to the log.
    pub fn still_wanted(&self, input: Option<LogInput>, were_added: bool) -> Option<LogInput> {
        let may_continue = !were_added && can_continue(&self.run);
        input.filter(|input| may_continue || !matches!(input, LogInput::Continue { .. }))
    }

    /// Returns the prompt of a message that came just when the run ended.
    pub fn late_message(&mut self) -> Option<LogInput> {
        if self.run.phase() != Phase::Finished {
            return None;
        }
        let content = SteeringMessages::received(&mut self.outside.steered)?;
        let mut prompt = Prompt::new(content, self.owner(), self.now());
        prompt.final_tools = self.agent.setup.final_tools.to_vec();
        prompt.claims = self.agent.setup.context.shared_claims().cloned();
        Some(LogInput::Prompt(prompt))
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

    /// Lets the conversation begin with the instructions of `agent`, which acts.
    pub fn speak_as(&mut self, agent: &Agent) {
        self.conversation.restart(agent);
    }

    /// Extends the conversation that the calls of the turn share, as the model sees it, and returns it.
    pub fn extend_conversation(&mut self) -> Arc<Vec<Message>> {
        self.conversation.extend(&self.agent, &self.run)
    }

    pub fn shared_context(&self) -> &Context {
        &self.conversation.context
    }

    pub fn context(&self, call: &CallId) -> Context {
        self.agent.for_check(self.tainted(self.conversation.context.clone().for_shared(call.shared())))
    }

    /// Creates the context of a call that runs.
    pub fn call_context(&self, call: &CallId, cancellation: Cancellation, journal: Arc<dyn Journal>) -> Context {
        self.agent.for_check(self.tainted(self.conversation.context.of_call(call.shared(), cancellation, journal)))
    }

    /// Returns `cx` with the present taint of the run, because more calls may have ended since `cx` was created.
    fn tainted(&self, cx: Context) -> Context {
        let taint = self.run.taint();
        if cx.taint().len() == taint.len() { cx } else { cx.with_taint(taint) }
    }
}

/// Returns the owner, the first messages and the time of the creation of a run, whose log begins with `entries`.
fn begin_of(entries: &[LogEntry]) -> Option<(&Principal, &[Message], Timestamp)> {
    match entries.first() {
        Some(LogEntry::Created { owner, messages, at, .. }) => Some((owner, messages, *at)),
        _ => None,
    }
}

/// Returns whether a call with a decision runs, or is about to run.
pub fn has_decided_work(run: &Run) -> bool {
    let is_work = |stage| matches!(stage, Stage::Ready | Stage::Running);
    run.current_calls().iter().any(|call| is_work(call.stage()) && call.decisions().next().is_some())
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
            | StopReason::Condition(_)
            | StopReason::Blocked { .. },
        ) => true,
        // A conversation from another source may end with a prompt that has no answer.
        Phase::Idle => !run.messages().is_empty(),
        _ => false,
    }
}
