//! The store in a PostgreSQL database.

mod address;
mod notify;
mod pool;
mod sql;
mod value;

use std::{fmt, ops::Range, sync::Arc, time::Duration};

use futures_util::{future::BoxFuture, stream::BoxStream};
use tokio::time::timeout;
use tokio_postgres::Row;

use crate::convert::{parse_waiting_item, signed, size, time, unsigned};
#[cfg(feature = "sealed")]
use crate::sealed::{NonceStore, expired_before, random_id};
use address::Address;
use notify::Notifications;
#[cfg(fuzzing)]
pub use notify::{Received, receive_notifications};
use pool::{Connections, DbError};
use sql::{escape_name, unescape_name};
use tool_runtime::run::{Principal, RunId, Timestamp};
use tool_runtime::store::{Append, Lease, Record, RunItem, Store, StoreError, StoredRun, WaitingFilter, WaitingItem};
use value::Values;

/// The kinds of rows of a loaded run.
const SNAPSHOT: i32 = 1;
const RECORD: i32 = 2;

/// A store in a PostgreSQL database (12 or later), which any number of processes and machines can use at the same time.
///
/// Each change is one statement. If the connection is lost, the store repeats all but deletions once, on a new connection.
///
/// The clock of the database judges leases, so the clocks of processes may differ. The store converts the times that it returns
/// to the caller's clock.
///
/// Decisions and other appends from outside reach the driver of a run by `NOTIFY`, and the driver's appends reach the processes
/// that follow the run. For this, the store keeps one more connection.
///
/// **Poolers.** Statements work behind a connection pooler, also one that gives each transaction another connection of the server:
/// pgbouncer in the mode `transaction`, and the pooled addresses of hosts. Notifications do not pass through such a pooler. Then
/// [`PostgresOptions::notifications`] sets an address that leads to the server itself. Without it, `connect` warns, and the store
/// polls ([`PostgresStore::has_notifications`]). In both cases, statements have no names, so the server plans each one again.
///
/// With the feature `sealed`, the store is also a nonce store, which remembers the sealed runs that were opened.
///
/// The address is a URL such as `postgres://user:password@host:5432/database?sslmode=require`.
///
/// | `sslmode` | |
/// |---|---|
/// | `disable` | no TLS |
/// | `allow`, `prefer`, or nothing | TLS if the server offers it and the feature `postgres-tls` is on; none to this machine |
/// | `require`, `verify-ca`, `verify-full`; `ssl=true` | TLS; refused without the feature `postgres-tls` |
///
/// With TLS, the store always checks the server's certificate and its name, against the authorities that the system trusts
/// (`sslrootcert=system`). If the environment variable `SSL_CERT_FILE` names a file, the authorities in it count instead.
///
/// In the addresses of hosts, `schema` and `connection_limit` set what [`PostgresOptions`] leaves unset. The store ignores settings
/// of other clients that do not matter here, such as `pgbouncer=true`. It refuses any other option, with the remedy.
#[derive(Clone)]
pub struct PostgresStore {
    connections: Arc<Connections>,
    /// The name of the schema, in quotes.
    schema: Arc<str>,
    /// `None` if the address delivers no notifications.
    notifications: Option<Arc<Notifications>>,
    /// Set if a connection leads to one session of the server, in which statements can have names.
    keeps_sessions: bool,
    /// The identity of the schema.
    #[cfg(feature = "sealed")]
    id: Arc<str>,
}

/// The default schema of the tables.
const SCHEMA: &str = "tool_runtime";

/// The default maximum number of connections for statements.
const MAX_CONNECTIONS: usize = 10;

/// The options of a store in a PostgreSQL database.
#[derive(Clone, Default)]
pub struct PostgresOptions {
    schema: Option<String>,
    connections: Option<usize>,
    statement_timeout: Option<Duration>,
    notifications: Option<String>,
}

impl fmt::Debug for PostgresOptions {
    // The second address may have a password.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { schema, connections, statement_timeout, .. } = self;
        out.debug_struct("PostgresOptions")
            .field("schema", schema)
            .field("connections", connections)
            .field("statement_timeout", statement_timeout)
            .finish_non_exhaustive()
    }
}

impl PostgresOptions {
    /// Creates the default options: the schema `tool_runtime`, and up to ten connections.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the schema for the tables: 1 to 63 ASCII letters, digits and `_`. The store creates a schema that does not exist.
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = Some(schema.into());
        self
    }

    /// Sets the maximum number of connections for statements, at least one. If a pooler gives fewer, the store uses those.
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.connections = Some(connections);
        self
    }

    /// Sets the maximum time for the response to a statement. After it, the store closes the connection, and repeats the statement
    /// once on a new one, unless it is a deletion. If PostgreSQL does not answer then, the operation fails with
    /// [`StoreError::Unavailable`]. [`connect`](Self::connect) waits six times as long for a lock of another process, and sixty
    /// times as long for an update of the tables. The default is ten seconds.
    pub fn statement_timeout(mut self, time: Duration) -> Self {
        self.statement_timeout = Some(time);
        self
    }

    /// Sets a second address of the same database, for the connection that receives notifications. It must lead to the server
    /// itself, or to a pooler that keeps sessions, because notifications do not pass through a pooler with transactions.
    ///
    /// ```no_run
    /// # async fn connect() -> Result<(), tool_runtime::store::StoreError> {
    /// use tool_stores::PostgresOptions;
    ///
    /// let direct = "postgres://app@db.example:5432/chats?sslmode=verify-full";
    /// let pooled = "postgres://app@db.example:6543/chats?sslmode=verify-full";
    /// let store = PostgresOptions::new().notifications(direct).connect(pooled).await?;
    /// assert!(store.has_notifications());
    /// # Ok(()) }
    /// ```
    pub fn notifications(mut self, url: impl Into<String>) -> Self {
        self.notifications = Some(url.into());
        self
    }

    /// Connects, and creates or updates the tables. Then sends itself a notification, and warns if it does not arrive within two
    /// seconds: as an event of `tracing`, or on standard error if the program has no subscriber.
    ///
    /// Fails when an address or an option is invalid or unsupported, when the server cannot be reached, or when the database
    /// is not in UTF-8. Also fails when a newer version of this crate created the tables.
    pub async fn connect(&self, url: &str) -> Result<PostgresStore, StoreError> {
        let address = Address::parse(url)?;
        let schema = self.schema.as_deref().or(address.schema.as_deref()).unwrap_or(SCHEMA);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !(1..=63).contains(&schema.len()) || !schema.chars().all(is_plain) {
            let name = schema.escape_debug();
            let text = format!("invalid schema name `{name}`: use 1 to 63 letters, digits and `_`");
            return Err(StoreError::unavailable(text));
        }
        let second = self.notifications.as_deref().map(Address::parse).transpose()?;
        let max = self.connections.or(address.connections).unwrap_or(MAX_CONNECTIONS);
        let connections = Connections::new(&address, max, self.statement_timeout.unwrap_or(pool::STATEMENT_TIMEOUT))?;
        let dial = pool::create_dial(second.as_ref().unwrap_or(&address))?;
        let mut db = connections.get().await?;
        sql::migrate(&mut db, schema, connections.statement_timeout).await?;
        let quoted = format!("\"{schema}\"");
        #[cfg(feature = "sealed")]
        let id: String = {
            let sql = sql::IDENTITY.replace('@', &quoted);
            let read = timeout(connections.statement_timeout, db.query_typed_one(&sql, &[])).await;
            let read = read.map_err(|_| StoreError::unavailable("PostgreSQL did not respond in time"))?;
            read.map_err(DbError::from)?.get(0)
        };
        drop(db);
        let delivered = notify::are_delivered(&dial, schema, &connections).await;
        let has_notifications = delivered == Ok(true);
        if !has_notifications {
            let warning = if second.is_some() { NO_NOTIFICATIONS_FROM_SECOND } else { NO_NOTIFICATIONS };
            let reason = delivered.err().map(|reason| format!(" (the connection failed: {reason})"));
            warn(&format!("{warning}{}", reason.unwrap_or_default()));
        }
        Ok(PostgresStore {
            connections: Arc::new(connections),
            schema: quoted.into(),
            notifications: has_notifications.then(|| Arc::new(Notifications::new(dial, schema))),
            // An address that delivers notifications keeps sessions. A second one shows that the first may not.
            keeps_sessions: has_notifications && second.is_none() && !address.is_pooler,
            #[cfg(feature = "sealed")]
            id: id.into(),
        })
    }
}

const NO_NOTIFICATIONS: &str = "PostgreSQL's address delivers no notifications, as behind a pooler with transactions; the store \
    polls, and passes no pieces of turns to other processes: set `PostgresOptions::notifications` to an address of the server itself";

const NO_NOTIFICATIONS_FROM_SECOND: &str = "the address of `PostgresOptions::notifications` delivers no notifications of the \
    store's database; the store polls, and passes no pieces of turns to other processes: set an address of the same database that \
    leads to the server itself, not to a pooler with transactions";

/// Warns the operator.
#[allow(clippy::print_stderr, reason = "without a subscriber, nobody would see the warning")]
fn warn(text: &str) {
    if tracing::dispatcher::has_been_set() {
        tracing::warn!("{text}");
    } else {
        eprintln!("tool-stores: {text}");
    }
}

impl PostgresStore {
    /// Connects to the store in the schema `tool_runtime` of the database at `url`, or in the schema that `url` names. Warns as
    /// [`PostgresOptions::connect`] does if the address delivers no notifications.
    ///
    /// Fails when the address or an option is invalid or unsupported, when the server cannot be reached, or when the database
    /// is not in UTF-8. Also fails when a newer version of this crate created the tables.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        PostgresOptions::new().connect(url).await
    }

    /// Returns whether the store receives notifications of other processes. If not, it polls, and followers in other processes
    /// see each turn of a model at its end.
    pub fn has_notifications(&self) -> bool {
        self.notifications.is_some()
    }
}

impl fmt::Debug for PostgresStore {
    // The pool's own `Debug` would show the password.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("PostgresStore")
            .field("pool", &self.connections.status())
            .field("has_notifications", &self.has_notifications())
            .finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Executes a statement that is safe to repeat, and repeats it once after a lost connection or a lost race.
    async fn query(&self, sql: &str, values: Values<'_>) -> Result<Vec<Row>, StoreError> {
        match self.query_once(sql, values).await {
            Err(DbError::Lost(_)) => {
                self.connections.close_idle();
                Ok(self.query_once(sql, values).await?)
            }
            Err(DbError::Raced) => Ok(self.query_once(sql, values).await?),
            other => Ok(other?),
        }
    }

    /// Executes a statement, in which `@` stands for the schema.
    async fn query_once(&self, sql: &str, values: Values<'_>) -> Result<Vec<Row>, DbError> {
        let (sql, db) = (sql.replace('@', &self.schema), self.connections.get().await?);
        let values: Vec<_> = values.iter().map(|value| value.typed()).collect();
        let response = async {
            if !self.keeps_sessions {
                return Ok(db.query_typed(&sql, &values).await?);
            }
            // The server plans a statement with a name once. An append without a name takes three times as long.
            let (values, types): (Vec<_>, Vec<_>) = values.into_iter().unzip();
            let statement = db.prepare_typed_cached(&sql, &types).await?;
            Ok(db.query(&statement, &values).await?)
        };
        let done = timeout(self.connections.statement_timeout, response).await;
        done.unwrap_or_else(|_| Err(self.connections.discard(db)))
    }

    /// Returns whether the log has exactly this append at its revision. An identical append of another process counts, too.
    async fn has_append(&self, run: &RunId, append: &Append) -> Result<bool, DbError> {
        let rows =
            self.query_once(sql::HAS, &[&escape_name(run.as_str()), &signed(append.expected), &append.text]).await?;
        Ok(!rows.is_empty())
    }

    async fn try_append(&self, run: &RunId, append: &Append) -> Result<(), DbError> {
        let Append { expected, count, text, lease, head } = append;
        let id = escape_name(run.as_str());
        let token = lease.as_ref().map(|lease| signed(lease.token));
        let opened: Vec<String> =
            head.opened.iter().map(|open| escape_name(&open.id.to_string()).into_owned()).collect();
        // A row that is opened again is overwritten, because one statement cannot delete and insert the same row.
        let closed = head.closed.iter().map(|id| escape_name(&id.to_string()).into_owned());
        let closed: Vec<String> = closed.filter(|id| !opened.contains(id)).collect();
        let since: Vec<i64> = head.opened.iter().map(|open| signed(open.opened_at.0)).collect();
        let bodies = head.opened.iter().map(serde_json::to_string);
        let bodies: Vec<String> = bodies.collect::<Result<_, _>>().map_err(StoreError::unavailable)?;
        let (mut principals, mut which) = (Vec::new(), Vec::<i32>::new());
        for (nth, open) in (1..).zip(&head.opened) {
            for principal in head.deciders(open) {
                principals.push(escape_name(principal.as_str()).into_owned());
                which.push(nth);
            }
        }
        // A run with a lease exists already.
        let first = if *expected == 0 && lease.is_none() { sql::CREATE } else { sql::UPDATE };
        let (rev, count, due) = (signed(*expected), signed(*count), head.due_at().map(|time| signed(time.0)));
        let owner = escape_name(head.owner.as_str());
        // Without notifications, this process does not know who follows the run.
        let is_notified = lease.is_none() || self.notifications.as_ref().is_none_or(|news| news.is_followed(&id));
        let (changed, title) = (head.changed.map(|time| signed(time.0)), head.title.as_deref().map(escape_name));
        #[rustfmt::skip]
        let values: Values<'_> = &[
            &id, &rev, &token, &count, &due, text, &closed, &opened, &since, &bodies, &principals, &owner, &which,
            &changed, &title, &is_notified,
        ];
        let done = self.query_once(&format!("WITH run AS ({first}), {}", sql::CHANGES), values).await?;
        if let Some(notifications) = self.notifications.as_ref().filter(|_| !is_notified) {
            // Another process may have begun to follow the run in between.
            notifications.report_append(&id);
        }
        if done.is_empty() { Err(self.find_refusal(run, *expected, token).await?.into()) } else { Ok(()) }
    }

    /// Finds the reason why nothing was appended.
    async fn find_refusal(&self, run: &RunId, expected: u64, token: Option<i64>) -> Result<StoreError, DbError> {
        let rows = self.query_once(sql::STATE, &[&escape_name(run.as_str())]).await?;
        let Some(row) = rows.first() else {
            return Ok(if expected == 0 { StoreError::Fenced } else { StoreError::NotFound });
        };
        let is_latest = token.is_none_or(|token| token == row.get::<_, i64>(1));
        Ok(if is_latest { StoreError::Conflict } else { StoreError::Fenced })
    }
}

impl Store for PostgresStore {
    fn append<'a>(&'a self, run: &'a RunId, append: Append) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            match self.try_append(run, &append).await {
                Err(DbError::Lost(_)) => self.connections.close_idle(),
                other => return Ok(other?),
            }
            // The connection was lost before the response. A read on another connection shows whether the append was made.
            if self.has_append(run, &append).await? { Ok(()) } else { Ok(self.try_append(run, &append).await?) }
        })
    }

    fn load<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<StoredRun>, StoreError>> {
        Box::pin(async move {
            let rows = self.query(sql::LOAD, &[&escape_name(run.as_str())]).await?;
            if rows.is_empty() {
                return Ok(None);
            }
            let snapshot = rows.iter().find(|row| row.get::<_, i32>(0) == SNAPSHOT).map(|row| row.get(3));
            Ok(Some(StoredRun::new(snapshot, read_records(&rows))))
        })
    }

    fn read<'a>(&'a self, run: &'a RunId, rev: u64) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        Box::pin(async move {
            let rows = self.query(sql::READ, &[&escape_name(run.as_str()), &signed(rev)]).await?;
            if rows.is_empty() { Err(StoreError::NotFound) } else { Ok(read_records(&rows)) }
        })
    }

    fn save_snapshot<'a>(&'a self, run: &'a RunId, rev: u64, text: String) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.query(sql::SNAPSHOT, &[&escape_name(run.as_str()), &signed(rev), &text]).await?;
            Ok(())
        })
    }

    fn lease<'a>(
        &'a self,
        run: &'a RunId,
        worker: &'a str,
        now: Timestamp,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        Box::pin(async move {
            let id = escape_name(run.as_str());
            let millis = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
            let rows = self.query(sql::LEASE, &[&id, &escape_name(worker), &millis]).await?;
            if let Some(row) = rows.first() {
                return Ok(Lease::new(unsigned(row.get(0)), worker, now.saturating_add(ttl)));
            }
            let rows = self.query(sql::HELD, &[&id]).await?;
            let row = rows.first().ok_or(StoreError::NotFound)?;
            // If the lease was released meanwhile, the run is free now.
            let left = row.get::<_, Option<i64>>(0).map_or(Timestamp(0), time);
            Err(StoreError::Leased { until: Timestamp(now.0.saturating_add(left.0)) })
        })
    }

    fn release<'a>(&'a self, run: &'a RunId, lease: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.query(sql::RELEASE, &[&escape_name(run.as_str()), &signed(lease.token)]).await?;
            Ok(())
        })
    }

    fn waiting<'a>(&'a self, filter: &'a WaitingFilter) -> BoxFuture<'a, Result<Vec<WaitingItem>, StoreError>> {
        Box::pin(async move {
            let run = filter.run.as_ref().map(|run| escape_name(run.as_str()));
            let (limit, offset) = (size(filter.max_items()), size(filter.offset));
            let rows = match &filter.principal {
                None => self.query(sql::WAITING, &[&run, &limit, &offset]).await?,
                Some(principal) => {
                    self.query(sql::WAITING_BY, &[&run, &limit, &offset, &escape_name(principal.as_str())]).await?
                }
            };
            rows.iter()
                .map(|row| parse_waiting_item(unescape_name(row.get(0)), unescape_name(row.get(1)), row.get(2)))
                .collect()
        })
    }

    fn due(&self, now: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<RunId>, StoreError>> {
        Box::pin(async move {
            let rows = self.query(sql::DUE, &[&signed(now.0), &size(limit)]).await?;
            Ok(rows.iter().map(|row| RunId::from(unescape_name(row.get(0)))).collect())
        })
    }

    fn list<'a>(&'a self, owner: &'a Principal, page: Range<usize>) -> BoxFuture<'a, Result<Vec<RunItem>, StoreError>> {
        Box::pin(async move {
            let rows =
                self.query(sql::LIST, &[&escape_name(owner.as_str()), &size(page.len()), &size(page.start)]).await?;
            let item = |row: &Row| {
                let title: Option<String> = row.get(1);
                RunItem::new(unescape_name(row.get(0)).into(), title.map(unescape_name), time(row.get(2)))
            };
            Ok(rows.iter().map(item).collect())
        })
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        // Executed only once, because a second execution would find no run.
        Box::pin(async move { Ok(!self.query_once(sql::DELETE, &[&escape_name(run.as_str())]).await?.is_empty()) })
    }

    fn watch(&self, run: &RunId) -> Option<BoxStream<'static, u64>> {
        self.notifications.as_ref()?.watch(&escape_name(run.as_str()), false)
    }

    fn follow(&self, run: &RunId) -> Option<BoxStream<'static, u64>> {
        self.notifications.as_ref()?.watch(&escape_name(run.as_str()), true)
    }

    fn publish(&self, run: &RunId, piece: String) {
        if let Some(notifications) = &self.notifications {
            notifications.publish(&escape_name(run.as_str()), piece);
        }
    }

    fn pieces(&self, run: &RunId) -> Option<BoxStream<'static, String>> {
        self.notifications.as_ref()?.pieces(&escape_name(run.as_str()))
    }

    fn watch_readers(&self, run: &RunId) -> Option<BoxStream<'static, bool>> {
        self.notifications.as_ref()?.watch_readers(&escape_name(run.as_str()))
    }
}

/// The nonces of sealed runs are in the same schema.
#[cfg(feature = "sealed")]
impl NonceStore for PostgresStore {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }

    fn spend<'a>(
        &'a self,
        nonce: &'a str,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            // If the connection is lost before the response, the second statement finds the claim of the first.
            let claim = random_id();
            let (expires, over) = (signed(expires.0), signed(expired_before(now).0));
            Ok(!self.query(sql::SPEND, &[&nonce, &expires, &claim, &over]).await?.is_empty())
        })
    }
}

fn read_records(rows: &[Row]) -> Vec<Record> {
    let parts = rows.iter().filter(|row| row.get::<_, i32>(0) == RECORD);
    parts.map(|row| Record::new(unsigned(row.get(1)), unsigned(row.get(2)), row.get(3))).collect()
}
