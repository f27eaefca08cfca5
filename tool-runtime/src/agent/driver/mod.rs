//! The process that drives a run: it records inputs, and returns the actions that follow.
//!
//! [`Driver::record`] records an input in the run, which has the resulting entries at once. The resulting actions wait until
//! [`Driver::commit`] has stored and reported the entries. So every action follows from stored entries.

mod effect;
mod inner;

use std::{
    collections::VecDeque,
    sync::{Arc, OnceLock},
};

use tokio::time::Instant;

use crate::agent::{
    AgentError,
    clock::Clocks,
    drive::DriveOptions,
    handle::{HandleRequest, Signal, input_of},
    inner_limits::InnerLimits,
    logged_run::{Appended, KEPT_CAPACITY, LoggedRun, has_decided_work},
    observers::Observers,
};
use crate::run::{Phase, Refusal, Run, StopReason, Timestamp};
use crate::store::StoreError;
use effect::BeforeEntries;
use tool_run::run::{Action, InputError, LogInput, pending_actions};

/// A run that this process drives, and the actions that its log requires.
pub struct Driver<'a> {
    pub stored: &'a mut LoggedRun,
    queue: Queue,
    clocks: Clocks,
    /// The state before the entries that need the condition of the next effect. Unset if a store has the run.
    before_entries: Option<BeforeEntries>,
    /// Set if others have added to the log.
    has_changed: bool,
    /// The part that the runs inside of calls see, from the first call on that may have one.
    inner_limits: OnceLock<Arc<InnerLimits>>,
}

/// The actions to take.
#[derive(Default)]
struct Queue {
    actions: VecDeque<Action>,
    /// Set while all entries are stored from which the actions other than checks follow.
    is_due: bool,
    /// Set if the loop stops before the next request to the model.
    stops_before_model: bool,
    /// Set if the loop has stopped there.
    has_stopped_before_model: bool,
}

fn is_check(action: &Action) -> bool {
    matches!(action, Action::Check(_))
}

impl<'a> Driver<'a> {
    /// Begins to drive a run that this process has the right to drive.
    pub fn new(stored: &'a mut LoggedRun, drive: &DriveOptions) -> Self {
        Self {
            stored,
            queue: Queue { stops_before_model: drive.stops_before_model, ..Queue::default() },
            clocks: Clocks::default(),
            before_entries: None,
            has_changed: false,
            inner_limits: OnceLock::new(),
        }
    }

    pub fn run(&self) -> &Run {
        self.stored.run()
    }

    pub fn now(&self) -> Timestamp {
        self.stored.now()
    }

    /// Passes everything since the last drive to the run's state machine, and then `input`.
    ///
    /// Fails if the run refuses `input`. Then the loop takes no action.
    pub async fn resume(&mut self, input: Option<LogInput>, observers: &mut Observers) -> Result<(), AgentError> {
        self.restart_run_clock();
        self.stored.check_input(input.as_ref())?;
        let is_new = self.stored.is_new();
        let may_have_changed = self.stored.may_have_changed();
        if is_new {
            self.stored.prepare_creation(input.as_ref());
            self.commit(observers).await?;
            self.stored.renew().await?;
        }
        self.stored.drop_unstored().await?;
        let were_added = !is_new && may_have_changed && self.refresh(observers).await?;
        let input = self.stored.still_wanted(input, were_added);
        observers.resumed(self.run());
        if self.run().current_calls().iter().any(|call| call.result().is_none()) {
            self.stored.extend_conversation();
        }
        self.keep_before_entries();
        if !is_new || !self.run().current_calls().is_empty() {
            let at = self.now();
            // Calls that ran when the run was left are lost, because none of them runs here.
            self.try_record(LogInput::Recover { at })?;
            // Expired interrupts are closed now, because a run at rest waits for no timer.
            self.try_record(LogInput::Tick { at })?;
        }
        let Some(input) = input else { return Ok(()) };
        let is_call = matches!(input, LogInput::CallFromOutside { .. });
        match self.try_record(input) {
            Ok(()) if is_call => {
                self.restart_step_clock();
                self.stored.extend_conversation();
                Ok(())
            }
            // The run has the prompt of a request that was sent twice.
            Ok(()) | Err(InputError::Refused(Refusal::Repeated)) => Ok(()),
            Err(error) => {
                self.queue.actions.retain(|action| !is_check(action));
                self.commit(observers).await?;
                Err(error.into())
            }
        }
    }

    /// Records an input. The run has the resulting entries at once. The resulting actions wait until the entries are stored.
    ///
    /// Fails, and changes nothing, if the run refuses the input. Fails if the run is inconsistent; then [`Driver::commit`] fails,
    /// too.
    pub fn try_record(&mut self, input: LogInput) -> Result<(), InputError> {
        let (before, known) = (self.before_inner_usage(&input), self.queue.actions.len());
        let done = self.stored.record(input, self.inner_limits.get(), &mut self.queue.actions);
        if matches!(done, Err(InputError::Inconsistent(_))) {
            self.queue.actions.clear();
        }
        self.queue.is_due &= self.queue.actions.iter().skip(known).all(is_check);
        done?;
        self.stop_inner_runs(before);
        Ok(())
    }

    /// Records an input like [`Driver::try_record`], but ignores a refusal: then the input came too late.
    pub fn record(&mut self, input: LogInput) {
        let _ = self.try_record(input);
    }

    /// Returns the next action. Checks do not wait for an append, so that their entries go into it. Other actions come after the
    /// entries from which they follow are stored.
    pub fn next_action(&mut self) -> Option<Action> {
        if self.queue.actions.is_empty() {
            self.queue.actions.shrink_to(KEPT_CAPACITY);
        }
        let next = if self.queue.is_due { 0 } else { self.queue.actions.iter().position(is_check)? };
        let action = self.queue.actions.remove(next)?;
        if action == Action::CallModel && (self.queue.stops_before_model || self.stored.storage.ends_drive()) {
            self.queue.has_stopped_before_model = true;
            return self.next_action();
        }
        Some(action)
    }

    /// Returns whether there are entries to store, or actions to take.
    pub fn has_pending_work(&self) -> bool {
        !self.stored.tail.is_empty() || !self.queue.actions.is_empty()
    }

    /// Sets a time at which the run's state machine gets [`LogInput::Tick`].
    pub fn wake_at(&mut self, at: Timestamp) {
        self.clocks.wake_at(at);
    }

    /// Stores and reports the new entries. Actions that entries of other writers made void are dropped.
    pub async fn commit(&mut self, observers: &mut Observers) -> Result<(), AgentError> {
        self.stored.check_consistent().await?;
        if self.stored.before_next_effect.is_some()
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
        loop {
            match self.stored.append().await {
                Ok(Appended::All) => break,
                Ok(Appended::Some(first)) => stored.extend(first),
                Ok(Appended::Conflict) => self.rebase(observers, is_leaving).await?,
                Err(error @ StoreError::TooLarge { .. }) => self.give_up_entries(error).await?,
                Err(error) => return Err(error.into()),
            }
        }
        self.stored.tail.put_before(stored);
        self.stored.report_own(observers);
        self.queue.is_due = true;
        self.keep_before_entries();
        Ok(self.stored.save_snapshot().await?)
    }

    /// Drops entries that the store never takes, and stops the run instead. Fails with `error` if the run does not go on anyway.
    async fn give_up_entries(&mut self, error: StoreError) -> Result<(), AgentError> {
        self.queue.actions.clear();
        self.stored.drop_tail().await?;
        self.has_changed = true;
        self.record(LogInput::Stop { reason: StopReason::LimitReached(error.to_string()), at: self.now() });
        if self.stored.tail.entries.is_empty() { Err(error.into()) } else { Ok(()) }
    }

    /// Handles another writer's append ([`LoggedRun::rebase`]).
    async fn rebase(&mut self, observers: &mut Observers, is_leaving: bool) -> Result<(), AgentError> {
        let is_kept = |action: &Action| match action {
            Action::Check(_) => true,
            Action::Abort(_) | Action::Execute { .. } => !is_leaving,
            _ => false,
        };
        let must_cancel = self.stored.rebase(observers, is_leaving).await?;
        self.queue.actions.retain(is_kept);
        if must_cancel {
            self.record(LogInput::Cancel { by: self.stored.owner(), at: self.now() });
        }
        self.queue_pending_actions();
        Ok(())
    }

    /// Reads and reports the entries that others added to the log, and queues their actions. Returns whether there were any.
    pub async fn refresh(&mut self, observers: &mut Observers) -> Result<bool, AgentError> {
        let were_added = self.stored.refresh(observers).await?;
        if were_added {
            self.queue_pending_actions();
        }
        Ok(were_added)
    }

    /// Queues the actions of a run that others changed.
    fn queue_pending_actions(&mut self) {
        self.has_changed = true;
        // The entries of both writers together can have consequences that neither has alone, such as a turn's end.
        self.record(LogInput::Tick { at: self.now() });
        for action in pending_actions(self.run()) {
            if !self.queue.actions.contains(&action) {
                self.queue.is_due &= is_check(&action);
                self.queue.actions.push_back(action);
            }
        }
    }

    /// Returns whether others have added to the log since the last call of this method.
    pub fn take_changed_by_others(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    /// Returns whether the run was prompted since the last call of this method. If so, the run's time limit begins anew.
    pub fn take_prompted(&mut self) -> bool {
        let is_prompted = self.stored.take_prompted();
        if is_prompted {
            self.restart_run_clock();
        }
        is_prompted
    }

    /// Returns whether nothing is left to do here. `asks_people` is set if a request to the operator is open or queued.
    pub fn is_at_rest(&self, asks_people: bool) -> bool {
        match self.run().phase() {
            Phase::Idle | Phase::Finished | Phase::Stopped(_) => true,
            Phase::Suspended => !asks_people,
            Phase::Generating => self.queue.has_stopped_before_model,
            Phase::Acting => false,
        }
    }

    /// Reads messages that came just when the run ended; under a lease, also entries. Returns whether there were any.
    pub async fn queue_late_messages(&mut self, observers: &mut Observers) -> Result<bool, AgentError> {
        // For entries that come after the last append, an engine resumes the run itself.
        if self.stored.storage.must_renew() && self.refresh(observers).await? {
            return Ok(true);
        }
        Ok(self.stored.late_message().is_some_and(|prompt| self.try_record(prompt).is_ok()))
    }

    /// Cancels the run if no client follows it, and no call with a decision runs or is about to run. Returns whether anything
    /// has changed. `before` runs right before the cancellation.
    pub async fn stop_if_abandoned(
        &mut self,
        observers: &mut Observers,
        before: impl FnOnce(&mut Self, &mut Observers),
    ) -> Result<bool, AgentError> {
        if !self.stored.outside.handle.has_left() || has_decided_work(self.run()) {
            return Ok(false);
        }
        // A decision that is already in the store comes first.
        if self.refresh(observers).await? {
            return Ok(true);
        }
        before(self, observers);
        if !self.stored.tail.entries.is_empty() {
            // These entries hold also if the cancellation is dropped.
            self.store(observers, false).await?;
            if has_decided_work(self.run()) {
                return Ok(true);
            }
        }
        self.try_record(LogInput::Cancel { by: self.stored.owner(), at: self.now() })?;
        // The entry is stored separately. If a decision comes at this moment, `rebase` drops the entry, and the run is examined
        // again.
        self.store(observers, true).await?;
        Ok(true)
    }

    /// Handles a signal from outside.
    pub async fn handle_signal(&mut self, signal: Signal, observers: &mut Observers) -> Result<(), AgentError> {
        let (by, at) = (self.stored.owner(), self.now());
        match signal {
            Signal::Added | Signal::Requested(HandleRequest::PollStore) => drop(self.refresh(observers).await?),
            Signal::ClockMoved => self.tick(),
            signal => {
                if let Some(input) = input_of(signal, self.stored.agent(), by, at) {
                    let is_prompt = matches!(input, LogInput::Prompt(_));
                    observers.report_refused_prompt(is_prompt, self.try_record(input))?;
                }
            }
        }
        Ok(())
    }

    /// Returns the time at which the driver has to do something next.
    pub fn deadline(&mut self) -> Option<Instant> {
        let clocks = self.clocks.end(self.run().phase() == Phase::Suspended);
        let wake = self.clocks.first_wake().map(|at| self.stored.agent().setup.clock.instant(at));
        clocks.into_iter().chain(wake).chain(self.stored.renew_at()).min()
    }

    /// Records that time has passed, if the run's state machine waits for this.
    pub fn tick(&mut self) {
        self.stored.storage.clock_moved();
        let now = self.now();
        if self.clocks.has_come(now) {
            self.record(LogInput::Tick { at: now });
        }
    }

    /// Stops the run if its time, or that of its step, is over. `before` runs right before that.
    pub fn stop_if_overdue(&mut self, before: impl FnOnce(&mut Self)) {
        if let Some(reason) = self.clocks.overdue() {
            before(self);
            self.record(LogInput::Stop { reason, at: self.now() });
        }
    }

    /// Renews the lease, and reads the entries that others added.
    pub async fn renew_if_due(&mut self, observers: &mut Observers) -> Result<(), AgentError> {
        self.stored.renew().await?;
        self.refresh(observers).await.map(drop)
    }

    fn restart_run_clock(&mut self) {
        self.clocks.run.restart(self.stored.run().options().limits.time);
    }

    pub fn restart_step_clock(&mut self) {
        self.clocks.step.restart(self.stored.agent().setup.timeouts.step);
    }
}
