//! The keeper of a run: sessions drive it or follow it with this.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use futures_util::future::{BoxFuture, FutureExt as _};
use tokio::{sync::watch, time::timeout};
use tool_runtime::run::{RunId, Time};
use tool_runtime::store::{Append, Keeper, Record, StoreError};

use crate::{
    log::Drive,
    notify::lengths,
    store::{TemporalStore, workflow_id},
};

/// The interval at which the log is read where its workflow is in another process.
const POLL: Duration = Duration::from_millis(500);

/// The keeper of a run on the server. The session drives it in an activity, or follows it in any other process.
pub struct TemporalKeeper {
    runs: TemporalStore,
    run: RunId,
    /// The drive; `None` outside of the activity.
    drive: Option<Drive>,
    is_claimed: bool,
    /// The number of entries that the session has. A wait that began before them does not end for them.
    known: Arc<AtomicU64>,
    lengths: watch::Receiver<u64>,
}

impl TemporalKeeper {
    pub fn new(runs: TemporalStore, run: &RunId, drive: Option<Drive>) -> Self {
        let lengths = lengths(&workflow_id(run));
        Self { runs, run: run.clone(), drive, is_claimed: false, known: Arc::default(), lengths }
    }
}

impl Keeper for TemporalKeeper {
    fn append(&mut self, append: Append) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            let length = append.expected + append.count;
            self.runs.add(&self.run, append).await?;
            self.known.store(length, Relaxed);
            Ok(())
        }
        .boxed()
    }

    fn read(&mut self, known: u64) -> BoxFuture<'_, Result<Vec<Record>, StoreError>> {
        async move {
            let records = self.runs.records(&self.run, known).await?;
            let last = records.last().map(|record| record.rev + record.count);
            self.known.fetch_max(last.unwrap_or(known), Relaxed);
            Ok(records)
        }
        .boxed()
    }

    fn wait(&mut self, _: bool) -> BoxFuture<'static, ()> {
        let (mut lengths, known) = (self.lengths.clone(), Arc::clone(&self.known));
        async move { drop(timeout(POLL, lengths.wait_for(|length| *length > known.load(Relaxed))).await) }.boxed()
    }

    fn drives(&self) -> bool {
        self.drive.is_some()
    }

    /// Fences the earlier drives once. The server notices if this one stops to give signs of life.
    fn renew(&mut self, _: Time) -> BoxFuture<'_, Result<Option<Time>, StoreError>> {
        async move {
            if let Some(drive) = self.drive.filter(|_| !self.is_claimed) {
                self.runs.claim(&self.run, drive).await?;
                self.is_claimed = true;
            }
            Ok(None)
        }
        .boxed()
    }
}
