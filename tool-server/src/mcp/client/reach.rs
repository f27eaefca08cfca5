//! The HTTP client of a connection.

use std::{error::Error, time::Duration};

use reqwest::redirect::Policy;

pub(super) fn client(connect: Duration) -> Result<reqwest::Client, Box<dyn Error + Send + Sync>> {
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(super::tls::config()?)
        .connect_timeout(connect)
        // A redirect would carry headers with keys to another host.
        .redirect(Policy::none())
        // A stream of events that was not read to its end keeps a connection from being used again.
        .pool_max_idle_per_host(0)
        .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
        .build()?;
    Ok(client)
}
