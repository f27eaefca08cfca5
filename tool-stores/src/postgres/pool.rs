//! The connections: a pool for statements, encryption and errors.

use std::{
    error::Error as _,
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, Status,
};
use futures_util::{
    future::BoxFuture,
    stream::{BoxStream, StreamExt as _, poll_fn},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};
use tokio_postgres::{
    AsyncMessage, Client, Config, NoTls, Socket,
    config::SslMode,
    error::SqlState,
    tls::{MakeTlsConnect, TlsConnect},
};

use super::{StoreError, address::Address};

/// The maximum time to wait for a connection of the pool, and for a new connection.
pub const POOL_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum time for the first response on a new connection. A pooler that keeps sessions accepts more connections than it
/// serves, and the others wait for as long as its sessions last.
const FIRST_RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The default of [`PostgresOptions::statement_timeout`](super::PostgresOptions::statement_timeout).
pub const STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);

/// The time after which the store tries again to open connections that a pooler did not serve.
const LIMIT_TIME: Duration = Duration::from_mins(10);

/// The messages of a connection. The connection works only while this stream is polled.
pub type Messages = BoxStream<'static, Result<AsyncMessage, tokio_postgres::Error>>;

/// A function that opens a connection outside of the pool.
pub type Dial = Arc<dyn Fn() -> BoxFuture<'static, Result<(Client, Messages), tokio_postgres::Error>> + Send + Sync>;

/// The connections for statements: a pool that opens them on demand and replaces lost ones.
///
/// If a new connection gets no response while others work, a pooler has no session left for it. Then the store uses fewer.
pub struct Connections {
    pool: Pool,
    /// A permit for each connection that may be in use.
    permits: Arc<Semaphore>,
    limit: Mutex<Limit>,
    max: usize,
    /// The maximum time for the response to a statement.
    pub statement_timeout: Duration,
}

/// The permits that were taken away, and the time since which there are fewer.
struct Limit {
    missing: usize,
    since: Instant,
}

/// A connection, which returns to the pool.
pub struct Connection {
    // The fields are dropped in this order.
    db: Object,
    _permit: OwnedSemaphorePermit,
}

impl Deref for Connection {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.db
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut Object {
        &mut self.db
    }
}

impl Connections {
    /// Creates a pool of at most `max` connections, whose statements take at most `statement_timeout`.
    pub fn new(address: &Address, max: usize, statement_timeout: Duration) -> Result<Self, StoreError> {
        let max = max.max(1);
        let (manager, _) = create_manager(address)?;
        let first_response = Hook::async_fn(|db: &mut deadpool_postgres::ClientWrapper, _| {
            Box::pin(async move {
                match timeout(FIRST_RESPONSE_TIMEOUT, db.batch_execute("")).await {
                    Ok(response) => response.map_err(HookError::Backend),
                    Err(_) => Err(HookError::message("no response")),
                }
            })
        });
        let pool = Pool::builder(manager)
            .max_size(max)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(POOL_TIMEOUT))
            .create_timeout(Some(POOL_TIMEOUT))
            .post_create(first_response)
            .build()
            .map_err(StoreError::unavailable)?;
        let limit = Mutex::new(Limit { missing: 0, since: Instant::now() });
        Ok(Self { pool, permits: Arc::new(Semaphore::new(max)), limit, max, statement_timeout })
    }

    pub fn status(&self) -> Status {
        self.pool.status()
    }

    /// Closes the idle connections. The cause of one lost connection may have broken all of them.
    pub fn close_idle(&self) {
        self.pool.retain(|_, _| false);
    }

    /// Closes a connection on which no response arrived in time, and returns the error. It may lead to a server that is gone, and
    /// would be silent for the next statement, too.
    pub fn discard(&self, connection: Connection) -> DbError {
        drop(Object::take(connection.db));
        DbError::Lost(format!("no response within {} s", self.statement_timeout.as_secs_f64()))
    }

    pub async fn get(&self) -> Result<Connection, DbError> {
        loop {
            self.end_limit();
            let permit = timeout(POOL_TIMEOUT, Arc::clone(&self.permits).acquire_owned()).await;
            let Ok(Ok(permit)) = permit else {
                let text = format!("no connection to PostgreSQL became free within {} s", POOL_TIMEOUT.as_secs());
                return Err(StoreError::unavailable(text).into());
            };
            match self.pool.get().await {
                Ok(db) => return Ok(Connection { db, _permit: permit }),
                Err(PoolError::PostCreateHook(HookError::Backend(error)) | PoolError::Backend(error)) => {
                    return Err(error.into());
                }
                Err(PoolError::PostCreateHook(_)) if self.lower_limit() => permit.forget(),
                Err(PoolError::PostCreateHook(_)) => {
                    let text = format!(
                        "PostgreSQL accepted a connection and did not respond within {} s: if a connection pooler is in \
                         front, it may have no connection left",
                        FIRST_RESPONSE_TIMEOUT.as_secs()
                    );
                    return Err(StoreError::unavailable(text).into());
                }
                Err(other) => return Err(StoreError::unavailable(other).into()),
            }
        }
    }

    /// Takes away the permit of a connection that got no response. Returns `false` if no other connection works.
    fn lower_limit(&self) -> bool {
        let mut limit = self.limit.lock().unwrap_or_else(PoisonError::into_inner);
        let can_lower = self.pool.status().size > 0 && limit.missing + 1 < self.max;
        if can_lower {
            *limit = Limit { missing: limit.missing + 1, since: Instant::now() };
        }
        can_lower
    }

    /// Gives the permits back after some time.
    fn end_limit(&self) {
        let mut limit = self.limit.lock().unwrap_or_else(PoisonError::into_inner);
        if limit.missing > 0 && limit.since.elapsed() > LIMIT_TIME {
            self.permits.add_permits(std::mem::take(&mut limit.missing));
        }
    }
}

/// Creates a function that opens connections outside of the pool.
pub fn create_dial(address: &Address) -> Result<Dial, StoreError> {
    Ok(create_manager(address)?.1)
}

/// Creates a manager of connections of `config` with `tls`, and a function that opens one.
fn create_manager_with<T>(config: Config, tls: T) -> (Manager, Dial)
where
    T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
    T::Stream: Sync + Send,
    T::TlsConnect: Sync + Send,
    <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
{
    // With this method, the pool detects a lost connection without a request to the server.
    let options = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(config.clone(), tls.clone(), options);
    let dial: Dial = Arc::new(move || {
        let (config, tls) = (config.clone(), tls.clone());
        Box::pin(async move {
            let (client, mut connection) = config.connect(tls).await?;
            Ok((client, poll_fn(move |task| connection.poll_message(task)).boxed()))
        })
    });
    (manager, dial)
}

#[cfg(not(feature = "postgres-tls"))]
fn create_manager(Address { config, tls_option, .. }: &Address) -> Result<(Manager, Dial), StoreError> {
    if config.get_ssl_mode() == SslMode::Require {
        let text = format!(
            "the address demands `{tls_option}`, and this program was built without TLS for PostgreSQL: turn on the feature \
             `postgres-tls` of tool-stores, or set `sslmode=disable` where the network can be trusted"
        );
        return Err(StoreError::unavailable(text));
    }
    Ok(create_manager_with(config.clone(), NoTls))
}

#[cfg(feature = "postgres-tls")]
fn create_manager(Address { config, .. }: &Address) -> Result<(Manager, Dial), StoreError> {
    use tokio_postgres_rustls::MakeRustlsConnect;

    if config.get_ssl_mode() == SslMode::Disable {
        return Ok(create_manager_with(config.clone(), NoTls));
    }
    let tls = build_tls_config().map_err(StoreError::unavailable)?;
    Ok(create_manager_with(config.clone(), MakeRustlsConnect::new(tls)))
}

/// Returns a TLS configuration that checks certificates with the system's verifier. It has its own cryptography provider, so it
/// does not need a process-wide one.
///
/// Fails when the system's verifier is missing.
#[cfg(feature = "postgres-tls")]
fn build_tls_config() -> Result<rustls::ClientConfig, rustls::Error> {
    use rustls_platform_verifier::BuilderVerifierExt;

    let ring = rustls::crypto::ring::default_provider();
    let builder = rustls::ClientConfig::builder_with_provider(ring.into());
    Ok(builder.with_safe_default_protocol_versions()?.with_platform_verifier()?.with_no_client_auth())
}

/// The error of an operation on the database.
#[derive(Debug)]
pub enum DbError {
    /// The connection was lost. Another one may work.
    Lost(String),
    /// Another transaction was first, so the server refused this one.
    Raced,
    Store(StoreError),
}

/// Describes an error with the texts of its causes, because the error's own text only names its kind.
pub fn describe(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return format!("PostgreSQL reported: {} ({})", error.message(), error.code().code());
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

impl From<tokio_postgres::Error> for DbError {
    fn from(error: tokio_postgres::Error) -> Self {
        let text = describe(&error);
        let is_cut = match error.code() {
            Some(code) if *code == SqlState::T_R_SERIALIZATION_FAILURE => return Self::Raced,
            // The server is shut down, or ended the connection.
            Some(code) => code.code().starts_with("57P") || code.code().starts_with("08"),
            None => error.is_closed() || error.source().is_some_and(<dyn std::error::Error>::is::<std::io::Error>),
        };
        if is_cut { Self::Lost(text) } else { Self::Store(StoreError::unavailable(text)) }
    }
}

impl From<StoreError> for DbError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<DbError> for StoreError {
    fn from(error: DbError) -> Self {
        match error {
            DbError::Lost(text) => Self::unavailable(format!("the connection to PostgreSQL was lost: {text}")),
            DbError::Raced => Self::Conflict,
            DbError::Store(error) => error,
        }
    }
}
