//! Why a text was not opened.

use std::fmt;

use tool_runtime::run::{RecordError, Time};
use tool_runtime::store::StoreError;

/// Why a run was not sealed, or a text not opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum SealError {
    /// It is of another version, or no sealed run at all.
    Version(String),
    /// It is larger than is accepted, or would be.
    TooLarge {
        /// The most bytes.
        limit: usize,
    },
    /// It is not formed like a sealed run.
    Malformed(String),
    /// It was sealed with a key that is not on the ring.
    UnknownKey,
    /// It was changed, or sealed by somebody else.
    Forged,
    /// It is for another application.
    Audience,
    /// It is for another principal.
    Forbidden,
    /// Its time is over.
    Expired {
        /// Since when.
        at: Time,
    },
    /// It was opened before.
    Replayed,
    /// It was sealed while another nonce store remembered what was opened, such as a [`MemoryNonces`](super::MemoryNonces) of
    /// a process that has ended. So it may have been opened before.
    Forgotten,
    /// The run in it cannot be read.
    Record(RecordError),
    /// It is not known whether it was opened before.
    Store(StoreError),
}

impl fmt::Display for SealError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => {
                write!(out, "this is no sealed run of a version that is known here, but `{}`", version.escape_default())
            }
            Self::TooLarge { limit } => {
                write!(out, "a sealed run has at most {limit} bytes; keep larger ones in a store")
            }
            Self::Malformed(reason) => write!(out, "the sealed run is damaged: {reason}"),
            Self::UnknownKey => out.write_str("the run was sealed with a key that is not on the ring"),
            Self::Forged => out.write_str("the sealed run was changed, or sealed by somebody else"),
            Self::Audience => out.write_str("the run was sealed for another application"),
            Self::Forbidden => out.write_str("the run was sealed for somebody else"),
            Self::Expired { .. } => out.write_str("the sealed run is too old; begin again"),
            Self::Replayed => out.write_str("the sealed run was opened before; each is good for once"),
            Self::Forgotten => out.write_str(
                "the run was sealed when another nonce store was in use, so it may have been opened before; begin again. \
                 Where sealed runs must survive a restart, keep nonces in SQLite or PostgreSQL",
            ),
            Self::Record(error) => error.fmt(out),
            Self::Store(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for SealError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Record(error) => Some(error),
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<RecordError> for SealError {
    fn from(error: RecordError) -> Self {
        Self::Record(error)
    }
}

impl From<StoreError> for SealError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
