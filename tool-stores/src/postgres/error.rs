//! What went wrong with the server, in words.

use std::error::Error as _;

use tokio_postgres::error::SqlState;

use super::StoreError;

/// Why something did not work out.
#[derive(Debug)]
pub(super) enum Broken {
    /// The connection is gone; another may work.
    Lost(String),
    /// Another transaction came first.
    Raced,
    Store(StoreError),
}

/// What the error says, and what its causes say: by itself it names only its kind.
pub(super) fn told(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return format!("PostgreSQL says: {} ({})", error.message(), error.code().code());
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

impl From<tokio_postgres::Error> for Broken {
    fn from(error: tokio_postgres::Error) -> Self {
        let text = told(&error);
        let is_cut = match error.code() {
            Some(code) if *code == SqlState::T_R_SERIALIZATION_FAILURE => return Self::Raced,
            // The server is shut down, or ended the connection.
            Some(code) => code.code().starts_with("57P") || code.code().starts_with("08"),
            None => error.is_closed() || error.source().is_some_and(<dyn std::error::Error>::is::<std::io::Error>),
        };
        if is_cut { Self::Lost(text) } else { Self::Store(StoreError::unavailable(text)) }
    }
}

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Broken> for StoreError {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Lost(text) => Self::unavailable(format!("the connection to PostgreSQL was lost: {text}")),
            Broken::Raced => Self::Conflict,
            Broken::Store(error) => error,
        }
    }
}
