//! Runs in a file of SQLite.

mod schema;
mod sql;
mod worker;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use futures_util::future::BoxFuture;

#[cfg(feature = "sealed")]
use crate::sealed::NonceStore;
use schema::Place;
use tool_runtime::run::{RunId, Time};
use tool_runtime::store::{Append, Lease, Record, Store, StoreError, Stored, Waiting, WaitingItem};
use worker::Worker;

/// Runs in a file of SQLite, which several processes of one machine may use at a time.
///
/// Each store has two threads of its own: one writes, the other reads meanwhile. An append is one transaction; a short
/// one that needs to wait for nothing, which is most, takes place on the thread that polls it, for some tens of
/// microseconds. The file must be on a disk of this machine: locks over a network cannot be relied on.
///
/// With the feature `sealed`, it is also a nonce store: it remembers which sealed runs were opened.
///
/// ```
/// # fn main() -> Result<(), tool_runtime::store::StoreError> {
/// # let dir = std::env::temp_dir().join(format!("tool-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir).unwrap();
/// # let path = dir.join("runs.db");
/// use tool_stores::SqliteStore;
///
/// let store = SqliteStore::open(path)?;
/// # drop(store);
/// # std::fs::remove_dir_all(dir).unwrap();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SqliteStore {
    writer: Worker,
    /// Apart, so that a long read does not keep a short append waiting.
    reader: Option<Worker>,
    durability: Durability,
    /// The identity of the file.
    #[cfg(feature = "sealed")]
    id: String,
}

/// Up to how many bytes are written on the thread that polls the append.
const SHORT: usize = 64 * 1024;

/// How a file of SQLite is used.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    durability: Durability,
    busy: Duration,
}

/// The appends that are still there after the machine lost power. A process that dies loses nothing in either
/// case, and the file stays whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// Those of the last moments may be gone. A call that was started then is not known to be started, and may be
    /// started again.
    #[default]
    Process,
    /// All of them: each append waits for the disk, which takes several times as long.
    Machine,
}

impl Durability {
    /// SQLite's word for it.
    fn synchronous(self) -> &'static str {
        match self {
            Self::Process => "NORMAL",
            Self::Machine => "FULL",
        }
    }
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { durability: Durability::default(), busy: Duration::from_secs(5) }
    }
}

impl SqliteOptions {
    /// [`Durability::Process`], and five seconds of patience.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets what is still there after the machine lost power.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets how long something waits for other processes before it fails.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.busy = patience;
        self
    }

    /// Opens the file, or makes it. Blocks for some milliseconds.
    ///
    /// Fails when the file cannot be made or read, is not a store's, or was written by a newer version of this program.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<SqliteStore, StoreError> {
        let path: PathBuf = path.as_ref().to_owned();
        let open = || schema::open(Place::File(&path), self);
        let (to_write, to_read) = (open()?, open()?);
        Ok(SqliteStore {
            #[cfg(feature = "sealed")]
            id: id(&to_read)?,
            writer: Worker::start("runs-write", to_write, self.busy)?,
            reader: Some(Worker::start("runs-read", to_read, self.busy)?),
            durability: self.durability,
        })
    }
}

impl SqliteStore {
    /// The store in the file at `path`, which is made if it is not there. Blocks for some milliseconds.
    ///
    /// Fails when the file cannot be made or read, is not a store's, or was written by a newer version of this program.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        SqliteOptions::new().open(path)
    }

    /// A store that is gone when it is dropped: for tests.
    pub fn in_memory() -> Result<Self, StoreError> {
        let options = SqliteOptions::new();
        let db = schema::open(Place::Memory, &options)?;
        Ok(Self {
            #[cfg(feature = "sealed")]
            id: id(&db)?,
            writer: Worker::start("runs", db, options.busy)?,
            reader: None,
            durability: options.durability,
        })
    }

    fn reader(&self) -> &Worker {
        self.reader.as_ref().unwrap_or(&self.writer)
    }
}

impl Store for SqliteStore {
    fn append<'a>(&'a self, run: &'a RunId, append: Append) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let is_short = append.text.len() <= SHORT && self.durability == Durability::Process;
            if is_short && let Some(done) = self.writer.at_once(|db| sql::append(db, run, &append)) {
                return done;
            }
            let run = run.clone();
            self.writer.ask(move |db| sql::append(db, &run, &append)).await
        })
    }

    fn load<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<Stored>, StoreError>> {
        let run = run.clone();
        self.reader().ask(move |db| sql::load(db, &run))
    }

    fn read<'a>(&'a self, run: &'a RunId, rev: u64) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        let run = run.clone();
        self.reader().ask(move |db| sql::read(db, &run, rev))
    }

    fn snapshot<'a>(&'a self, run: &'a RunId, rev: u64, text: String) -> BoxFuture<'a, Result<(), StoreError>> {
        let run = run.clone();
        self.writer.ask(move |db| sql::snapshot(db, &run, rev, &text))
    }

    fn lease<'a>(
        &'a self,
        run: &'a RunId,
        worker: &'a str,
        now: Time,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        let (run, worker) = (run.clone(), worker.to_owned());
        self.writer.ask(move |db| sql::lease(db, &run, worker, now, ttl))
    }

    fn release<'a>(&'a self, run: &'a RunId, lease: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        let (run, token) = (run.clone(), lease.token);
        self.writer.ask(move |db| sql::release(db, &run, token))
    }

    fn waiting<'a>(&'a self, filter: &'a Waiting) -> BoxFuture<'a, Result<Vec<WaitingItem>, StoreError>> {
        let filter = filter.clone();
        self.reader().ask(move |db| sql::waiting(db, &filter))
    }

    fn due(&self, now: Time, limit: usize) -> BoxFuture<'_, Result<Vec<RunId>, StoreError>> {
        self.reader().ask(move |db| sql::due(db, now, limit))
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        let run = run.clone();
        self.writer.ask(move |db| sql::delete(db, &run))
    }
}

/// Remembers which sealed runs were opened, in the same file. A nonce is on the disk before the run is opened, whatever
/// the store's [`Durability`]: one that is lost with the power could be spent again.
#[cfg(feature = "sealed")]
impl NonceStore for SqliteStore {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }

    fn spend<'a>(&'a self, nonce: &'a str, expires: Time, now: Time) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (nonce, durability) = (nonce.to_owned(), self.durability);
        self.writer.ask(move |db| {
            db.pragma_update(None, "synchronous", Durability::Machine.synchronous())?;
            let spent = sql::spend(db, &nonce, expires, now);
            db.pragma_update(None, "synchronous", durability.synchronous())?;
            spent
        })
    }
}

/// Reads the identity of the file.
#[cfg(feature = "sealed")]
fn id(db: &rusqlite::Connection) -> Result<String, StoreError> {
    db.query_row("SELECT id FROM identity", [], |row| row.get(0)).map_err(StoreError::unavailable)
}

/// The reason why something with the file did not work.
#[derive(Debug)]
enum Broken {
    /// Another connection has it locked.
    Busy,
    Other(StoreError),
}

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Self {
        Self::Other(error)
    }
}

impl From<rusqlite::Error> for Broken {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseBusy) => Self::Busy,
            _ => Self::Other(StoreError::unavailable(error)),
        }
    }
}

impl From<Broken> for StoreError {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Busy => Self::unavailable("another process has kept SQLite's file locked for too long; try again"),
            Broken::Other(error) => error,
        }
    }
}
