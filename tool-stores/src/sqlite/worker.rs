//! A connection to the file, with a thread for operations that wait.
//!
//! Between two jobs, the thread also copies the write-ahead log back into the file. SQLite itself would do that during a
//! commit, which would then wait for the disk.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError, TryLockError, Weak,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use futures_util::future::BoxFuture;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::{DbError, StoreError};

/// The maximum length of the job queue. Further callers wait until there is room.
const MAX_QUEUED_JOBS: usize = 64;

/// The number of pages in the write-ahead log from which the thread copies them back. It is SQLite's default.
const COPY_BACK_PAGES: u32 = 1000;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// A connection with its own thread. When the worker is dropped, the thread does all earlier jobs and ends.
pub struct Worker {
    jobs: mpsc::Sender<Job>,
    /// The thread owns the state as long as jobs can arrive, so that the connection is never closed on another thread.
    shared: Weak<Shared>,
}

struct Shared {
    db: Mutex<Connection>,
    /// The number of jobs that the thread has not done yet.
    pending: AtomicUsize,
    wal: Wal,
    /// The time for which the thread waits for other processes.
    busy_timeout: Duration,
}

impl Worker {
    pub fn start(name: &str, mut db: Connection, busy_timeout: Duration) -> Result<Self, StoreError> {
        let (jobs, mut queue) = mpsc::channel::<Job>(MAX_QUEUED_JOBS);
        let wal = Wal::watch(&mut db).map_err(StoreError::unavailable)?;
        db.busy_timeout(Duration::ZERO).map_err(StoreError::unavailable)?;
        let shared = Arc::new(Shared { db: Mutex::new(db), pending: AtomicUsize::new(0), wal, busy_timeout });
        let weak = Arc::downgrade(&shared);
        let work = move || {
            while let Some(job) = queue.blocking_recv() {
                shared.run_job(job);
                shared.pending.fetch_sub(1, Ordering::Release);
            }
        };
        thread::Builder::new().name(name.to_owned()).spawn(work).map_err(StoreError::unavailable)?;
        Ok(Self { jobs, shared: weak })
    }

    /// Runs `job` on the thread, even if the caller no longer waits. Fails if the job fails or panics.
    pub fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection) -> Result<T, DbError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        Box::pin(async move {
            let (sender, receiver) = oneshot::channel();
            let job: Job = Box::new(move |db| {
                // The caller may no longer wait.
                let _ = sender.send(job(db));
            });
            let panicked = || StoreError::unavailable("the thread of SQLite's file panicked");
            let permit = self.jobs.reserve().await.map_err(|_| panicked())?;
            self.send(permit, job);
            Ok(receiver.await.map_err(|_| panicked())??)
        })
    }

    /// Runs `job` on the current thread, if it need not wait for the worker's thread, another process or the disk. Otherwise
    /// changes nothing and returns `None`; then use [`Worker::run`].
    pub fn try_run<T>(&self, job: impl FnOnce(&mut Connection) -> Result<T, DbError>) -> Option<Result<T, StoreError>> {
        let shared = self.shared.upgrade()?;
        if shared.pending.load(Ordering::Acquire) > 0 || shared.wal.is_next_synced() {
            return None;
        }
        let done = {
            let mut db = match shared.db.try_lock() {
                Ok(db) => db,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return None,
            };
            job(&mut db)
        };
        if shared.wal.is_long()
            && let Ok(permit) = self.jobs.try_reserve()
        {
            // The thread checks the length of the write-ahead log after each job, even an empty one.
            self.send(permit, Box::new(|_| {}));
        }
        match done {
            Err(DbError::Busy) => None,
            done => Some(done.map_err(StoreError::from)),
        }
    }

    fn send(&self, permit: mpsc::Permit<'_, Job>, job: Job) {
        if let Some(shared) = self.shared.upgrade() {
            shared.pending.fetch_add(1, Ordering::AcqRel);
        }
        permit.send(job);
    }
}

impl Shared {
    /// Runs a job on the worker's thread, where the job may wait.
    fn run_job(&self, job: Job) {
        let mut db = self.db.lock().unwrap_or_else(PoisonError::into_inner);
        // Neither call can fail, because SQLite only stores the number.
        let _ = db.busy_timeout(self.busy_timeout);
        // After a panic, the caller receives no result and fails. Unwinding has rolled the transaction back.
        let _ = catch_unwind(AssertUnwindSafe(|| job(&mut db)));
        let _ = db.busy_timeout(Duration::ZERO);
        if self.wal.is_long() {
            self.wal.copy_back(&db);
        }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Worker").finish_non_exhaustive()
    }
}

/// A connection's view of the write-ahead log. Clones share it.
#[derive(Clone)]
struct Wal {
    /// The number of pages after the last commit.
    pages: Arc<AtomicU32>,
    /// Set if the next commit may restart the write-ahead log. SQLite then waits until the log's beginning is on the disk.
    is_next_synced: Arc<AtomicBool>,
}

impl Wal {
    /// Turns SQLite's own copying off, and watches the commits of `db`.
    fn watch(db: &mut Connection) -> rusqlite::Result<Self> {
        let is_file = db.path().is_some_and(|path| !path.is_empty());
        let wal = Self { pages: Arc::default(), is_next_synced: Arc::new(AtomicBool::new(is_file)) };
        let watching = wal.clone();
        // This replaces SQLite's own hook, which would copy back.
        db.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
            watching.pages.store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            watching.is_next_synced.store(false, Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(wal)
    }

    fn is_long(&self) -> bool {
        self.pages.load(Ordering::Relaxed) >= COPY_BACK_PAGES
    }

    fn is_next_synced(&self) -> bool {
        self.is_next_synced.load(Ordering::Relaxed)
    }

    /// Copies back all pages that no connection reads, and leaves the rest for later. Waits for the disk, but not for other
    /// connections.
    fn copy_back(&self, db: &Connection) {
        self.pages.store(0, Ordering::Relaxed);
        let sql = "PRAGMA wal_checkpoint(PASSIVE)";
        let copied = db.query_row(sql, [], |row| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)));
        // After a failure, the thread tries again after the next commit, when the write-ahead log is longer.
        if let Ok((pages, copied)) = copied {
            self.is_next_synced.store(pages == copied, Ordering::Relaxed);
        }
    }
}
