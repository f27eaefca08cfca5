//! The store in an SQLite file.

mod schema;
mod sql;
mod worker;

use std::{
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use futures_util::future::BoxFuture;

#[cfg(feature = "sealed")]
use crate::sealed::NonceStore;
use schema::Location;
use tool_runtime::run::{Principal, RunId, Timestamp};
use tool_runtime::store::{Append, Lease, Record, RunItem, Store, StoreError, StoredRun, WaitingFilter, WaitingItem};
use worker::Worker;

/// A store in an SQLite file, which several processes of one machine can use at the same time.
///
/// Each store has two threads, one for writes and one for reads. An append is one transaction. With [`Durability::Process`], a
/// short append that need not wait runs on the thread that polls it, and takes some tens of microseconds. The file must be on a
/// local disk, because locks over a network are not reliable.
///
/// With the feature `sealed`, the store is also a nonce store, which remembers the sealed runs that were opened.
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
    /// A worker of its own, so that a long read does not delay a short append; `None` for a store in memory.
    reader: Option<Worker>,
    durability: Durability,
    /// The identity of the file.
    #[cfg(feature = "sealed")]
    id: String,
}

/// The maximum size of an append that runs on the polling thread, in bytes.
const MAX_INLINE_BYTES: usize = 64 * 1024;

/// The options of a store in an SQLite file.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    durability: Durability,
    busy_timeout: Duration,
}

/// The durability of appends when the machine loses power. If only the process dies, no append is lost. The file always stays
/// consistent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// The last appends may be lost. If one of them recorded the start of a call, the call may be started again.
    #[default]
    Process,
    /// No append is lost. Each append waits for the disk, which takes several times as long.
    Machine,
}

impl Durability {
    /// Returns the value of SQLite's setting `synchronous`.
    fn synchronous(self) -> &'static str {
        match self {
            Self::Process => "NORMAL",
            Self::Machine => "FULL",
        }
    }
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { durability: Durability::default(), busy_timeout: Duration::from_secs(5) }
    }
}

impl SqliteOptions {
    /// Creates the default options: [`Durability::Process`], and a busy timeout of five seconds.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the durability of appends when the machine loses power.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets the time for which an operation waits for other processes before it fails, at most 24 days.
    pub fn busy_timeout(mut self, busy_timeout: Duration) -> Self {
        // SQLite counts it in milliseconds, as an `i32`.
        self.busy_timeout = busy_timeout.min(Duration::from_hours(24 * 24));
        self
    }

    /// Opens the file, and creates it if it does not exist. Blocks for some milliseconds.
    ///
    /// Fails when the file cannot be created or read, is not a store, or was written by a newer version of this program.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<SqliteStore, StoreError> {
        let path: PathBuf = path.as_ref().to_owned();
        let open = || schema::open(Location::File(&path), self);
        let (to_write, to_read) = (open()?, open()?);
        Ok(SqliteStore {
            #[cfg(feature = "sealed")]
            id: read_id(&to_read)?,
            writer: Worker::start("runs-write", to_write, self.busy_timeout)?,
            reader: Some(Worker::start("runs-read", to_read, self.busy_timeout)?),
            durability: self.durability,
        })
    }
}

impl SqliteStore {
    /// Opens the store in the file at `path`, and creates the file if it does not exist. Blocks for some milliseconds.
    ///
    /// Fails when the file cannot be created or read, is not a store, or was written by a newer version of this program.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        SqliteOptions::new().open(path)
    }

    /// Creates a store in memory, for tests. Its contents are lost when it is dropped. Fails when its thread cannot be started.
    pub fn in_memory() -> Result<Self, StoreError> {
        let options = SqliteOptions::new();
        let db = schema::open(Location::Memory, &options)?;
        Ok(Self {
            #[cfg(feature = "sealed")]
            id: read_id(&db)?,
            writer: Worker::start("runs", db, options.busy_timeout)?,
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
            let is_short = append.text.len() <= MAX_INLINE_BYTES && self.durability == Durability::Process;
            if is_short && let Some(done) = self.writer.try_run(|db| sql::append(db, run, &append)) {
                return done;
            }
            let run = run.clone();
            self.writer.run(move |db| sql::append(db, &run, &append)).await
        })
    }

    fn load<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<StoredRun>, StoreError>> {
        let run = run.clone();
        self.reader().run(move |db| sql::load(db, &run))
    }

    fn read<'a>(&'a self, run: &'a RunId, rev: u64) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        let run = run.clone();
        self.reader().run(move |db| sql::read(db, &run, rev))
    }

    fn save_snapshot<'a>(&'a self, run: &'a RunId, rev: u64, text: String) -> BoxFuture<'a, Result<(), StoreError>> {
        let run = run.clone();
        self.writer.run(move |db| sql::save_snapshot(db, &run, rev, &text))
    }

    fn lease<'a>(
        &'a self,
        run: &'a RunId,
        worker: &'a str,
        now: Timestamp,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        let (run, worker) = (run.clone(), worker.to_owned());
        self.writer.run(move |db| sql::lease(db, &run, worker, now, ttl))
    }

    fn release<'a>(&'a self, run: &'a RunId, lease: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        let (run, token) = (run.clone(), lease.token);
        self.writer.run(move |db| sql::release(db, &run, token))
    }

    fn waiting<'a>(&'a self, filter: &'a WaitingFilter) -> BoxFuture<'a, Result<Vec<WaitingItem>, StoreError>> {
        let filter = filter.clone();
        self.reader().run(move |db| sql::waiting(db, &filter))
    }

    fn due(&self, now: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<RunId>, StoreError>> {
        self.reader().run(move |db| sql::due(db, now, limit))
    }

    fn list<'a>(&'a self, owner: &'a Principal, page: Range<usize>) -> BoxFuture<'a, Result<Vec<RunItem>, StoreError>> {
        let owner = owner.clone();
        self.reader().run(move |db| sql::list(db, &owner, &page))
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        let run = run.clone();
        self.writer.run(move |db| sql::delete(db, &run))
    }
}

/// The nonces of sealed runs are in the same file. A nonce is on the disk before the run is opened, whatever the store's
/// [`Durability`], because a lost nonce could be spent again.
#[cfg(feature = "sealed")]
impl NonceStore for SqliteStore {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }

    fn spend<'a>(
        &'a self,
        nonce: &'a str,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (nonce, durability) = (nonce.to_owned(), self.durability);
        self.writer.run(move |db| {
            db.pragma_update(None, "synchronous", Durability::Machine.synchronous())?;
            let spent = sql::spend(db, &nonce, expires, now);
            db.pragma_update(None, "synchronous", durability.synchronous())?;
            spent
        })
    }
}

/// Reads the file's identity.
#[cfg(feature = "sealed")]
fn read_id(db: &rusqlite::Connection) -> Result<String, StoreError> {
    db.query_row("SELECT id FROM identity", [], |row| row.get(0)).map_err(StoreError::unavailable)
}

/// The error of an operation on the file.
#[derive(Debug)]
enum DbError {
    /// Another connection has locked the file.
    Busy,
    Other(StoreError),
}

impl From<StoreError> for DbError {
    fn from(error: StoreError) -> Self {
        Self::Other(error)
    }
}

impl From<rusqlite::Error> for DbError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseBusy) => Self::Busy,
            _ => Self::Other(StoreError::unavailable(error)),
        }
    }
}

impl From<DbError> for StoreError {
    fn from(error: DbError) -> Self {
        match error {
            DbError::Busy => Self::unavailable("another process has kept SQLite's file locked for too long; try again"),
            DbError::Other(error) => error,
        }
    }
}
