//! How a turn can fail.

use std::{error, fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// A turn that failed.
#[derive(Debug)]
pub struct ModelError {
    kind: ModelErrorKind,
    message: String,
    retry_after: Option<Duration>,
    source: Option<Box<dyn error::Error + Send + Sync>>,
}

/// The kind of a [`ModelError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The model is not configured: a missing key, a wrong address.
    Configuration,
    /// The provider refused the credentials.
    Unauthorized,
    /// The provider refused the request; asking again will not help.
    Refused,
    /// The provider wants fewer requests.
    RateLimited,
    /// The provider or the network failed; asking again may help.
    Unavailable,
    /// The answer was not what the protocol allows.
    Protocol,
    /// A script or recording ran out, or did not expect this request.
    Script,
}

impl ModelError {
    /// An error of `kind`. `message` says what to do about it, and holds no secret.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None, source: None }
    }

    /// Adds the cause.
    pub fn with_source(mut self, source: impl Into<Box<dyn error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds how long the provider asked to wait.
    pub fn retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    /// The kind.
    pub fn kind(&self) -> ModelErrorKind {
        self.kind
    }

    /// How long the provider asked to wait.
    pub fn wait(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Returns whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, ModelErrorKind::RateLimited | ModelErrorKind::Unavailable)
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl error::Error for ModelError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
