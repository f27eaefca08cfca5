//! TLS to remote servers.

use std::sync::Arc;

use rustls::{ClientConfig, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;

/// Returns a client's TLS that checks certificates as the system does. It brings its own cryptography, so it needs no
/// process-wide choice of one.
///
/// Fails where the system's verifier is missing.
pub(crate) fn config() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    Ok(builder.with_safe_default_protocol_versions()?.with_platform_verifier()?.with_no_client_auth())
}
