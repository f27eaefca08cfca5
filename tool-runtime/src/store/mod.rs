//! Where runs are kept: an append-only log for each, with what is needed to find those that wait or were left alone.

mod memory;

use std::{fmt, slice, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;

use crate::run::{Interrupt, InterruptId, Phase, Principal, Run, RunId, Time};
pub use memory::MemoryStore;
use tool_run::run::{LogEvent, RecordError, record};

/// Where runs are kept.
///
/// A store knows texts and revisions, not what they mean. An implementation must make each method atomic: after a crash
/// all of an append is there, or nothing of it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot keep runs",
    label = "`Store` is not implemented",
    note = "`MemoryStore` does, and so do `SqliteStore` and `PostgresStore` of the crate `tool-stores`"
)]
pub trait Store: Send + Sync {
    /// Adds to the log of a run; with `expected` 0, creates it.
    ///
    /// Fails with [`StoreError::NotFound`] when there is no such run and `expected` is not 0, with [`StoreError::Fenced`]
    /// when the append names a lease that is not the latest, and with [`StoreError::Conflict`] when the log has not
    /// exactly `expected` entries. Whether anything was added after [`StoreError::Unavailable`] is unknown: load the run.
    fn append<'a>(&'a self, run: &'a RunId, append: Append) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Loads the latest snapshot of a run, and the entries after it. `None` when there is no such run.
    fn load<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<Stored>, StoreError>>;

    /// The entries after the first `rev`, oldest first; empty when there are none. A record that begins before `rev` and
    /// ends after it is given whole. Fails with [`StoreError::NotFound`].
    fn read<'a>(&'a self, run: &'a RunId, rev: u64) -> BoxFuture<'a, Result<Vec<Record>, StoreError>>;

    /// Keeps a snapshot of the run at `rev`, in place of an earlier one. One of a later revision is kept instead.
    fn snapshot<'a>(&'a self, run: &'a RunId, rev: u64, text: String) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Lets `worker` alone drive the run until `ttl` has passed; again by the same worker prolongs it. Another's lease
    /// that is over is taken over.
    ///
    /// Fails with [`StoreError::Leased`] while another worker has it, and with [`StoreError::NotFound`].
    fn lease<'a>(
        &'a self,
        run: &'a RunId,
        worker: &'a str,
        now: Time,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Lease, StoreError>>;

    /// Gives a lease back. One that is over, or another's, is left as it is.
    fn release<'a>(&'a self, run: &'a RunId, lease: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns what waits for whom, oldest first; of one time, in the order of the runs' ids, then as it was opened.
    fn waiting<'a>(&'a self, filter: &'a Waiting) -> BoxFuture<'a, Result<Vec<WaitingItem>, StoreError>>;

    /// Runs that somebody should take up: something in them is over at `now`, or they are neither finished nor waiting
    /// and nobody has a lease on them. Those come first that were not taken up for the longest time.
    fn due(&self, now: Time, limit: usize) -> BoxFuture<'_, Result<Vec<RunId>, StoreError>>;

    /// Deletes a run, all of it. Whether there was one.
    fn delete<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>>;
}

impl<S: Store + ?Sized> Store for Arc<S> {
    fn append<'a>(&'a self, run: &'a RunId, append: Append) -> BoxFuture<'a, Result<(), StoreError>> {
        (**self).append(run, append)
    }

    fn load<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<Stored>, StoreError>> {
        (**self).load(run)
    }

    fn read<'a>(&'a self, run: &'a RunId, rev: u64) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        (**self).read(run, rev)
    }

    fn snapshot<'a>(&'a self, run: &'a RunId, rev: u64, text: String) -> BoxFuture<'a, Result<(), StoreError>> {
        (**self).snapshot(run, rev, text)
    }

    fn lease<'a>(
        &'a self,
        run: &'a RunId,
        worker: &'a str,
        now: Time,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        (**self).lease(run, worker, now, ttl)
    }

    fn release<'a>(&'a self, run: &'a RunId, lease: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        (**self).release(run, lease)
    }

    fn waiting<'a>(&'a self, filter: &'a Waiting) -> BoxFuture<'a, Result<Vec<WaitingItem>, StoreError>> {
        (**self).waiting(filter)
    }

    fn due(&self, now: Time, limit: usize) -> BoxFuture<'_, Result<Vec<RunId>, StoreError>> {
        (**self).due(now, limit)
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        (**self).delete(run)
    }
}

/// Entries that are added to a log at once.
#[derive(Clone, Debug)]
pub struct Append {
    /// How many entries the log has before.
    pub expected: u64,
    /// How many are added.
    pub count: u64,
    /// The entries, as [`record::encode`] writes them.
    pub text: String,
    /// The lease under which they are added; without one for a decision from outside.
    pub lease: Option<Lease>,
    /// The head of the run after it.
    pub head: Head,
}

/// The part of a run that a store knows without reading its log.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Head {
    /// The owner of the run.
    pub owner: Principal,
    /// Set if it goes on by itself: it is neither idle, finished, stopped nor suspended.
    pub is_active: bool,
    /// When something in it is over.
    pub wake: Option<Time>,
    /// Interrupts that the append opened.
    pub opened: Vec<Interrupt>,
    /// Interrupts that it closed.
    pub closed: Vec<InterruptId>,
}

/// A run as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stored {
    /// The latest snapshot ([`Run::freeze`]).
    pub snapshot: Option<String>,
    /// The entries after it, oldest first.
    pub records: Vec<Record>,
}

/// Entries that were added at once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// How many entries the log had before.
    pub rev: u64,
    /// How many these are.
    pub count: u64,
    /// The entries, as [`record::encode`] wrote them.
    pub text: String,
}

/// The right to drive a run, until it is over or another has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lease {
    /// Higher for each new holder: a store refuses appends under an older one.
    pub token: u64,
    /// The worker that has it.
    pub worker: String,
    /// Until when.
    pub until: Time,
}

/// Which of the things that wait are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiting {
    /// Only those that this principal may decide.
    pub principal: Option<Principal>,
    /// Only those of this run.
    pub run: Option<RunId>,
    /// Leaves out as many.
    pub offset: usize,
    /// At most as many; 0 for 100.
    pub limit: usize,
}

/// Something that waits for somebody.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WaitingItem {
    /// The run.
    pub run: RunId,
    /// Its owner.
    pub owner: Principal,
    /// The interrupt: what waits, for whom, since when.
    pub interrupt: Interrupt,
}

impl Lease {
    /// Creates the lease of `worker` until `until`; `token` is higher than that of every lease of the run before it.
    pub fn new(token: u64, worker: impl Into<String>, until: Time) -> Self {
        Self { token, worker: worker.into(), until }
    }
}

impl WaitingItem {
    /// Creates the item of an interrupt of a run.
    pub fn new(run: RunId, owner: Principal, interrupt: Interrupt) -> Self {
        Self { run, owner, interrupt }
    }
}

impl Waiting {
    /// Everything that waits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only what `principal` may decide.
    pub fn by(mut self, principal: impl Into<Principal>) -> Self {
        self.principal = Some(principal.into());
        self
    }

    /// Only what waits in `run`.
    pub fn of(mut self, run: RunId) -> Self {
        self.run = Some(run);
        self
    }

    /// Returns the greatest number of items to return.
    pub fn most(&self) -> usize {
        if self.limit == 0 { 100 } else { self.limit }
    }
}

impl Append {
    /// `events`, which follow from `before` and led to the run `after`.
    pub fn new(expected: u64, events: &[LogEvent], after: &Run, lease: Option<Lease>) -> Self {
        Self {
            expected,
            count: events.len() as u64,
            text: record::encode(events),
            lease,
            head: Head::new(events, after),
        }
    }
}

impl Head {
    fn new(events: &[LogEvent], after: &Run) -> Self {
        let (mut opened, mut closed) = (Vec::<Interrupt>::new(), Vec::new());
        for event in events {
            match event {
                LogEvent::Opened { interrupt, .. } => opened.push((**interrupt).clone()),
                LogEvent::Decided { interrupt, .. } => closed.push(interrupt.clone()),
                LogEvent::Ended { call, .. } | LogEvent::Migrated { call, .. } => {
                    // Whatever it waited for, it does not any more.
                    closed.extend(after.call(call).into_iter().flat_map(crate::run::Call::interrupt_ids));
                }
                _ => {}
            }
        }
        opened.retain(|interrupt| after.interrupt(&interrupt.id).is_some());
        let is_active = matches!(after.phase(), Phase::Generating | Phase::Acting);
        Self { owner: after.owner().clone(), is_active, wake: after.wake(), opened, closed }
    }

    /// Returns the time from which on a worker should take the run up; `None` for never.
    pub fn due(&self) -> Option<Time> {
        if self.is_active { Some(Time(0)) } else { self.wake }
    }

    /// Returns the principals that may decide about an interrupt: the named ones, or the run's owner.
    pub fn deciders<'a>(&'a self, interrupt: &'a Interrupt) -> &'a [Principal] {
        if interrupt.deciders.is_empty() { slice::from_ref(&self.owner) } else { &interrupt.deciders }
    }
}

impl Stored {
    /// Creates the stored form of a run from its latest snapshot and the entries after it.
    pub fn new(snapshot: Option<String>, records: Vec<Record>) -> Self {
        Self { snapshot, records }
    }

    /// The run.
    ///
    /// Fails when it was written by a newer version, or somebody changed it.
    pub fn run(self) -> Result<Run, StoreError> {
        let mut records = self.records.into_iter();
        let mut run = match self.snapshot {
            Some(text) => Run::thaw(&text)?,
            None => {
                let first = records.next().ok_or(StoreError::NotFound)?;
                Run::fold(record::decode(&first.text)?).map_err(tool_run::run::RecordError::from)?
            }
        };
        for entry in records {
            entry.apply(&mut run)?;
        }
        Ok(run)
    }
}

impl Record {
    /// Creates a record of `count` entries that follow the first `rev`.
    pub fn new(rev: u64, count: u64, text: String) -> Self {
        Self { rev, count, text }
    }

    /// Adds the entries to a run. Those that it has already are left out.
    pub fn apply(&self, run: &mut Run) -> Result<(), StoreError> {
        let events = record::decode(&self.text)?;
        let known = run.rev().saturating_sub(self.rev);
        for event in events.into_iter().skip(usize::try_from(known).unwrap_or(usize::MAX)) {
            run.apply(&event).map_err(tool_run::run::RecordError::from)?;
        }
        Ok(())
    }
}

/// Why a store did not do what was asked.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// Another writer added to the log in between: load it again.
    Conflict,
    /// Another worker has taken the run over.
    Fenced,
    /// Another worker drives the run.
    Leased {
        /// At least until then.
        until: Time,
    },
    /// There is no such run.
    NotFound,
    /// The stored run cannot be read.
    Record(RecordError),
    /// The store does not work: it cannot be reached, is full, or is not the store that was expected.
    Unavailable(Box<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    /// The store does not work, because of `error`.
    pub fn unavailable(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Unavailable(error.into())
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => out.write_str("somebody else changed the run in between"),
            Self::Fenced => out.write_str("another worker has taken the run over"),
            Self::Leased { .. } => out.write_str("another worker drives the run"),
            Self::NotFound => out.write_str("there is no such run"),
            Self::Record(error) => error.fmt(out),
            Self::Unavailable(error) => write!(out, "the store does not work: {error}"),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Record(error) => Some(error),
            Self::Unavailable(error) => Some(&**error),
            _ => None,
        }
    }
}

impl From<RecordError> for StoreError {
    fn from(error: RecordError) -> Self {
        Self::Record(error)
    }
}
