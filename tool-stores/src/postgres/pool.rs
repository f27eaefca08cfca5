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

/// The messages of a connection, which it receives only while they are read.
pub type Messages = BoxStream<'static, Result<AsyncMessage, tokio_postgres::Error>>;

/// A function that opens a connection outside of the pool.
pub type Dial = Arc<dyn Fn() -> BoxFuture<'static, Result<(Client, Messages), tokio_postgres::Error>> + Send + Sync>;

/// Creates a pool that opens connections on demand, and replaces lost ones, and a function that opens other connections.
pub fn pool(url: &str, connections: usize) -> Result<(Pool, Dial), StoreError> {
    let wrong = |error: tokio_postgres::Error| {
        let text = in_words(&error);
        StoreError::unavailable(format!("invalid address of the PostgreSQL server: {text}"))
    };
    let mut config: Config = url.parse().map_err(wrong)?;
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
    let (manager, dial) = manager(config)?;
    let pool = Pool::builder(manager)
        .max_size(connections.max(1))
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(POOL_TIMEOUT))
        .create_timeout(Some(POOL_TIMEOUT))
        .build()
        .map_err(StoreError::unavailable)?;
    Ok((pool, dial))
}

/// Returns a manager of connections of `config`, and a function that opens them.
fn ways<T>(config: Config, tls: T) -> (Manager, Dial)
where
    T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
    T::Stream: Sync + Send,
    T::TlsConnect: Sync + Send,
    <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
{
    let how = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    // With this method, a lost connection is detected without a request to the server.
    let manager = Manager::from_config(config.clone(), tls.clone(), how);
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
fn manager(config: Config) -> Result<(Manager, Dial), StoreError> {
    if config.get_ssl_mode() == SslMode::Require {
        let text = "the address says `sslmode=require`, and this program was built without TLS for PostgreSQL: turn on \
                    the feature `postgres-tls` of tool-runtime, or say `sslmode=disable` where the network can be \
                    trusted";
        return Err(StoreError::unavailable(text));
    }
    Ok(ways(config, NoTls))
}

#[cfg(feature = "postgres-tls")]
fn manager(config: Config) -> Result<(Manager, Dial), StoreError> {
    use tokio_postgres_rustls::MakeRustlsConnect;

    if config.get_ssl_mode() == SslMode::Disable {
        return Ok(ways(config, NoTls));
    }
    let tls = tls().map_err(StoreError::unavailable)?;
    Ok(ways(config, MakeRustlsConnect::new(tls)))
}

/// Returns a TLS configuration that checks certificates with the system's verifier. It has its own cryptography provider, so it
/// does not need a process-wide one.
///
/// Fails when the system's verifier is missing.
#[cfg(feature = "postgres-tls")]
fn tls() -> Result<rustls::ClientConfig, rustls::Error> {
    use rustls_platform_verifier::BuilderVerifierExt;

    let ring = rustls::crypto::ring::default_provider();
    let builder = rustls::ClientConfig::builder_with_provider(ring.into());
    Ok(builder.with_safe_default_protocol_versions()?.with_platform_verifier()?.with_no_client_auth())
}

pub async fn connection(pool: &Pool) -> Result<Object, Broken> {
    pool.get().await.map_err(|error| match error {
        PoolError::Backend(error) => Broken::from(error),
        PoolError::Timeout(_) => {
            let text = format!("no connection to PostgreSQL became free within {} s", POOL_TIMEOUT.as_secs());
            Broken::Store(StoreError::unavailable(text))
        }
        other => Broken::Store(StoreError::unavailable(other)),
    })
}

/// The error of an operation.
#[derive(Debug)]
pub enum Broken {
    /// The connection was lost. Another one may work.
    Lost(String),
    /// Another transaction was first.
    Raced,
    Store(StoreError),
}

/// Returns the texts of an error and its causes. The error itself only names its kind.
fn in_words(error: &tokio_postgres::Error) -> String {
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

impl From<tokio_postgres::Error> for Broken {
    fn from(error: tokio_postgres::Error) -> Self {
        let text = in_words(&error);
        let is_cut = match error.code() {
            Some(code) if *code == SqlState::T_R_SERIALIZATION_FAILURE => return Self::Raced,
            // The server is shut down, or ended the connection.
            Some(code) => code.code().starts_with("57P") || code.code().starts_with("08"),
            None => error.is_closed() || error.source().is_some_and(<dyn std::error::Error>::is::<std::io::Error>),
        };
        if is_cut { Self::Lost(text) } else { Self::Store(StoreError::unavailable(text)) }
    }
}

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Broken> for StoreError {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Lost(text) => Self::unavailable(format!("the connection to PostgreSQL was lost: {text}")),
            Broken::Raced => Self::Conflict,
            Broken::Store(error) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        pool(url, 1).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn unsupported_options_are_refused_with_a_reason() {
        assert!(refusal("postgres://db/x?sslmode=verify-ca").contains("sslmode"));
        assert!(refusal("postgres://db/x?sslrootcert=/a").contains("sslrootcert"));
        assert!(refusal("mysql://db/x").contains("invalid address"));
    }

    #[tokio::test]
    async fn required_encryption_is_never_left_out() {
        let made = pool("postgres://db.example/x?sslmode=require", 1);
        if cfg!(feature = "postgres-tls") {
            assert!(made.is_ok());
        } else {
            let text = made.map(|_| ()).unwrap_err().to_string();
            assert!(text.contains("postgres-tls"), "{text}");
        }
    }
}
