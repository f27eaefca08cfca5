//! The keeper of a run: sessions drive it or follow it with this.

use std::{sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt as _};
use tokio::time::timeout;
use tool_runtime::run::RunId;
use tool_runtime::store::{Append, Keeper, LogLength, Record, StoreError};

use crate::{
    log::DriveAttempt,
    store::{LENGTHS, TemporalStore},
};

/// The interval at which the log is read where its workflow is in another process.
const POLL: Duration = Duration::from_millis(500);

/// The keeper of a run on the server. The session drives it in an activity, or follows it in any other process.
pub struct TemporalKeeper {
    runs: TemporalStore,
    run: RunId,
    /// The drive; `None` outside of the activity.
    drive: Option<DriveAttempt>,
    length: Arc<LogLength>,
}

impl TemporalKeeper {
    pub fn new(runs: TemporalStore, run: &RunId, drive: Option<DriveAttempt>) -> Self {
        Self { runs, run: run.clone(), drive, length: LENGTHS.of(run) }
    }
}

impl Keeper for TemporalKeeper {
    fn append(&mut self, append: Append) -> BoxFuture<'_, Result<(), StoreError>> {
        self.runs.add(&self.run, append).boxed()
    }

    fn read(&mut self, known: u64) -> BoxFuture<'_, Result<Vec<Record>, StoreError>> {
        self.runs.records(&self.run, known).boxed()
    }

    fn wait(&mut self, known: u64, _: bool) -> BoxFuture<'static, ()> {
        timeout(POLL, Arc::clone(&self.length).wait_for_more_than(known)).map(drop).boxed()
    }

    fn drives(&self) -> bool {
        self.drive.is_some()
    }
}
