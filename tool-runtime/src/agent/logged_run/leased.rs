//! The log of a run in a store, and the lease to drive it, which one worker has at a time.

use std::{sync::Arc, time::Duration};

use futures_util::{
    future::BoxFuture,
    stream::{BoxStream, StreamExt as _},
};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

use crate::run::{Run, RunId, Timestamp};
use crate::store::{Append, Keeper, Lease, Record, Store, StoreError};

/// The interval at which a waiting run is read from a store that does not notify.
const WAITING_POLL: Duration = Duration::from_millis(200);

/// The interval for all other runs, which another process may have cancelled.
const ACTIVE_POLL: Duration = Duration::from_secs(1);

/// The keeper of a run in a store that has no keeper of its own: the run's log, and this worker's lease to drive the run.
pub struct LeasedKeeper {
    store: Arc<dyn Store>,
    run: RunId,
    /// The name of this driver in the store. It is unique.
    worker: String,
    ttl: Duration,
    /// Set if this process follows the run while another worker has the lease.
    follows: bool,
    /// The lease. It remains here if the future that drove the run was dropped.
    lease: Option<Lease>,
    /// The time at which the run was last read.
    read: Instant,
    /// `None` if the store does not notify, so that the run must be read at intervals.
    notifications: Option<Notifications>,
}

/// The store's notifications of appends: the log's length after each. `None` after their end.
type Notifications = Arc<Mutex<Option<BoxStream<'static, u64>>>>;

/// Waits until the log has more than `known` entries. Returns at the end of the notifications, too.
async fn added(notifications: Notifications, known: u64) {
    let mut lengths = notifications.lock().await;
    while let Some(stream) = &mut *lengths {
        match stream.next().await {
            Some(length) if length <= known => {}
            Some(_) => return,
            None => *lengths = None,
        }
    }
}

impl LeasedKeeper {
    /// Creates the keeper of `run`, whose lease lasts for `ttl`. With `follows`, it waits for a lease that another worker has.
    pub fn new(store: &Arc<dyn Store>, run: &RunId, ttl: Duration, follows: bool) -> Self {
        let (worker, read) = (uuid::Uuid::new_v4().to_string(), Instant::now());
        Self {
            store: Arc::clone(store),
            run: run.clone(),
            worker,
            ttl,
            follows,
            lease: None,
            read,
            notifications: None,
        }
    }

    /// Returns the time at which half of the lease is over.
    fn half(&self) -> Option<Timestamp> {
        let half = u64::try_from(self.ttl.as_millis() / 2).unwrap_or(u64::MAX);
        self.lease.as_ref().map(|lease| Timestamp(lease.until.0.saturating_sub(half)))
    }

    /// Acquires the lease, or renews it if half of it is over. Returns the time at which it must be renewed, or at which
    /// another worker's lease ends.
    ///
    /// Fails if another worker had the lease in between, and declared the calls that run here as lost.
    async fn prolong(&mut self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        if let Some(half) = self.half().filter(|half| *half > now) {
            return Ok(Some(half));
        }
        if self.lease.is_none() {
            // The notifications begin before the first read of the run, so that no entry in between is missed.
            self.notifications = self.store.watch(&self.run).map(|lengths| Arc::new(Mutex::new(Some(lengths))));
        }
        let leased = self.store.lease(&self.run, &self.worker, now, self.ttl).await;
        if let Err(StoreError::Leased { until }) = leased
            && self.follows
            && self.lease.is_none()
        {
            self.notifications = self.store.follow(&self.run).map(|lengths| Arc::new(Mutex::new(Some(lengths))));
            return Ok(Some(until));
        }
        let lease = leased?;
        let token = lease.token;
        let before = self.lease.replace(lease);
        if before.is_some_and(|before| before.token != token) { Err(StoreError::Fenced) } else { Ok(self.half()) }
    }
}

impl Keeper for LeasedKeeper {
    fn append(&mut self, append: Append) -> BoxFuture<'_, Result<(), StoreError>> {
        self.store.append(&self.run, Append { lease: self.lease.clone(), ..append })
    }

    fn read(&mut self, known: u64) -> BoxFuture<'_, Result<Vec<Record>, StoreError>> {
        self.read = Instant::now();
        self.store.read(&self.run, known)
    }

    fn wait(&mut self, known: u64, asks: bool) -> BoxFuture<'static, ()> {
        self.notifications.take_if(|lengths| lengths.try_lock().is_ok_and(|lengths| lengths.is_none()));
        match self.notifications.clone() {
            Some(notifications) => Box::pin(added(notifications, known)),
            None => Box::pin(sleep_until(self.read + if asks { WAITING_POLL } else { ACTIVE_POLL })),
        }
    }

    fn drives(&self) -> bool {
        !self.follows || self.lease.is_some()
    }

    fn load(&mut self) -> BoxFuture<'_, Result<Run, StoreError>> {
        Box::pin(async { self.store.load(&self.run).await?.ok_or(StoreError::NotFound)?.rebuild() })
    }

    fn renew(&mut self, now: Timestamp) -> BoxFuture<'_, Result<Option<Timestamp>, StoreError>> {
        Box::pin(self.prolong(now))
    }

    fn save_snapshot(&mut self, rev: u64, text: String) -> BoxFuture<'_, Result<(), StoreError>> {
        self.store.save_snapshot(&self.run, rev, text)
    }

    fn release(&mut self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async {
            self.notifications = None;
            match self.lease.take() {
                Some(lease) => self.store.release(&self.run, &lease).await,
                None => Ok(()),
            }
        })
    }
}
