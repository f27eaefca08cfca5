//! The keeper of a run on Restate, with which a session drives the run or follows it.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout},
};
use tool_runtime::run::RunId;
use tool_runtime::store::{Append, Keeper, LogLength, Record, Store, StoreError};

use crate::engine::RestateStore;
use crate::wire::{Appended, Entries, MAX_APPEND_BYTES, now};

/// The polling interval of a session that does not drive the run, or whose run has an open interrupt. The session notices an
/// append of its own process at once.
const WAITING_POLL: Duration = Duration::from_millis(200);

/// The polling interval otherwise.
const IDLE_POLL: Duration = Duration::from_secs(1);

/// The time without news after which a session that follows a run makes sure that the run is driven. It is doubled each time, up to
/// [`MAX_QUIET`].
const QUIET: Duration = Duration::from_secs(2);
const MAX_QUIET: Duration = Duration::from_mins(1);

/// The request of a loop to store entries.
pub struct AppendRequest {
    pub entries: Entries,
    pub reply: AppendReply,
}

pub type AppendReply = oneshot::Sender<Appended>;
pub type AppendSender = mpsc::UnboundedSender<AppendRequest>;
pub type AppendReceiver = mpsc::UnboundedReceiver<AppendRequest>;

/// The keeper of one session's run.
pub struct RestateKeeper {
    store: RestateStore,
    run: RunId,
    length: Arc<LogLength>,
    /// The number of known entries, the time since when it has not changed, and the time after which that is too long.
    quiet: (u64, Instant, Duration),
}

impl RestateKeeper {
    pub fn new(store: RestateStore, run: &RunId) -> Self {
        let length = store.shared.lengths.of(run);
        Self { store, run: run.clone(), length, quiet: (0, Instant::now(), QUIET) }
    }

    /// Returns whether the log has had `known` entries for so long that the run may have no driver.
    fn is_too_quiet(&mut self, known: u64) -> bool {
        if self.quiet.0 != known {
            self.quiet = (known, Instant::now(), QUIET);
        }
        let (_, since, limit) = &mut self.quiet;
        let is_over = since.elapsed() >= *limit;
        if is_over {
            *limit = since.elapsed() + (*limit).min(MAX_QUIET);
        }
        is_over
    }
}

impl Keeper for RestateKeeper {
    fn append(&mut self, append: Append) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            if let Some(appends) = &self.store.appends {
                let (reply, replied) = oneshot::channel();
                let ended = || StoreError::unavailable("Restate has ended the invocation that drives the run");
                appends.send(AppendRequest { entries: Entries::new(append, now()), reply }).map_err(|_| ended())?;
                replied.await.map_err(|_| ended())?.into_result()
            } else {
                self.store.append(&self.run, append).await
            }
        })
    }

    fn read(&mut self, known: u64) -> BoxFuture<'_, Result<Vec<Record>, StoreError>> {
        self.store.read(&self.run, known)
    }

    fn wait(&mut self, known: u64, asks: bool) -> BoxFuture<'static, ()> {
        let poll = if asks || !self.drives() { WAITING_POLL } else { IDLE_POLL };
        let lost = (!self.drives() && self.is_too_quiet(known)).then(|| (self.store.clone(), self.run.clone()));
        let length = Arc::clone(&self.length);
        Box::pin(async move {
            if let Some((store, run)) = lost {
                // If the server does not answer, the next read reports it.
                let _ = store.wake(&run).await;
            }
            drop(timeout(poll, length.wait_for_more_than(known)).await);
        })
    }

    fn drives(&self) -> bool {
        self.store.appends.is_some()
    }

    fn max_append_bytes(&self) -> usize {
        MAX_APPEND_BYTES
    }
}
