//! Runs in PostgreSQL.

mod error;
#[cfg(feature = "sealed")]
mod nonces;
mod pool;
mod query;
mod schema;
mod sql;
mod text;

use std::{fmt, time::Duration};

use deadpool_postgres::Pool;
use futures_util::future::BoxFuture;

use error::Broken;
use sql::Statements;
use tool_runtime::run::{RunId, Time};
use tool_runtime::store::{Append, Lease, Record, Store, StoreError, Stored, Waiting, WaitingItem};

/// Runs in PostgreSQL (12 or later), which any number of processes and machines may use at a time.
///
/// Each method is one statement. A lost connection is replaced by another, and what was asked is tried again once.
///
/// With the feature `sealed`, it is also a nonce store: it remembers which sealed runs were opened.
///
/// The address is a URL such as `postgres://user:password@host:5432/database?sslmode=require`.
///
/// | `sslmode` | |
/// |---|---|
/// | `disable` | no TLS |
/// | `prefer`, or nothing | TLS if the server offers it and the feature `postgres-tls` is on; none to this machine |
/// | `require` | TLS; refused without the feature `postgres-tls` |
///
/// Where there is TLS, the server's certificate is checked: against the authorities that the system trusts, or those in
/// the file that the environment variable `SSL_CERT_FILE` names. Other modes are refused.
#[derive(Clone)]
pub struct PostgresStore {
    pool: Pool,
    sql: std::sync::Arc<Statements>,
    /// The identity of the schema.
    #[cfg(feature = "sealed")]
    id: std::sync::Arc<str>,
}

/// How a PostgreSQL server is used.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    schema: String,
    connections: usize,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self { schema: "tool_runtime".to_owned(), connections: 10 }
    }
}

impl PostgresOptions {
    /// The schema `tool_runtime`, and up to ten connections.
    pub fn new() -> Self {
        Self::default()
    }

    /// The schema with the tables: up to 63 ASCII letters, digits and `_`. It is made if it is not there.
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// How many connections there are at most; at least one.
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// Connects, and makes the tables if they are not there.
    ///
    /// Fails when the address is not understood or asks for what is not supported, the server cannot be reached, or a
    /// newer version of this program made the tables.
    pub async fn connect(&self, url: &str) -> Result<PostgresStore, StoreError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !(1..=63).contains(&self.schema.len()) || !self.schema.chars().all(is_plain) {
            let name = self.schema.escape_debug();
            let text = format!("`{name}` is no name for a schema: it must be 1 to 63 letters, digits and `_`");
            return Err(StoreError::unavailable(text));
        }
        let pool = pool::pool(url, self.connections)?;
        let mut db = pool::connection(&pool).await?;
        schema::migrate(&mut db, &self.schema).await?;
        drop(db);
        let sql = Statements::new(&self.schema);
        #[cfg(feature = "sealed")]
        let id = nonces::identity(&pool, &sql).await?.into();
        Ok(PostgresStore {
            pool,
            sql: sql.into(),
            #[cfg(feature = "sealed")]
            id,
        })
    }
}

impl PostgresStore {
    /// The store in the schema `tool_runtime` of the database at `url`.
    ///
    /// Fails when the address is not understood or asks for what is not supported, the server cannot be reached, or a
    /// newer version of this program made the tables.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        PostgresOptions::new().connect(url).await
    }
}

impl fmt::Debug for PostgresStore {
    // Not the pool's own, which knows the password.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("PostgresStore").field("pool", &self.pool.status()).finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Once more with another connection, if the first was lost: for what may be done twice.
    async fn again<T, F: Future<Output = Result<T, Broken>>>(&self, ask: impl Fn() -> F) -> Result<T, StoreError> {
        match ask().await {
            Err(Broken::Lost(_)) => {
                self.forget();
                Ok(ask().await?)
            }
            Err(Broken::Raced) => Ok(ask().await?),
            other => Ok(other?),
        }
    }

    /// Closes the connections that nobody uses: what cost one of them may have cost them all, and none knows it yet.
    fn forget(&self) {
        self.pool.retain(|_, _| false);
    }
}

impl Store for PostgresStore {
    fn append<'a>(&'a self, run: &'a RunId, append: Append) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { Ok(self.add_once(run, &append).await?) })
    }

    fn load<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<Stored>, StoreError>> {
        Box::pin(self.again(move || self.stored(run)))
    }

    fn read<'a>(&'a self, run: &'a RunId, rev: u64) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        Box::pin(self.again(move || self.records(run, rev)))
    }

    fn snapshot<'a>(&'a self, run: &'a RunId, rev: u64, text: String) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.again(|| self.keep(run, rev, &text)).await })
    }

    fn lease<'a>(
        &'a self,
        run: &'a RunId,
        worker: &'a str,
        now: Time,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        Box::pin(self.again(move || self.take(run, worker, now, ttl)))
    }

    fn release<'a>(&'a self, run: &'a RunId, lease: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.again(move || self.give_back(run, lease.token)))
    }

    fn waiting<'a>(&'a self, filter: &'a Waiting) -> BoxFuture<'a, Result<Vec<WaitingItem>, StoreError>> {
        Box::pin(self.again(move || self.items(filter)))
    }

    fn due(&self, now: Time, limit: usize) -> BoxFuture<'_, Result<Vec<RunId>, StoreError>> {
        Box::pin(self.again(move || self.runs(now, limit)))
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        // Not again: the second time, there would be none.
        Box::pin(async move { Ok(self.remove(run).await?) })
    }
}
