//! A connection on a thread of its own.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

use futures_util::future::BoxFuture;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::{Broken, StoreError};

/// How many jobs may wait; whoever comes later waits to be let in.
const QUEUE: usize = 64;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// A connection on a thread of its own, which ends when this is dropped and everything asked before is done.
pub(super) struct Worker {
    jobs: mpsc::Sender<Job>,
}

impl Worker {
    pub(super) fn start(name: &str, mut db: Connection) -> Result<Self, StoreError> {
        let (jobs, mut queue) = mpsc::channel::<Job>(QUEUE);
        let work = move || {
            while let Some(job) = queue.blocking_recv() {
                // Whoever asked sees that no answer comes; the transaction was rolled back on the way out.
                let _ = catch_unwind(AssertUnwindSafe(|| job(&mut db)));
            }
        };
        thread::Builder::new().name(name.to_owned()).spawn(work).map_err(StoreError::unavailable)?;
        Ok(Self { jobs })
    }

    /// Does `job` on the thread. It is done even if nobody waits for it any more.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection) -> Result<T, Broken> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        Box::pin(async move {
            let (give, take) = oneshot::channel();
            let job: Job = Box::new(move |db| {
                // Nobody may be there to take it.
                let _ = give.send(job(db));
            });
            let gone = || StoreError::unavailable("the thread of SQLite's file panicked");
            self.jobs.send(job).await.map_err(|_| gone())?;
            take.await.map_err(|_| gone())?.map_err(|Broken(error)| error)
        })
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Worker").finish_non_exhaustive()
    }
}
