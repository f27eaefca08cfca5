//! The ways in which a call ends without an output.

use std::{fmt, time::Duration};

use super::Failure;
use crate::feedback::{self, Rejection};
use crate::message::Part;

/// The reason why a call ended without an output. [`CallError::for_model`] has the text for the model.
#[derive(Debug)]
#[non_exhaustive]
pub enum CallError {
    /// There is no such tool on offer.
    NotAvailable {
        /// The name that was called.
        name: String,
        /// The offered name that is nearest to it.
        suggestion: Option<String>,
    },
    /// The arguments were refused; the tool did not run.
    Rejected(Rejection),
    /// The tool ran and failed.
    Failed(Failure),
    /// The tool, or code that its arguments needed, panicked.
    Panicked {
        /// The panic's text, for the log.
        message: String,
    },
    /// A policy does not allow the call; the tool did not run.
    PolicyDenied {
        /// Why.
        reason: Option<String>,
    },
    /// A person denied the call; the tool did not run.
    Denied {
        /// Why, in that person's words.
        reason: Option<String>,
    },
    /// The call took longer than it may. It may have had effects.
    TimedOut {
        /// The time that was allowed.
        limit: Duration,
    },
    /// The call was cancelled. It may have had effects.
    Cancelled,
    /// A limit on calls was reached; the tool did not run.
    OverBudget {
        /// Which limit, for the model.
        limit: String,
    },
    /// The call is executed outside this program, and nobody was there to do it.
    NotExecuted,
}

impl CallError {
    /// Returns the content for the model: text, or the JSON of a rejection.
    pub fn for_model(&self) -> Part {
        match self.feedback() {
            Some(feedback) => Part::Json { json: feedback.to_json_text() },
            None => Part::text(self.told()),
        }
    }

    /// Returns the problems of the arguments, as the tool's reader or the tool itself reports them.
    pub fn feedback(&self) -> Option<&Rejection> {
        match self {
            Self::Rejected(rejection) => Some(rejection),
            Self::Failed(failure) => failure.feedback(),
            _ => None,
        }
    }

    /// Returns the text for the log: everything.
    pub fn for_log(&self) -> String {
        match self {
            Self::Failed(failure) => failure.for_log(),
            Self::Rejected(rejection) if !rejection.causes().is_empty() => {
                format!("{rejection}\n{}", rejection.causes().join("\n"))
            }
            Self::Panicked { message } => format!("panicked: {message}"),
            other => other.told(),
        }
    }

    /// Returns whether the tool certainly did not run.
    pub fn did_not_run(&self) -> bool {
        matches!(
            self,
            Self::NotAvailable { .. }
                | Self::Rejected(_)
                | Self::PolicyDenied { .. }
                | Self::Denied { .. }
                | Self::OverBudget { .. }
                | Self::NotExecuted
        )
    }

    fn told(&self) -> String {
        match self {
            Self::NotAvailable { name, suggestion: None } => {
                format!("there is no tool called {}", feedback::name(name))
            }
            Self::NotAvailable { name, suggestion: Some(near) } => {
                format!("there is no tool called {}; did you mean `{near}`?", feedback::name(name))
            }
            Self::Rejected(rejection) => rejection.to_string(),
            Self::Failed(failure) => failure.for_model().to_owned(),
            Self::Panicked { .. } => "the tool failed; it may have had effects".to_owned(),
            Self::PolicyDenied { reason: None } => "a policy does not allow the call; it did not run".to_owned(),
            Self::PolicyDenied { reason: Some(reason) } => {
                format!("a policy does not allow the call; it did not run: {reason}")
            }
            Self::Denied { reason: None } => "the call was denied, and did not run".to_owned(),
            Self::Denied { reason: Some(reason) } => format!("the call was denied, and did not run: {reason}"),
            Self::TimedOut { limit } => {
                format!("the tool did not answer within {} s; it may have had effects", limit.as_secs_f64())
            }
            Self::Cancelled => "the call was cancelled; it may have had effects".to_owned(),
            Self::OverBudget { limit } => format!("the call did not run: {limit}"),
            Self::NotExecuted => "the call is executed outside, and nobody was there to do it".to_owned(),
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.told())
    }
}

impl std::error::Error for CallError {}

impl From<Rejection> for CallError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}
