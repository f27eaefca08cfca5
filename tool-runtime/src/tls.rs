//! What all connections of this workspace trust. Shared with tool-server; not public API.

use std::sync::Arc;

use rustls::{ClientConfig, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;

/// A client's TLS: certificates are checked as the system does it. It brings its own cryptography, so that no process-wide
/// choice of one is needed or made.
///
/// Fails where the system's verifier cannot be had.
pub fn config() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    Ok(builder.with_safe_default_protocol_versions()?.with_platform_verifier()?.with_no_client_auth())
}
