//! Stores to check, each empty and gone afterwards.

use std::{
    env,
    io::Write as _,
    path::PathBuf,
    process,
    sync::{
        Arc, Once,
        atomic::{AtomicU32, Ordering},
    },
};

use tool_runtime::store::{MemoryStore, Store};
use tool_stores::{PostgresOptions, PostgresStore, SqliteStore};

/// Two handles of one store.
pub(crate) struct Stores {
    pub(crate) one: Arc<dyn Store>,
    pub(crate) other: Arc<dyn Store>,
}

impl Stores {
    pub(crate) fn memory() -> Self {
        let one: Arc<dyn Store> = Arc::new(MemoryStore::new());
        Self { other: Arc::clone(&one), one }
    }

    pub(crate) fn sqlite_memory() -> Self {
        let one: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().unwrap());
        Self { other: Arc::clone(&one), one }
    }

    /// Now this handle, now the other.
    pub(crate) fn nth(&self, number: usize) -> Arc<dyn Store> {
        Arc::clone(if number.is_multiple_of(2) { &self.one } else { &self.other })
    }
}

fn unique() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("tool_test_{}_{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A file of SQLite.
pub(crate) struct File {
    dir: PathBuf,
}

impl File {
    pub(crate) fn new() -> Self {
        let dir = env::temp_dir().join(unique());
        std::fs::create_dir_all(&dir).unwrap();
        Self { dir }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.join("runs.db")
    }

    pub(crate) fn stores(&self) -> Stores {
        let open = || Arc::new(SqliteStore::open(self.path()).unwrap());
        Stores { one: open(), other: open() }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// A schema in PostgreSQL.
pub(crate) struct Schema {
    pub(crate) url: String,
    pub(crate) name: String,
}

impl Schema {
    /// `None`, and a line that says so, where no server is named.
    pub(crate) fn new() -> Option<Self> {
        static SKIPPED: Once = Once::new();
        match env::var("DATABASE_URL") {
            Ok(url) => Some(Self { url, name: unique() }),
            Err(_) => {
                // Past the test runner, which shows nothing that a passing test prints.
                SKIPPED.call_once(|| {
                    let text = "SKIPPED: every test with PostgreSQL, because DATABASE_URL is not set; \
                                `scripts/postgres cargo test …` starts a server\n";
                    std::io::stderr().write_all(text.as_bytes()).unwrap();
                });
                None
            }
        }
    }

    pub(crate) async fn open(&self) -> PostgresStore {
        PostgresOptions::new().schema(&self.name).connections(4).connect(&self.url).await.unwrap()
    }

    pub(crate) async fn stores(&self) -> Stores {
        Stores { one: Arc::new(self.open().await), other: Arc::new(self.open().await) }
    }

    pub(crate) async fn sql(&self, sql: &str) {
        let (client, connection) = tokio_postgres::connect(&self.url, tokio_postgres::NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.batch_execute(sql).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
    }

    pub(crate) async fn remove(&self) {
        self.sql(&format!("SET client_min_messages = warning; DROP SCHEMA IF EXISTS {} CASCADE", self.name)).await;
    }
}
