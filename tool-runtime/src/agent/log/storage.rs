//! The store of a run, and the right to drive the run, which one worker has at a time.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::agent::Agent;
use crate::run::{Run, RunId, Time};
use crate::store::{Append, Lease, Record, Store, StoreError};
use tool_run::run::LogEvent;

/// After how many entries, at least, a snapshot is made.
const SNAPSHOT_EVERY: u64 = 200;

/// How often a run that waits for somebody is looked up in its store.
const POLL: Duration = Duration::from_millis(200);

/// How often any other is: somebody may have called it off.
const WATCH: Duration = Duration::from_secs(1);

/// The place where a run is stored; nowhere, without a store.
#[derive(Default)]
pub struct Storage {
    store: Option<Arc<dyn Store>>,
    /// The name under which the store knows this driver: nobody else has it.
    worker: String,
    /// How long the lease is.
    ttl: Duration,
    /// The right to drive the run. Still here when the future that drove it was dropped.
    lease: Option<Lease>,
    /// When the lease is to be prolonged, and that by the clock of timers.
    prolong: Option<(Time, Instant)>,
    /// When the run was last read.
    read: Option<Instant>,
    /// The number of entries, and of their bytes, since the last snapshot, and its length.
    since: (u64, usize, usize),
}

impl Storage {
    /// Begins to store a run where `agent` stores its runs.
    pub fn begin(&mut self, agent: &Agent) {
        self.store.clone_from(&agent.setup.store);
        self.worker = self.store.as_ref().map(|_| uuid::Uuid::new_v4().to_string()).unwrap_or_default();
        (self.ttl, self.read, self.prolong) = (agent.setup.lease, None, None);
    }

    pub fn is_somewhere(&self) -> bool {
        self.store.is_some()
    }

    /// Stores the entries `new` of `run`. Returns `false` where somebody else has added to the log before.
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

    /// Loads the run; `None` without a store.
    pub async fn load(&self, id: &RunId) -> Result<Option<Run>, StoreError> {
        let Some(store) = &self.store else { return Ok(None) };
        let stored = store.load(id).await?.ok_or(StoreError::NotFound)?;
        Ok(Some(stored.run()?))
    }

    /// Reads the records behind the first `known` entries.
    pub async fn read(&mut self, id: &RunId, known: u64) -> Result<Vec<Record>, StoreError> {
        let Some(store) = &self.store else { return Ok(Vec::new()) };
        self.read = Some(Instant::now());
        store.read(id, known).await
    }

    /// Returns when the run is to be read again.
    pub fn read_at(&self, waits: bool) -> Option<Instant> {
        self.store.as_ref()?;
        Some(self.read? + if waits { POLL } else { WATCH })
    }

    /// Makes a snapshot now and then: when as much has come since the last as that was long, so that the cost of all of them
    /// together does not grow faster than the log.
    pub async fn snapshot(&mut self, run: &Run) -> Result<(), StoreError> {
        let (events, bytes, last) = self.since;
        let Some(store) = self.store.as_ref().filter(|_| events >= SNAPSHOT_EVERY && bytes >= last) else {
            return Ok(());
        };
        let text = run.freeze();
        self.since = (0, 0, text.len());
        store.snapshot(run.id(), run.rev(), text).await
    }

    /// Makes sure that nobody else drives the run.
    pub async fn take_lease(&mut self, run: &RunId, now: Time) -> Result<(), StoreError> {
        let Some(store) = &self.store else { return Ok(()) };
        self.lease = Some(store.lease(run, &self.worker, now, self.ttl).await?);
        Ok(())
    }

    /// Gives the lease back, if there is one.
    pub async fn release(&mut self, run: &RunId) -> Result<(), StoreError> {
        match (self.lease.take(), &self.store) {
            (Some(lease), Some(store)) => store.release(run, &lease).await,
            _ => Ok(()),
        }
    }

    /// Returns when the lease is to be prolonged: when half of it is over.
    pub fn prolong_at(&mut self, instant: impl FnOnce(Time) -> Instant) -> Option<Instant> {
        let at = self.half()?;
        match self.prolong {
            Some((known, instant)) if known == at => Some(instant),
            _ => Some(self.prolong.insert((at, instant(at))).1),
        }
    }

    /// Forgets what the clock of timers showed: somebody may have set the other.
    pub fn clock_moved(&mut self) {
        self.prolong = None;
    }

    /// Prolongs the lease where half of it is over.
    ///
    /// Fails where another worker had it in between, and declared lost what runs here.
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
