//! How a run can fail.

use std::fmt;

use crate::model::ModelError;

/// A run that could not go on. The conversation stays whole: it holds everything up to the failure, and every call in it
/// is answered.
#[derive(Debug)]
#[non_exhaustive]
pub enum AgentError {
    /// The model failed.
    Model(ModelError),
    /// The run was cancelled.
    Cancelled,
    /// The model did not give an answer of the wanted type.
    NoAnswer {
        /// What was wrong, or missing.
        reason: String,
    },
}

impl fmt::Display for AgentError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(error) => write!(out, "the model failed: {error}"),
            Self::Cancelled => out.write_str("the run was cancelled"),
            Self::NoAnswer { reason } => write!(out, "the model gave no answer of the wanted type: {reason}"),
        }
    }
}

impl std::error::Error for AgentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Model(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ModelError> for AgentError {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}
