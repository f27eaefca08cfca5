//! The connection pool: addresses, encryption and errors.

use std::{error::Error as _, net::IpAddr, sync::Arc, time::Duration};

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime};
use futures_util::{
    future::BoxFuture,
    stream::{BoxStream, StreamExt as _, poll_fn},
};
use tokio_postgres::{
    AsyncMessage, Client, Config, NoTls, Socket,
    config::{Host, SslMode},
    error::SqlState,
    tls::{MakeTlsConnect, TlsConnect},
};

use super::StoreError;

const POOL_TIMEOUT: Duration = Duration::from_secs(10);

/// The messages of a connection. The connection works only while this stream is polled.
pub type Messages = BoxStream<'static, Result<AsyncMessage, tokio_postgres::Error>>;

/// A function that opens a connection outside of the pool.
pub type Dial = Arc<dyn Fn() -> BoxFuture<'static, Result<(Client, Messages), tokio_postgres::Error>> + Send + Sync>;

/// Creates a pool that opens connections on demand and replaces lost ones, and a function that opens connections outside of it.
pub fn create_pool(url: &str, connections: usize) -> Result<(Pool, Dial), StoreError> {
    let invalid = |error: tokio_postgres::Error| {
        let text = describe(&error);
        StoreError::unavailable(format!("invalid address of the PostgreSQL server: {text}"))
    };
    let mut config: Config = url.parse().map_err(invalid)?;
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(POOL_TIMEOUT);
    }
    if config.get_application_name().is_none() {
        config.application_name("tool-runtime");
    }
    let is_local = !config.get_hosts().is_empty() && config.get_hosts().iter().all(is_local);
    if config.get_ssl_mode() == SslMode::Prefer && is_local {
        config.ssl_mode(SslMode::Disable);
    }
    let (manager, dial) = create_manager(config)?;
    let pool = Pool::builder(manager)
        .max_size(connections.max(1))
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(POOL_TIMEOUT))
        .create_timeout(Some(POOL_TIMEOUT))
        .build()
        .map_err(StoreError::unavailable)?;
    Ok((pool, dial))
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

/// Returns whether the host is this machine, so that the traffic does not leave it.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

#[cfg(not(feature = "postgres-tls"))]
fn create_manager(config: Config) -> Result<(Manager, Dial), StoreError> {
    if config.get_ssl_mode() == SslMode::Require {
        let text = "the address demands `sslmode=require`, and this program was built without TLS for PostgreSQL: turn on \
                    the feature `postgres-tls` of tool-stores, or set `sslmode=disable` where the network can be \
                    trusted";
        return Err(StoreError::unavailable(text));
    }
    Ok(create_manager_with(config, NoTls))
}

#[cfg(feature = "postgres-tls")]
fn create_manager(config: Config) -> Result<(Manager, Dial), StoreError> {
    use tokio_postgres_rustls::MakeRustlsConnect;

    if config.get_ssl_mode() == SslMode::Disable {
        return Ok(create_manager_with(config, NoTls));
    }
    let tls = build_tls_config().map_err(StoreError::unavailable)?;
    Ok(create_manager_with(config, MakeRustlsConnect::new(tls)))
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

pub async fn get_connection(pool: &Pool) -> Result<Object, DbError> {
    pool.get().await.map_err(|error| match error {
        PoolError::Backend(error) => DbError::from(error),
        PoolError::Timeout(_) => {
            let text = format!("no connection to PostgreSQL became free within {} s", POOL_TIMEOUT.as_secs());
            DbError::Store(StoreError::unavailable(text))
        }
        other => DbError::Store(StoreError::unavailable(other)),
    })
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
fn describe(error: &tokio_postgres::Error) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        create_pool(url, 1).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn unsupported_options_are_refused_with_a_reason() {
        assert!(refusal("postgres://db/x?sslmode=verify-ca").contains("sslmode"));
        assert!(refusal("postgres://db/x?sslrootcert=/a").contains("sslrootcert"));
        assert!(refusal("mysql://db/x").contains("invalid address"));
    }

    #[tokio::test]
    async fn required_encryption_needs_the_feature() {
        let created = create_pool("postgres://db.example/x?sslmode=require", 1);
        if cfg!(feature = "postgres-tls") {
            assert!(created.is_ok());
        } else {
            let text = created.map(|_| ()).unwrap_err().to_string();
            assert!(text.contains("postgres-tls"), "{text}");
        }
    }
}
