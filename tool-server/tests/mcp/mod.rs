//! MCP, both ways, in one process.

mod beside;
mod hostile;
mod http;
mod kit;
mod lines;
mod nonsense;
mod pieces;
mod real;
mod serving;
mod sessions;
mod stateless;

/// Returns an HTTP client. reqwest wants the process to choose its cryptography, although these tests speak plain HTTP.
fn http_client() -> reqwest::Client {
    // Another test may have chosen it already.
    drop(rustls::crypto::ring::default_provider().install_default());
    reqwest::Client::new()
}
