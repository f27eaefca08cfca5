//! The keeper of a run on Temporal, with which a session drives the run or follows it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::{BoxFuture, FutureExt as _, ready};
use tokio::time::timeout;
use tool_runtime::run::RunId;
use tool_runtime::store::{Append, Keeper, LogLength, Record, StoreError};

use crate::{
    log::DriveAttempt,
    store::{ExecutionFull, LENGTHS, TemporalStore},
};

/// The polling interval. If the workflow is in this process, the session notices additions at once.
const POLL: Duration = Duration::from_millis(500);

/// The maximum length of the text of an append, in bytes.
pub const MAX_APPEND_BYTES: usize = 8 << 20;

/// The number of appends, and of their bytes, after which a drive ends with its step. The workflow can then continue in a new
/// execution, because no activity is open. An execution takes 2,000 updates and 50 MB; the server suggests a new one at 4 MB.
const MAX_APPENDS: usize = 256;
const MAX_BYTES: usize = 4 << 20;

/// The maximum number of bytes of a drive, as the history has them. The next execution needs as many again in the history of this
/// one, which passes its entries on. One append always fits.
const MAX_STEP_BYTES: usize = 2 * MAX_APPEND_BYTES;

/// A drive in this process.
#[derive(Clone)]
pub struct Drive {
    pub attempt: DriveAttempt,
    /// Set if the process is about to end.
    is_ending: Arc<AtomicBool>,
}

impl Drive {
    pub fn new(attempt: DriveAttempt, is_ending: Arc<AtomicBool>) -> Self {
        Self { attempt, is_ending }
    }
}

/// The keeper of one session's run. In an activity, the session drives the run; elsewhere, it follows the run.
pub struct TemporalKeeper {
    store: TemporalStore,
    run: RunId,
    /// The drive; `None` outside of an activity.
    drive: Option<Drive>,
    length: Arc<LogLength>,
    /// The numbers of appends and of their bytes.
    appended: (usize, usize),
}

impl TemporalKeeper {
    pub fn new(store: TemporalStore, run: &RunId, drive: Option<Drive>) -> Self {
        Self { store, run: run.clone(), drive, length: LENGTHS.of(run), appended: (0, 0) }
    }
}

impl Keeper for TemporalKeeper {
    fn append(&mut self, append: Append) -> BoxFuture<'_, Result<(), StoreError>> {
        let (appends, bytes) = self.appended;
        self.appended = (appends + 1, bytes + len_as_json(&append.text));
        if self.drive.is_some() && self.appended.1 > MAX_STEP_BYTES {
            return ready(Err(StoreError::unavailable(ExecutionFull))).boxed();
        }
        self.store.add(&self.run, append).boxed()
    }

    fn read(&mut self, known: u64) -> BoxFuture<'_, Result<Vec<Record>, StoreError>> {
        async move {
            let records = self.store.read_records(&self.run, known).await?;
            if records.is_empty() {
                // The known length may be that of a deleted run with this id. Then each wait would return at once.
                LENGTHS.report(&self.run, known);
            }
            Ok(records)
        }
        .boxed()
    }

    fn wait(&mut self, known: u64, _: bool) -> BoxFuture<'static, ()> {
        timeout(POLL, Arc::clone(&self.length).wait_for_more_than(known)).map(drop).boxed()
    }

    fn drives(&self) -> bool {
        self.drive.is_some()
    }

    fn max_append_bytes(&self) -> usize {
        MAX_APPEND_BYTES
    }

    fn ends_drive(&self) -> bool {
        let is_ending = self.drive.as_ref().is_some_and(|drive| drive.is_ending.load(Ordering::Relaxed));
        is_ending || self.appended.0 >= MAX_APPENDS || self.appended.1 >= MAX_BYTES
    }
}

/// Returns the length of `text` in a JSON string, as the history of the server has it. The text of an append is JSON, so it contains
/// no other characters that are escaped.
fn len_as_json(text: &str) -> usize {
    text.len() + text.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count()
}
