//! How a store can fail.

use std::fmt;

use crate::run::Time;
use tool_run::run::RecordError;

/// Why a store did not do what was asked.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// Another writer added to the log in between: load it again.
    Conflict,
    /// Another worker has taken the run over.
    Fenced,
    /// Another worker drives the run.
    Leased {
        /// At least until then.
        until: Time,
    },
    /// There is no such run.
    NotFound,
    /// The stored run cannot be read.
    Record(RecordError),
    /// The store does not work: it cannot be reached, is full, or is not the store that was expected.
    Unavailable(Box<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    /// The store does not work, because of `error`.
    pub fn unavailable(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Unavailable(error.into())
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => out.write_str("somebody else changed the run in between"),
            Self::Fenced => out.write_str("another worker has taken the run over"),
            Self::Leased { .. } => out.write_str("another worker drives the run"),
            Self::NotFound => out.write_str("there is no such run"),
            Self::Record(error) => error.fmt(out),
            Self::Unavailable(error) => write!(out, "the store does not work: {error}"),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Record(error) => Some(error),
            Self::Unavailable(error) => Some(&**error),
            _ => None,
        }
    }
}

impl From<RecordError> for StoreError {
    fn from(error: RecordError) -> Self {
        Self::Record(error)
    }
}
