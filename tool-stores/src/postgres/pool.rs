//! Connections: where to, whether encrypted, and how they are kept.

use std::{net::IpAddr, time::Duration};

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime};
use tokio_postgres::{
    Config, NoTls,
    config::{Host, SslMode},
};

use super::{Broken, StoreError};

const PATIENCE: Duration = Duration::from_secs(10);

/// Connections that are made when they are needed, and made anew when they were lost.
pub(super) fn pool(url: &str, connections: usize) -> Result<Pool, StoreError> {
    let wrong = |error: tokio_postgres::Error| {
        let text = super::error::told(&error);
        StoreError::unavailable(format!("the address of the PostgreSQL server is not understood: {text}"))
    };
    let mut config: Config = url.parse().map_err(wrong)?;
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(PATIENCE);
    }
    if config.get_application_name().is_none() {
        config.application_name("tool-runtime");
    }
    let is_local = !config.get_hosts().is_empty() && config.get_hosts().iter().all(is_local);
    if config.get_ssl_mode() == SslMode::Prefer && is_local {
        config.ssl_mode(SslMode::Disable);
    }
    let manager = manager(config)?;
    Pool::builder(manager)
        .max_size(connections.max(1))
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(PATIENCE))
        .create_timeout(Some(PATIENCE))
        .build()
        .map_err(StoreError::unavailable)
}

/// What goes there does not leave the machine.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

fn how() -> ManagerConfig {
    // Whether a connection is lost is known without asking the server.
    ManagerConfig { recycling_method: RecyclingMethod::Fast }
}

#[cfg(not(feature = "postgres-tls"))]
fn manager(config: Config) -> Result<Manager, StoreError> {
    if config.get_ssl_mode() == SslMode::Require {
        let text = "the address says `sslmode=require`, and this program was built without TLS for PostgreSQL: turn on \
                    the feature `postgres-tls` of tool-runtime, or say `sslmode=disable` where the network can be \
                    trusted";
        return Err(StoreError::unavailable(text));
    }
    Ok(Manager::from_config(config, NoTls, how()))
}

#[cfg(feature = "postgres-tls")]
fn manager(config: Config) -> Result<Manager, StoreError> {
    use tokio_postgres_rustls::MakeRustlsConnect;

    if config.get_ssl_mode() == SslMode::Disable {
        return Ok(Manager::from_config(config, NoTls, how()));
    }
    let tls = crate::tls::config().map_err(StoreError::unavailable)?;
    Ok(Manager::from_config(config, MakeRustlsConnect::new(tls), how()))
}

pub(super) async fn connection(pool: &Pool) -> Result<Object, Broken> {
    pool.get().await.map_err(|error| match error {
        PoolError::Backend(error) => Broken::from(error),
        PoolError::Timeout(_) => {
            let text = format!("no connection to PostgreSQL came free within {} s", PATIENCE.as_secs());
            Broken::Store(StoreError::unavailable(text))
        }
        other => Broken::Store(StoreError::unavailable(other)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        pool(url, 1).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_not_supported_is_refused_in_words() {
        assert!(refusal("postgres://db/x?sslmode=verify-ca").contains("sslmode"));
        assert!(refusal("postgres://db/x?sslrootcert=/a").contains("sslrootcert"));
        assert!(refusal("mysql://db/x").contains("not understood"));
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
