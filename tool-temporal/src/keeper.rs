//! The keeper of a run on Temporal, with which a session drives the run or follows it.

use std::{sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt as _};
use tokio::time::timeout;
use tool_runtime::run::RunId;
use tool_runtime::store::{Append, Keeper, LogLength, Record, StoreError};

use crate::{
    log::DriveAttempt,
    store::{LENGTHS, TemporalStore},
};

/// The polling interval. If the workflow is in this process, the session notices additions at once.
const POLL: Duration = Duration::from_millis(500);

/// The keeper of one session's run. In an activity, the session drives the run; elsewhere, it follows the run.
pub struct TemporalKeeper {
    store: TemporalStore,
    run: RunId,
    /// The drive; `None` outside of an activity.
    drive: Option<DriveAttempt>,
    length: Arc<LogLength>,
}

impl TemporalKeeper {
    pub fn new(store: TemporalStore, run: &RunId, drive: Option<DriveAttempt>) -> Self {
        Self { store, run: run.clone(), drive, length: LENGTHS.of(run) }
    }
}

impl Keeper for TemporalKeeper {
    fn append(&mut self, append: Append) -> BoxFuture<'_, Result<(), StoreError>> {
        self.store.add(&self.run, append).boxed()
    }

    fn read(&mut self, known: u64) -> BoxFuture<'_, Result<Vec<Record>, StoreError>> {
        self.store.read_records(&self.run, known).boxed()
    }

    fn wait(&mut self, known: u64, _: bool) -> BoxFuture<'static, ()> {
        timeout(POLL, Arc::clone(&self.length).wait_for_more_than(known)).map(drop).boxed()
    }

    fn drives(&self) -> bool {
        self.drive.is_some()
    }
}
