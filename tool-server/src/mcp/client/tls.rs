//! The HTTP client of a connection.

use std::{error::Error, sync::Arc, time::Duration};

use reqwest::redirect::Policy;
use rustls::{ClientConfig, crypto::ring};
use rustls_platform_verifier::Verifier;

/// A client of its own TLS configuration, so that no process-wide choice of cryptography is needed or made.
pub(super) fn client(connect: Duration) -> Result<reqwest::Client, Box<dyn Error + Send + Sync>> {
    let provider = Arc::new(ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier::new(provider)?))
        .with_no_client_auth();
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .connect_timeout(connect)
        // A redirect would carry headers with keys to another host.
        .redirect(Policy::none())
        // A stream of events that was not read to its end keeps a connection from being used again.
        .pool_max_idle_per_host(0)
        .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
        .build()?;
    Ok(client)
}
