//! Stores of runs: an append-only log for each run, with an index of runs that wait or were abandoned.

mod keeper;
mod log_lengths;
mod memory;
mod pieces;

use std::{fmt, ops::Range, sync::Arc, time::Duration};

use futures_util::{future::BoxFuture, stream::BoxStream};
use serde::{Deserialize, Serialize};

use crate::run::{Interrupt, InterruptId, Phase, Principal, Run, RunId, Timestamp};
pub use keeper::Keeper;
pub use log_lengths::{LogLength, LogLengths};
pub use memory::MemoryStore;
use tool_run::run::{LogEntry, RecordError, record};
use tool_schema::feedback::visible;

/// A store of runs.
///
/// A store does not interpret entries. It finds runs by the [`Head`] of each append. An implementation must make each method
/// atomic: after a crash, all of an append is there, or nothing of it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a store of runs",
    label = "`Store` is not implemented",
    note = "use `MemoryStore`, or `SqliteStore` or `PostgresStore` of the crate `tool-stores`"
)]
pub trait Store: Send + Sync {
    /// Appends to the log of a run; with `expected` 0, creates the run.
    ///
    /// Fails with [`StoreError::NotFound`] when there is no such run and `expected` is not 0. Fails with [`StoreError::Fenced`]
    /// when the append has a lease that is not the latest. Fails with [`StoreError::Conflict`] when the log does not have
    /// exactly `expected` entries, with [`StoreError::Full`] at a limit on the size of the store, and with
    /// [`StoreError::TooLarge`] at a limit on the size of an append. After [`StoreError::Unavailable`], it is
    /// unknown whether anything was added: load the run.
    fn append<'a>(&'a self, run: &'a RunId, append: Append) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Loads the latest snapshot of a run, and the entries after it. Returns `None` if there is no such run.
    fn load<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<StoredRun>, StoreError>>;

    /// Returns the entries after the first `rev`, oldest first; empty if there are none. A record that begins before `rev` and
    /// ends after it is returned whole. Fails with [`StoreError::NotFound`] if there is no such run.
    fn read<'a>(&'a self, run: &'a RunId, rev: u64) -> BoxFuture<'a, Result<Vec<Record>, StoreError>>;

    /// Stores a snapshot of the run at `rev`, in place of an earlier one. A stored snapshot of a later revision stays.
    fn save_snapshot<'a>(&'a self, run: &'a RunId, rev: u64, text: String) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Gives `worker` the exclusive right to drive the run until `ttl` has passed. Another call by the same worker extends it. An
    /// expired lease of another worker is replaced.
    ///
    /// `now` and the returned times are on the caller's clock. A store of several machines judges by a clock of its own whether a
    /// lease has ended, because the clocks of callers may differ.
    ///
    /// Fails with [`StoreError::Leased`] while another worker has the lease, and with [`StoreError::NotFound`] without the run.
    fn lease<'a>(
        &'a self,
        run: &'a RunId,
        worker: &'a str,
        now: Timestamp,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Lease, StoreError>>;

    /// Releases a lease. An expired lease, or one of another worker, is not changed.
    fn release<'a>(&'a self, run: &'a RunId, lease: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Returns the open interrupts that `filter` selects, oldest first. Interrupts of the same time are in the order of their
    /// run ids, then in the order in which they were opened.
    fn waiting<'a>(&'a self, filter: &'a WaitingFilter) -> BoxFuture<'a, Result<Vec<WaitingItem>, StoreError>>;

    /// Returns at most `limit` runs without a valid lease that a worker should resume: they continue by themselves, or an
    /// interrupt or a grant in them has expired at `now`. Runs that were leased least recently come first. [`Store::lease`]
    /// states whose clock judges leases.
    fn due(&self, now: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<RunId>, StoreError>>;

    /// Returns the runs of `owner` at the positions `page`, the last changed first ([`Head::changed`]). Runs of the same time
    /// are in the descending order of their ids.
    fn list<'a>(&'a self, owner: &'a Principal, page: Range<usize>) -> BoxFuture<'a, Result<Vec<RunItem>, StoreError>>;

    /// Deletes a run completely. Returns whether there was one.
    fn delete<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Returns notifications for the driver of a run about the entries that others append to its log, from now on. Each
    /// notification is the number of entries in the log, or a greater number if the store does not know it. The driver then
    /// reads the log. The store may leave out appends of the lease's holder; [`Store::follow`] includes them.
    ///
    /// `None`, the default, means that the store cannot notify. The driver of a run then reads it every 200 ms while it waits
    /// for a person, and every second otherwise.
    fn watch(&self, run: &RunId) -> Option<BoxStream<'static, u64>> {
        let _ = run;
        None
    }

    /// Returns notifications for a process that follows a run, about all entries that are appended to its log, also by the
    /// driver. They are numbers as in [`Store::watch`], which is the default, for stores that leave out no append.
    fn follow(&self, run: &RunId) -> Option<BoxStream<'static, u64>> {
        self.watch(run)
    }

    /// Publishes a piece of the model's turn to the processes that follow `run`: a JSON text of at most 7,000 bytes, without line
    /// breaks. The driver calls this only after [`Store::watch_readers`] has reported a follower.
    ///
    /// It returns at once, and may lose the piece, as the default does: followers then read the rest of the turn in the log.
    fn publish(&self, run: &RunId, piece: String) {
        let _ = (run, piece);
    }

    /// Returns the pieces of the model's turns that the driver of `run` publishes from now on, in the driver's order. The run
    /// need not be in this store.
    ///
    /// `None`, the default, means that the store passes no pieces on. Followers then report each turn at its end.
    fn pieces(&self, run: &RunId) -> Option<BoxStream<'static, String>> {
        let _ = run;
        None
    }

    /// Returns a stream that reports whether the pieces of `run`'s turns have readers ([`Store::pieces`]). It yields `true`
    /// when a reader arrives, or may have missed pieces. The driver then publishes the present turn from its beginning. The
    /// stream yields `false` when the last reader has left.
    ///
    /// `None`, the default, means that nobody reads pieces.
    fn watch_readers(&self, run: &RunId) -> Option<BoxStream<'static, bool>> {
        let _ = run;
        None
    }

    /// Returns the keeper of the log of `run`. With `None`, the default, sessions use the runtime's keeper under a lease.
    fn keeper(&self, run: &RunId) -> Option<Box<dyn Keeper>> {
        let _ = run;
        None
    }
}

/// Writes the methods of a store that pass their calls on to the store behind a pointer.
macro_rules! pass_on {
    ($($name:ident($($value:ident: $type:ty),*) -> $out:ty;)*) => {$(
        #[allow(clippy::elidable_lifetime_names, reason = "the types of most values name it")]
        fn $name<'a>(&'a self, $($value: $type),*) -> BoxFuture<'a, Result<$out, StoreError>> {
            (**self).$name($($value),*)
        }
    )*};
}

impl<S: Store + ?Sized> Store for Arc<S> {
    pass_on! {
        append(run: &'a RunId, append: Append) -> ();
        load(run: &'a RunId) -> Option<StoredRun>;
        read(run: &'a RunId, rev: u64) -> Vec<Record>;
        save_snapshot(run: &'a RunId, rev: u64, text: String) -> ();
        lease(run: &'a RunId, worker: &'a str, now: Timestamp, ttl: Duration) -> Lease;
        release(run: &'a RunId, lease: &'a Lease) -> ();
        waiting(filter: &'a WaitingFilter) -> Vec<WaitingItem>;
        due(now: Timestamp, limit: usize) -> Vec<RunId>;
        list(owner: &'a Principal, page: Range<usize>) -> Vec<RunItem>;
        delete(run: &'a RunId) -> bool;
    }

    fn watch(&self, run: &RunId) -> Option<BoxStream<'static, u64>> {
        (**self).watch(run)
    }

    fn follow(&self, run: &RunId) -> Option<BoxStream<'static, u64>> {
        (**self).follow(run)
    }

    fn publish(&self, run: &RunId, piece: String) {
        (**self).publish(run, piece);
    }

    fn pieces(&self, run: &RunId) -> Option<BoxStream<'static, String>> {
        (**self).pieces(run)
    }

    fn watch_readers(&self, run: &RunId) -> Option<BoxStream<'static, bool>> {
        (**self).watch_readers(run)
    }

    fn keeper(&self, run: &RunId) -> Option<Box<dyn Keeper>> {
        (**self).keeper(run)
    }
}

/// Entries that are appended to a log at once.
#[derive(Clone, Debug)]
pub struct Append {
    /// The number of entries that the log has before.
    pub expected: u64,
    /// The number of entries that are appended.
    pub count: u64,
    /// The entries, as [`record::encode`] writes them.
    pub text: String,
    /// The lease under which they are appended; `None` for a run's first entries, for decisions and messages from outside, and from
    /// a [`Keeper`].
    pub lease: Option<Lease>,
    /// The head of the run after the append.
    pub head: Head,
}

/// The part of a run that a store knows without reading its log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Head {
    /// The owner of the run.
    pub owner: Principal,
    /// Set if the run continues by itself: it is neither idle, finished, stopped nor suspended.
    pub is_active: bool,
    /// The time at which the next interrupt or grant of the run expires; `None` if none expires.
    pub wake: Option<Timestamp>,
    /// The interrupts that the append opened, and did not close again.
    pub opened: Vec<Interrupt>,
    /// The interrupts that the append closed. They include all interrupts of each ended call, also those closed before.
    pub closed: Vec<InterruptId>,
    /// The time of the last prompt, interrupt, decision or title in the append, or of the run's creation; `None` if the append
    /// has none of these.
    pub changed: Option<Timestamp>,
    /// The run's title ([`Run::title`]), if `changed` is set.
    pub title: Option<String>,
}

/// A run in the list of its owner's runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunItem {
    /// The run.
    pub run: RunId,
    /// Its title; `None` if it has none, or an older version of this crate stored the run.
    pub title: Option<String>,
    /// The latest [`Head::changed`].
    pub changed: Timestamp,
}

impl RunItem {
    /// Creates the item of a run.
    pub fn new(run: RunId, title: Option<String>, changed: Timestamp) -> Self {
        Self { run, title, changed }
    }
}

/// A run as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredRun {
    /// The latest snapshot ([`Run::freeze`]).
    pub snapshot: Option<String>,
    /// The records with the entries after the snapshot, oldest first.
    pub records: Vec<Record>,
}

/// Entries that were appended at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// The number of entries that the log had before.
    pub rev: u64,
    /// The number of these entries.
    pub count: u64,
    /// The entries, as [`record::encode`] wrote them.
    pub text: String,
}

/// The right to drive a run, until it expires or another worker has it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lease {
    /// The fencing token, higher for each new holder: a store refuses appends under an older one.
    pub token: u64,
    /// The worker that holds it.
    pub worker: String,
    /// The time at which it expires.
    pub until: Timestamp,
}

/// A filter for open interrupts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitingFilter {
    /// Selects interrupts that this principal may decide.
    pub principal: Option<Principal>,
    /// Selects interrupts of this run.
    pub run: Option<RunId>,
    /// The number of interrupts to skip.
    pub offset: usize,
    /// The maximum number of interrupts to return; 0 means 100.
    pub limit: usize,
}

/// An interrupt that waits for a decision, with its run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WaitingItem {
    /// The run.
    pub run: RunId,
    /// Its owner.
    pub owner: Principal,
    /// The interrupt: its kind, its deciders, and since when it waits.
    pub interrupt: Interrupt,
}

impl Lease {
    /// Creates the lease of `worker` until `until`. `token` is higher than that of every earlier holder.
    pub fn new(token: u64, worker: impl Into<String>, until: Timestamp) -> Self {
        Self { token, worker: worker.into(), until }
    }
}

impl WaitingItem {
    /// Creates the item of an interrupt of a run.
    pub fn new(run: RunId, owner: Principal, interrupt: Interrupt) -> Self {
        Self { run, owner, interrupt }
    }
}

impl WaitingFilter {
    /// Creates a filter that selects everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Selects what `principal` may decide.
    pub fn for_principal(mut self, principal: impl Into<Principal>) -> Self {
        self.principal = Some(principal.into());
        self
    }

    /// Selects what waits in `run`.
    pub fn in_run(mut self, run: RunId) -> Self {
        self.run = Some(run);
        self
    }

    /// Returns the maximum number of items: `limit`, or 100 if that is 0.
    pub fn max_items(&self) -> usize {
        if self.limit == 0 { 100 } else { self.limit }
    }
}

impl Append {
    /// Creates an append of `entries`, which led to the run `after`. The log had `expected` entries before.
    pub fn new(expected: u64, entries: &[LogEntry], after: &Run, lease: Option<Lease>) -> Self {
        Self {
            expected,
            count: entries.len() as u64,
            text: record::encode(entries),
            lease,
            head: Head::new(entries, after),
        }
    }
}

impl Head {
    fn new(entries: &[LogEntry], after: &Run) -> Self {
        let (mut opened, mut closed, mut changed) = (Vec::<Interrupt>::new(), Vec::new(), None);
        for entry in entries {
            match entry {
                LogEntry::Created { at, .. } | LogEntry::Titled { at, .. } => changed = changed.max(Some(*at)),
                LogEntry::Prompted { prompt, .. } => changed = changed.max(Some(prompt.at)),
                LogEntry::Opened { interrupt, .. } => {
                    changed = changed.max(Some(interrupt.opened_at));
                    opened.push((**interrupt).clone());
                }
                LogEntry::Decided { interrupt, at, .. } => {
                    changed = changed.max(Some(*at));
                    closed.push(interrupt.clone());
                }
                LogEntry::CallEnded { call, .. } | LogEntry::Migrated { call, .. } => {
                    // The call no longer waits for any interrupt.
                    closed.extend(after.call(call).into_iter().flat_map(crate::run::Call::interrupt_ids));
                }
                _ => {}
            }
        }
        opened.retain(|interrupt| after.interrupt(&interrupt.id).is_some());
        let is_active = matches!(after.phase(), Phase::Generating | Phase::Acting);
        // A title is shown in lists, beside titles of other runs.
        let title = changed.and_then(|_| after.title()).map(visible).filter(|title| !title.trim().is_empty());
        Self { owner: after.owner().clone(), is_active, wake: after.next_expiry(), opened, closed, changed, title }
    }

    /// Returns the time from which a worker should resume the run; `None` for never.
    pub fn due_at(&self) -> Option<Timestamp> {
        if self.is_active { Some(Timestamp(0)) } else { self.wake }
    }

    /// Returns the principals that may decide about an interrupt: the named ones, or the run's owner.
    pub fn deciders<'a>(&'a self, interrupt: &'a Interrupt) -> &'a [Principal] {
        interrupt.deciders_of(&self.owner)
    }
}

impl StoredRun {
    /// Creates the stored form of a run from its latest snapshot and the entries after it.
    pub fn new(snapshot: Option<String>, records: Vec<Record>) -> Self {
        Self { snapshot, records }
    }

    /// Rebuilds the run.
    ///
    /// Fails when a newer version of the crate wrote it, its text was changed, or there is neither a snapshot nor a record.
    pub fn rebuild(self) -> Result<Run, StoreError> {
        let mut records = self.records.into_iter();
        let mut run = match self.snapshot {
            Some(text) => Run::thaw(&text)?,
            None => {
                let first = records.next().ok_or(StoreError::NotFound)?;
                Run::fold(first.entries()?).map_err(tool_run::run::RecordError::from)?
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

    /// Returns the entries. An error about a text names its place in the log.
    pub(crate) fn entries(&self) -> Result<Vec<LogEntry>, StoreError> {
        let placed = |error| match error {
            RecordError::Malformed(error) => RecordError::Malformed(format!("after {} entries: {error}", self.rev)),
            other => other,
        };
        record::decode(&self.text).map_err(|error| placed(error).into())
    }

    /// Applies the entries that the run does not have yet. Fails when the text cannot be read, or an entry does not follow.
    pub fn apply(&self, run: &mut Run) -> Result<(), StoreError> {
        let entries = self.entries()?;
        let known = run.rev().saturating_sub(self.rev);
        for entry in entries.into_iter().skip(usize::try_from(known).unwrap_or(usize::MAX)) {
            run.apply(&entry).map_err(tool_run::run::RecordError::from)?;
        }
        Ok(())
    }
}

/// The error of a store.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// Another writer appended to the log in between: load the run again.
    Conflict,
    /// Another worker has taken over the run.
    Fenced,
    /// Another worker drives the run.
    Leased {
        /// The earliest time at which the lease ends.
        until: Timestamp,
    },
    /// There is no such run.
    NotFound,
    /// The stored run cannot be read.
    Record(RecordError),
    /// The store, or the share of the run's owner in it, has reached its configured size. Deleting runs makes room again.
    Full {
        /// Set if the owner's share is full. Runs of other owners may still have room.
        of_owner: bool,
    },
    /// The entries, or what they would contain, are longer than the store takes at once. Nothing was stored.
    TooLarge {
        /// The size in bytes.
        bytes: usize,
        /// The maximum size in bytes.
        limit: usize,
    },
    /// An operator of the engine has ended the run, so that it cannot go on. The text has the details.
    Ended(String),
    /// The store does not work for now: it is unreachable, its disk is full, or it is not the expected store.
    Unavailable(Box<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    /// Creates the error of a store that does not work because of `error`.
    pub fn unavailable(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Unavailable(error.into())
    }
}

/// A size in bytes, written as people read it: `900 bytes`, `12.3 MB`.
struct Size(usize);

impl fmt::Display for Size {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes @ ..1_000_000 => write!(out, "{bytes} bytes"),
            bytes => write!(out, "{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => out.write_str("another writer has changed the run; load it again"),
            Self::Fenced => out.write_str("another worker has taken the run over; load it again, or follow it"),
            Self::Leased { .. } => {
                out.write_str("another worker drives the run; follow it, or wait until its lease ends")
            }
            Self::NotFound => out.write_str("there is no run with this id in the store"),
            Self::Record(error) => error.fmt(out),
            Self::Full { of_owner: true } => out.write_str(
                "the store is full for this owner: delete some of the owner's runs, or raise the owner's limit",
            ),
            Self::Full { of_owner: false } => {
                out.write_str("the store is full: delete runs, raise its limit, or use a store on disk")
            }
            Self::TooLarge { bytes, limit } => {
                let [bytes, limit] = [bytes, limit].map(|size| Size(*size));
                write!(out, "{bytes} are too much for the store, which takes at most {limit} at once")
            }
            Self::Ended(details) => write!(out, "an operator has ended this run: {details}; begin a new run"),
            Self::Unavailable(error) => write!(out, "the store is unavailable: {error}"),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The text has that of the error inside.
        match self {
            Self::Record(error) => error.source(),
            Self::Unavailable(error) => error.source(),
            _ => None,
        }
    }
}

impl From<RecordError> for StoreError {
    fn from(error: RecordError) -> Self {
        Self::Record(error)
    }
}
