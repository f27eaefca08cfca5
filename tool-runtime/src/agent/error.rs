//! How a run can fail.

use std::fmt;

use crate::model::ModelError;
use crate::run::Refusal;
use crate::store::StoreError;

/// A run that could not go on. It stays whole: it holds everything up to the failure, and can go on.
#[derive(Debug)]
#[non_exhaustive]
pub enum AgentError {
    /// The model failed.
    Model(ModelError),
    /// The run was cancelled.
    Cancelled,
    /// The model did not give an answer of the wanted type.
    NoAnswer {
        /// The problem.
        reason: String,
    },
    /// The run does not take that prompt or decision.
    Refused(Refusal),
    /// The run could not be loaded or kept.
    Store(StoreError),
    /// The run refused an entry that followed from its own state. Nothing was done that follows from it. This is a bug in
    /// this crate: report it with the reason.
    Inconsistent {
        /// The entry's number, and what is wrong with it.
        reason: String,
    },
}

impl fmt::Display for AgentError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(error) => write!(out, "the model failed: {error}"),
            Self::Cancelled => out.write_str("the run was cancelled"),
            Self::NoAnswer { reason } => write!(out, "the model gave no answer of the wanted type: {reason}"),
            Self::Refused(refusal) => refusal.fmt(out),
            Self::Store(error) => error.fmt(out),
            Self::Inconsistent { reason } => write!(out, "the run contradicts itself, which is a bug: {reason}"),
        }
    }
}

impl std::error::Error for AgentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Model(error) => Some(error),
            Self::Refused(error) => Some(error),
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ModelError> for AgentError {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}

impl From<Refusal> for AgentError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<StoreError> for AgentError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
