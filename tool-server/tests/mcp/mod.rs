//! Tests of MCP: the client and the server, in one process.

mod any_value;
mod extras;
mod hostile;
mod http;
pub(crate) mod kit;
mod nonsense;
mod odd;
mod questions;
mod real;
mod results;
mod serving;
mod sessions;
mod shares;
mod split_lines;
mod stateless;
mod waiting;
mod wire;

/// Returns an HTTP client. reqwest needs a default TLS provider, even for plain HTTP.
fn http_client() -> reqwest::Client {
    // Another test may have chosen the provider already.
    drop(rustls::crypto::ring::default_provider().install_default());
    reqwest::Client::new()
}
