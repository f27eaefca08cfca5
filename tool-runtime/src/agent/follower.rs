//! A process that follows a run which is driven elsewhere: it reports the run's events, and takes no actions.

use std::collections::VecDeque;

use tokio::time::Instant;

use crate::agent::{
    AgentError,
    drive::{DriveOptions, SignalWaits},
    handle::{HandleRequest, Signal, input_of},
    logged_run::{Appended, LoggedRun, has_decided_work},
    observers::Observers,
    pieces::Piece,
};
use crate::run::{Phase, Refusal, Run};
use tool_run::run::{InputError, LogInput};

/// A run that this process follows.
pub struct Follower<'a> {
    pub stored: &'a mut LoggedRun,
    /// Set if the process waits for nothing from the model.
    stops_before_model: bool,
}

impl<'a> Follower<'a> {
    /// Begins to follow a run that is driven elsewhere.
    pub fn new(stored: &'a mut LoggedRun, drive: &DriveOptions) -> Self {
        Self { stored, stops_before_model: drive.stops_before_model }
    }

    pub fn run(&self) -> &Run {
        self.stored.run()
    }

    /// Returns whether this process may acquire the right to drive the run. Otherwise it belongs to an engine.
    pub fn may_take_over(&self) -> bool {
        self.stored.storage.must_renew()
    }

    /// Reports what others have added to the log since the last drive, and records `input`, which the driver handles.
    ///
    /// Fails if the run refuses `input`.
    pub async fn resume(&mut self, input: Option<LogInput>, observers: &mut Observers) -> Result<(), AgentError> {
        self.stored.check_input(input.as_ref())?;
        let is_new = self.stored.is_new();
        let may_have_changed = self.stored.may_have_changed();
        if is_new {
            self.stored.prepare_creation(input.as_ref());
            self.commit(observers).await?;
            self.stored.renew().await?;
        }
        self.stored.drop_unstored().await?;
        let were_added = !is_new && may_have_changed && self.stored.refresh(observers).await?;
        let input = self.stored.still_wanted(input, were_added);
        observers.resumed(self.run());
        match input.map_or(Ok(()), |input| self.record(input)) {
            // The run has the prompt of a request that was sent twice.
            Err(InputError::Refused(Refusal::Repeated)) => Ok(()),
            done => Ok(done?),
        }
    }

    /// Records an input. The actions that follow belong to the driver.
    pub fn record(&mut self, input: LogInput) -> Result<(), InputError> {
        self.stored.record(input, None, &mut VecDeque::new())
    }

    /// Stores the entries of this process, if there are any. Returns whether there were.
    pub async fn store_pending(&mut self, observers: &mut Observers) -> Result<bool, AgentError> {
        let is_pending = !self.stored.tail.is_empty();
        if is_pending {
            self.commit(observers).await?;
        }
        Ok(is_pending)
    }

    async fn commit(&mut self, observers: &mut Observers) -> Result<(), AgentError> {
        self.stored.check_consistent().await?;
        // Everything that is stored may have effects at once, in the process that drives the run.
        if let Err(error) = self.stored.await_before_next_effect().await {
            // The caller gets the reason, even if the run cannot be loaded.
            let _ = self.stored.drop_tail().await;
            return Err(error);
        }
        self.store(observers, false).await
    }

    async fn store(&mut self, observers: &mut Observers, is_leaving: bool) -> Result<(), AgentError> {
        let mut stored = Vec::new();
        loop {
            match self.stored.append().await? {
                Appended::All => break,
                Appended::Some(first) => stored.extend(first),
                Appended::Conflict => {
                    if self.stored.rebase(observers, is_leaving).await? {
                        self.cancel()?;
                    }
                }
            }
        }
        self.stored.tail.put_before(stored);
        // These entries are reported like those of others, because the run goes on elsewhere.
        let entries = std::mem::take(&mut self.stored.tail).entries;
        self.stored.report_others(entries, observers);
        Ok(())
    }

    fn cancel(&mut self) -> Result<(), InputError> {
        self.record(LogInput::Cancel { by: self.stored.owner(), at: self.stored.now() })
    }

    /// Returns whether nothing is left to follow.
    pub fn is_at_rest(&self) -> bool {
        match self.run().phase() {
            Phase::Idle | Phase::Finished | Phase::Stopped(_) | Phase::Suspended => true,
            Phase::Generating => self.stops_before_model,
            Phase::Acting => false,
        }
    }

    /// Reads what came just when the run ended: entries, or, if this process cannot take over, messages. Returns whether there was
    /// anything.
    pub async fn read_late(&mut self, observers: &mut Observers) -> Result<bool, AgentError> {
        if self.may_take_over() {
            return self.stored.refresh(observers).await;
        }
        Ok(self.stored.late_message().is_some_and(|prompt| self.record(prompt).is_ok()))
    }

    /// Cancels the run if no client follows it, and no call with a decision runs or is about to run. Returns whether anything
    /// has changed. If another process may have clients, this one does not know them, and cancels nothing.
    pub async fn stop_if_abandoned(&mut self, observers: &mut Observers) -> Result<bool, AgentError> {
        if !self.stored.outside.handle.has_left() || self.may_take_over() || has_decided_work(self.run()) {
            return Ok(false);
        }
        // A decision that is already in the store comes first.
        if self.stored.refresh(observers).await? {
            return Ok(true);
        }
        self.cancel()?;
        self.store(observers, true).await?;
        Ok(true)
    }

    /// Waits for the next signal. Pieces of the model's turn are reported meanwhile.
    pub async fn next_signal(
        &mut self,
        signals: &mut SignalWaits,
        observers: &mut Observers,
    ) -> Result<Signal, AgentError> {
        loop {
            let text = match self.stored.next_signal(signals).await {
                Signal::Piece(text) => text,
                signal => return Ok(signal),
            };
            let Some(piece) = Piece::read(&text) else { continue };
            let is_ahead = piece.is_ahead_of(self.run());
            if is_ahead {
                self.stored.read_and_report(observers).await?;
            }
            self.stored.show_piece(&piece, observers);
            if is_ahead {
                return Ok(Signal::Added);
            }
        }
    }

    /// Handles a signal from outside.
    pub async fn handle_signal(&mut self, signal: Signal, observers: &mut Observers) -> Result<(), AgentError> {
        if matches!(signal, Signal::Added | Signal::Requested(HandleRequest::PollStore)) {
            self.stored.refresh(observers).await?;
        }
        if let Some(input) = input_of(signal, self.stored.agent(), self.stored.owner(), self.stored.now()) {
            let is_prompt = matches!(input, LogInput::Prompt(_));
            observers.report_refused_prompt(is_prompt, self.record(input))?;
        }
        Ok(())
    }

    /// Returns the time at which this process tries to acquire the right to drive.
    pub fn deadline(&mut self) -> Option<Instant> {
        self.stored.renew_at()
    }

    /// Acquires the right to drive the run if it is free, and reads the entries that others added.
    pub async fn renew_if_due(&mut self, observers: &mut Observers) -> Result<(), AgentError> {
        self.stored.renew().await?;
        self.stored.refresh(observers).await.map(drop)
    }
}
