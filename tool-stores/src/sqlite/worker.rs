//! A connection, a thread of its own for what has to wait, and the write-ahead log.
//!
//! The log has to be copied back into the file now and then. SQLite would do that in the middle of whatever commit
//! comes next, and wait for the disk there; the thread does it between two jobs.

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

use super::{Broken, StoreError};

/// How many jobs may wait; whoever comes later waits to be let in.
const QUEUE: usize = 64;

/// From how many pages on the log is copied back: SQLite's own number.
const LONG: u32 = 1000;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// A connection with a thread of its own, which ends when this is dropped and everything asked before is done.
pub struct Worker {
    jobs: mpsc::Sender<Job>,
    /// The thread has it for as long as it may be asked, so that the connection is never closed here.
    shared: Weak<Shared>,
}

struct Shared {
    db: Mutex<Connection>,
    /// Jobs that the thread was given and has not done.
    left: AtomicUsize,
    wal: Wal,
    /// How long the thread waits for other processes.
    patience: Duration,
}

impl Worker {
    pub fn start(name: &str, mut db: Connection, patience: Duration) -> Result<Self, StoreError> {
        let (jobs, mut queue) = mpsc::channel::<Job>(QUEUE);
        let wal = Wal::watch(&mut db).map_err(StoreError::unavailable)?;
        db.busy_timeout(Duration::ZERO).map_err(StoreError::unavailable)?;
        let shared = Arc::new(Shared { db: Mutex::new(db), left: AtomicUsize::new(0), wal, patience });
        let weak = Arc::downgrade(&shared);
        let work = move || {
            while let Some(job) = queue.blocking_recv() {
                shared.work(job);
                shared.left.fetch_sub(1, Ordering::Release);
            }
        };
        thread::Builder::new().name(name.to_owned()).spawn(work).map_err(StoreError::unavailable)?;
        Ok(Self { jobs, shared: weak })
    }

    /// Does `job` on the thread. It is done even if nobody waits for it any more.
    pub fn ask<T: Send + 'static>(
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
            let place = self.jobs.reserve().await.map_err(|_| gone())?;
            self.give(place, job);
            Ok(take.await.map_err(|_| gone())??)
        })
    }

    /// Does `job` here, if that takes no waiting: neither for the thread, nor for another process, nor for the disk.
    /// `None` if it would, and then nothing was done; [`Worker::ask`] waits.
    pub fn at_once<T>(&self, job: impl FnOnce(&mut Connection) -> Result<T, Broken>) -> Option<Result<T, StoreError>> {
        let shared = self.shared.upgrade()?;
        if shared.left.load(Ordering::Acquire) > 0 || shared.wal.is_next_synced() {
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
            && let Ok(place) = self.jobs.try_reserve()
        {
            // The thread looks at the log after each job.
            self.give(place, Box::new(|_| {}));
        }
        match done {
            Err(Broken::Busy) => None,
            done => Some(done.map_err(StoreError::from)),
        }
    }

    fn give(&self, place: mpsc::Permit<'_, Job>, job: Job) {
        if let Some(shared) = self.shared.upgrade() {
            shared.left.fetch_add(1, Ordering::AcqRel);
        }
        place.send(job);
    }
}

impl Shared {
    /// On the thread: may wait.
    fn work(&self, job: Job) {
        let mut db = self.db.lock().unwrap_or_else(PoisonError::into_inner);
        // Neither can fail: SQLite only notes the number.
        let _ = db.busy_timeout(self.patience);
        // Whoever asked sees that no answer comes; the transaction was rolled back on the way out.
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

/// The state of the log, as far as a connection knows it. Clones share it.
#[derive(Clone)]
struct Wal {
    /// How many pages it had after the last commit.
    pages: Arc<AtomicU32>,
    /// True if the next commit may be the first of a new log, whose beginning SQLite waits to see on the disk.
    is_next_synced: Arc<AtomicBool>,
}

impl Wal {
    /// Copies nothing back by itself any more, and watches the commits of `db`.
    fn watch(db: &mut Connection) -> rusqlite::Result<Self> {
        let is_file = db.path().is_some_and(|path| !path.is_empty());
        let wal = Self { pages: Arc::default(), is_next_synced: Arc::new(AtomicBool::new(is_file)) };
        let watching = wal.clone();
        // In place of SQLite's own hook, which is the one that copies back.
        db.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages| {
            watching.pages.store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            watching.is_next_synced.store(false, Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(wal)
    }

    fn is_long(&self) -> bool {
        self.pages.load(Ordering::Relaxed) >= LONG
    }

    fn is_next_synced(&self) -> bool {
        self.is_next_synced.load(Ordering::Relaxed)
    }

    /// Copies as much back as nobody reads. Waits for the disk, not for others: what is left, is copied another time.
    fn copy_back(&self, db: &Connection) {
        self.pages.store(0, Ordering::Relaxed);
        let sql = "PRAGMA wal_checkpoint(PASSIVE)";
        let copied = db.query_row(sql, [], |row| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)));
        // If it did not work, the log is longer after the next commit, and this is tried again.
        if let Ok((pages, copied)) = copied {
            self.is_next_synced.store(pages == copied, Ordering::Relaxed);
        }
    }
}
