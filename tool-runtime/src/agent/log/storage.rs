//! The store of a run, and the lease to drive it, which one worker has at a time.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::agent::Agent;
use crate::run::{Run, RunId, Time};
use crate::store::{Append, Lease, Record, Store, StoreError};
use tool_run::run::LogEvent;

/// The smallest number of entries between two snapshots.
const SNAPSHOT_EVERY: u64 = 200;

/// The interval at which a waiting run is read from its store.
const POLL: Duration = Duration::from_millis(200);

/// The interval for all other runs, which may have been cancelled in the store.
const WATCH: Duration = Duration::from_secs(1);

/// The place where a run is stored; none without a store.
#[derive(Default)]
pub struct Storage {
    store: Option<Arc<dyn Store>>,
    /// The name of this driver in the store. It is unique.
    worker: String,
    ttl: Duration,
    /// The lease. It remains here if the future that drove the run was dropped.
    lease: Option<Lease>,
    /// The time at which the lease must be renewed, on the agent's clock and on that of timers.
    prolong: Option<(Time, Instant)>,
    /// The time at which the run was last read.
    read: Option<Instant>,
    /// The numbers of entries and bytes since the last snapshot, and the length of that snapshot.
    since: (u64, usize, usize),
}

impl Storage {
    /// Begins to store a run in the store of `agent`.
    pub fn begin(&mut self, agent: &Agent) {
        self.store.clone_from(&agent.setup.store);
        self.worker = self.store.as_ref().map(|_| uuid::Uuid::new_v4().to_string()).unwrap_or_default();
        (self.ttl, self.read, self.prolong) = (agent.setup.lease, None, None);
    }

    pub fn is_somewhere(&self) -> bool {
        self.store.is_some()
    }

    /// Stores the entries `new` of `run`. Returns `false` if another writer has added to the log before.
    pub async fn append(&mut self, run: &Run, new: &[LogEvent]) -> Result<bool, StoreError> {
        let Some(store) = &self.store else { return Ok(true) };
        let append = Append::new(run.rev() - new.len() as u64, new, run, self.lease.clone());
        let bytes = append.text.len();
        match store.append(run.id(), append).await {
            Ok(()) => {
                self.since.0 += new.len() as u64;
                self.since.1 += bytes;
                Ok(true)
            }
            Err(StoreError::Conflict) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Loads the run. Returns `None` without a store.
    pub async fn load(&self, id: &RunId) -> Result<Option<Run>, StoreError> {
        let Some(store) = &self.store else { return Ok(None) };
        let stored = store.load(id).await?.ok_or(StoreError::NotFound)?;
        Ok(Some(stored.run()?))
    }

    /// Reads the records after the first `known` entries.
    pub async fn read(&mut self, id: &RunId, known: u64) -> Result<Vec<Record>, StoreError> {
        let Some(store) = &self.store else { return Ok(Vec::new()) };
        self.read = Some(Instant::now());
        store.read(id, known).await
    }

    /// Returns the time at which the run must be read again.
    pub fn read_at(&self, waits: bool) -> Option<Instant> {
        self.store.as_ref()?;
        Some(self.read? + if waits { POLL } else { WATCH })
    }

    /// Stores a snapshot if the log has grown by at least the length of the last one. So the cost of all snapshots does not
    /// grow faster than the log.
    pub async fn snapshot(&mut self, run: &Run) -> Result<(), StoreError> {
        let (events, bytes, last) = self.since;
        let Some(store) = self.store.as_ref().filter(|_| events >= SNAPSHOT_EVERY && bytes >= last) else {
            return Ok(());
        };
        let text = run.freeze();
        self.since = (0, 0, text.len());
        store.snapshot(run.id(), run.rev(), text).await
    }

    /// Acquires the lease, so that no other worker drives the run.
    pub async fn take_lease(&mut self, run: &RunId, now: Time) -> Result<(), StoreError> {
        let Some(store) = &self.store else { return Ok(()) };
        self.lease = Some(store.lease(run, &self.worker, now, self.ttl).await?);
        Ok(())
    }

    pub async fn release(&mut self, run: &RunId) -> Result<(), StoreError> {
        match (self.lease.take(), &self.store) {
            (Some(lease), Some(store)) => store.release(run, &lease).await,
            _ => Ok(()),
        }
    }

    /// Returns the time at which the lease must be renewed: when half of it is over.
    pub fn prolong_at(&mut self, instant: impl FnOnce(Time) -> Instant) -> Option<Instant> {
        let at = self.half()?;
        match self.prolong {
            Some((known, instant)) if known == at => Some(instant),
            _ => Some(self.prolong.insert((at, instant(at))).1),
        }
    }

    /// Forgets the time on the clock of timers, because the other clock may have been set.
    pub fn clock_moved(&mut self) {
        self.prolong = None;
    }

    /// Renews the lease if half of it is over.
    ///
    /// Fails if another worker had the lease in between, and declared the calls that run here as lost.
    pub async fn prolong(&mut self, run: &RunId, now: Time) -> Result<(), StoreError> {
        let (Some(lease), Some(store)) = (&self.lease, &self.store) else { return Ok(()) };
        if self.half().is_some_and(|at| at > now) {
            return Ok(());
        }
        let token = lease.token;
        let lease = store.lease(run, &self.worker, now, self.ttl).await?;
        let is_new = lease.token != token;
        self.lease = Some(lease);
        if is_new { Err(StoreError::Fenced) } else { Ok(()) }
    }

    fn half(&self) -> Option<Time> {
        let half = u64::try_from(self.ttl.as_millis() / 2).unwrap_or(u64::MAX);
        self.lease.as_ref().map(|lease| Time(lease.until.0.saturating_sub(half)))
    }
}
