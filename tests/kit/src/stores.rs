//! Stores for tests, empty at first and removed afterwards.

use std::{
    env,
    path::PathBuf,
    process,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use tool_runtime::store::{MemoryStore, Store};
use tool_stores::{PostgresOptions, PostgresStore, SqliteStore};

/// Two handles of the same store.
pub struct Stores {
    /// The handle of one process.
    pub one: Arc<dyn Store>,
    /// The handle of another process.
    pub other: Arc<dyn Store>,
}

impl Stores {
    /// Creates two handles of a store in memory.
    pub fn memory() -> Self {
        let one: Arc<dyn Store> = Arc::new(MemoryStore::new());
        Self { other: Arc::clone(&one), one }
    }

    /// Creates two handles of an SQLite store in memory.
    pub fn sqlite_memory() -> Self {
        let one: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().unwrap());
        Self { other: Arc::clone(&one), one }
    }

    /// Returns one of the handles, alternating with `number`.
    pub fn nth(&self, number: usize) -> Arc<dyn Store> {
        Arc::clone(if number.is_multiple_of(2) { &self.one } else { &self.other })
    }
}

fn unique() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("tool_test_{}_{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// An SQLite file in its own folder.
pub struct File {
    dir: PathBuf,
}

impl File {
    /// Creates the folder.
    pub fn new() -> Self {
        let dir = env::temp_dir().join(unique());
        std::fs::create_dir_all(&dir).unwrap();
        Self { dir }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> PathBuf {
        self.dir.join("runs.db")
    }

    /// Opens the file twice.
    pub fn stores(&self) -> Stores {
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
pub struct Schema {
    /// The URL of the server.
    pub url: String,
    /// The name of the schema.
    pub name: String,
}

impl Schema {
    /// Chooses a unique schema name on the server of `DATABASE_URL`.
    ///
    /// # Panics
    ///
    /// If the variable is not set.
    pub fn new() -> Self {
        let url = env::var("DATABASE_URL").unwrap_or_else(|_| {
            panic!("this test needs PostgreSQL: `scripts/postgres cargo test …` starts a server and sets DATABASE_URL")
        });
        Self { url, name: unique() }
    }

    /// Opens a store in the schema.
    pub async fn open(&self) -> PostgresStore {
        PostgresOptions::new().schema(&self.name).connections(4).connect(&self.url).await.unwrap()
    }

    /// Opens two stores in the schema.
    pub async fn stores(&self) -> Stores {
        Stores { one: Arc::new(self.open().await), other: Arc::new(self.open().await) }
    }

    /// Executes statements on a separate connection.
    pub async fn sql(&self, sql: &str) {
        let (client, connection) = tokio_postgres::connect(&self.url, tokio_postgres::NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.batch_execute(sql).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
    }

    /// Removes the schema and its contents.
    pub async fn remove(&self) {
        self.sql(&format!("SET client_min_messages = warning; DROP SCHEMA IF EXISTS {} CASCADE", self.name)).await;
    }
}
