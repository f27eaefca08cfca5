//! Stores for tests, empty at first and removed afterwards.

use std::{
    env,
    io::Write as _,
    path::PathBuf,
    process,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tool_runtime::{
    run::Timestamp,
    store::{MemoryStore, Store},
};
use tool_stores::{PostgresOptions, PostgresStore, SqliteStore};

/// Two handles of the same store.
pub struct Stores {
    /// The handle of one process.
    pub one: Arc<dyn Store>,
    /// The handle of another process.
    pub other: Arc<dyn Store>,
    /// The schema, if the clock of its database judges leases.
    schema: Option<Schema>,
}

impl Stores {
    /// Creates the two handles of a store whose callers' clocks judge leases.
    pub fn of(one: Arc<dyn Store>, other: Arc<dyn Store>) -> Self {
        Self { one, other, schema: None }
    }

    /// Creates two handles of a store in memory.
    pub fn memory() -> Self {
        let one: Arc<dyn Store> = Arc::new(MemoryStore::new());
        Self::of(Arc::clone(&one), one)
    }

    /// Creates two handles of an SQLite store in memory.
    pub fn sqlite_memory() -> Self {
        let one: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().unwrap());
        Self::of(Arc::clone(&one), one)
    }

    /// Lets time pass for leases, and returns the callers' time after it. A test cannot set the clock of a database, so this
    /// moves its leases into the past.
    pub async fn pass(&self, now: Timestamp, time: Duration) -> Timestamp {
        if let Some(schema) = &self.schema {
            schema.pass(time).await;
        }
        now.saturating_add(time)
    }

    /// Returns one of the handles, alternating with `number`.
    pub fn nth(&self, number: usize) -> Arc<dyn Store> {
        Arc::clone(if number.is_multiple_of(2) { &self.one } else { &self.other })
    }
}

fn unique_name() -> String {
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
        let dir = env::temp_dir().join(unique_name());
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
        Stores::of(open(), open())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// A schema in PostgreSQL.
#[derive(Clone)]
pub struct Schema {
    /// The URL of the server.
    pub url: String,
    /// The name of the schema.
    pub name: String,
    /// The URL of a pooler in front of the server, if stores use one.
    pub pooler: Option<String>,
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
        Self { url, name: unique_name(), pooler: None }
    }

    /// Chooses a unique schema name on the same server, for stores behind the pooler of `POOLER_URL`. `mode` is `transaction` or
    /// `session`. Returns `None`, and prints that the test is left out, if there is no pooler.
    pub fn pooled(mode: &str) -> Option<Self> {
        let Ok(url) = env::var("POOLER_URL") else {
            let test = std::thread::current();
            let name = test.name().unwrap_or("a test");
            // Printed past the harness, which hides what a test prints when it passes.
            let _ = writeln!(
                std::io::stderr(),
                "{name} is left out: it needs a pooler, which `scripts/postgres cargo test …` starts"
            );
            return None;
        };
        Some(Self { pooler: Some(format!("{url}/{mode}")), ..Self::new() })
    }

    /// Returns the URL of the server under which connections have the name of the schema.
    pub fn named_url(&self) -> String {
        let mark = if self.url.contains('?') { '&' } else { '?' };
        format!("{}{mark}application_name={}", self.url, self.name)
    }

    /// Returns the ids of the database's processes for the connections of [`Self::named_url`].
    pub async fn processes(&self) -> Vec<i32> {
        let (client, connection) = tokio_postgres::connect(&self.url, tokio_postgres::NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        let query = "SELECT pid FROM pg_stat_activity WHERE application_name = $1";
        let found = client.query(query, &[&self.name]).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
        found.iter().map(|row| row.get(0)).collect()
    }

    /// Cuts the connections of [`Self::named_url`].
    pub async fn cut(&self) {
        let of = "FROM pg_stat_activity WHERE application_name";
        self.sql(&format!("SELECT pg_terminate_backend(pid) {of} = '{}'", self.name)).await;
    }

    /// Opens a store in the schema. Behind a pooler, notifications take the direct way.
    pub async fn open(&self) -> PostgresStore {
        let options = PostgresOptions::new().schema(&self.name).max_connections(4);
        match &self.pooler {
            Some(pooler) => options.notifications(&self.url).connect(pooler).await.unwrap(),
            None => options.connect(&self.url).await.unwrap(),
        }
    }

    /// Opens two stores in the schema.
    pub async fn stores(&self) -> Stores {
        let (one, other) = (Arc::new(self.open().await), Arc::new(self.open().await));
        Stores { one, other, schema: Some(self.clone()) }
    }

    /// Moves all leases into the past by `time`, as if that time had passed.
    pub async fn pass(&self, time: Duration) {
        let (name, millis, forever) = (&self.name, time.as_millis(), i64::MAX);
        let until = format!("CASE WHEN until < {forever} THEN until - {millis} ELSE until END");
        self.sql(&format!("UPDATE {name}.runs SET until = {until}, taken = taken - {millis} WHERE taken > 0")).await;
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
