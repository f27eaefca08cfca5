//! The result of a call, and its answer to the model.

use serde::{Deserialize, Serialize};

use super::Principal;
use crate::feedback::{self, Rejection};
use crate::message::Part;
use crate::tool::{CallError, Output};

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
#[non_exhaustive]
pub enum CallResult {
    /// The tool gave an output.
    Succeeded {
        /// The output.
        output: Output,
    },
    /// The tool failed.
    Failed {
        /// The text for the model.
        error: String,
        /// The feedback for the model instead, where the tool reported a problem with the arguments.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<Box<Rejection>>,
    },
    /// The arguments were wrong.
    Rejected {
        /// The problem.
        feedback: Rejection,
    },
    /// A policy does not allow the call.
    PolicyDenied {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A person denied the call.
    Denied {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The principal.
        by: Principal,
    },
    /// A person gave an output in place of the tool.
    Responded {
        /// The output.
        output: Output,
        /// The principal.
        by: Principal,
    },
    /// The time for an answer was over.
    Expired,
    /// Something else came first.
    Superseded {
        /// What.
        by: SupersededBy,
    },
    /// The run was cancelled.
    Cancelled,
    /// The tool took too long.
    TimedOut {
        /// The time it had, in milliseconds.
        limit: u64,
    },
    /// The call was cut off: by the end of the model's turn, or of the process that ran it.
    Interrupted {
        /// By what.
        by: InterruptedBy,
    },
    /// There is no such tool on offer.
    NotAvailable {
        /// The name on offer that is nearest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        suggestion: Option<String>,
    },
    /// A limit was reached.
    OverBudget {
        /// Which.
        limit: String,
    },
}

/// The reason why a call was superseded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SupersededBy {
    /// A new prompt.
    Prompt,
    /// Another definition of the tool.
    ToolChanged,
    /// Other arguments than were approved.
    ArgumentsChanged,
    /// A person denied another call of the turn, and the run stops then.
    Denial,
}

/// The reason why a call was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum InterruptedBy {
    /// The model's answer was cut at its size limit.
    Length,
    /// A content filter cut the model's answer.
    ContentFilter,
    /// The model's answer was not finished.
    UnfinishedTurn,
    /// The process that ran the call is gone, and nobody knows what came of it.
    LostProcess,
    /// The tool was changed while the call waited in the middle of its work.
    ToolChanged,
    /// A new prompt came while the call waited in the middle of its work.
    Prompt,
    /// The time for an answer to the tool's question was over.
    NoAnswer,
    /// Another call of the turn was denied while the call waited in the middle of its work.
    Denial,
    /// When the call was to go on, a policy did not allow it any more, or its arguments were not accepted any more.
    NotAllowed,
}

impl CallResult {
    /// Returns the result of a call whose tool came to this outcome.
    pub fn of(outcome: Result<Output, CallError>) -> Self {
        match outcome {
            Ok(output) => Self::Succeeded { output },
            Err(CallError::TimedOut { limit }) => {
                Self::TimedOut { limit: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX) }
            }
            Err(CallError::Cancelled) => Self::Cancelled,
            // Whatever else it says, the call was started.
            Err(error) => Self::failed(&error),
        }
    }

    /// Returns the result of a call whose arguments or policies refused it.
    pub fn refused(error: CallError) -> Self {
        match error {
            CallError::NotAvailable { suggestion, .. } => Self::NotAvailable { suggestion },
            CallError::Rejected(feedback) => Self::Rejected { feedback },
            CallError::PolicyDenied { reason } | CallError::Denied { reason } => Self::PolicyDenied { reason },
            CallError::OverBudget { limit } => Self::OverBudget { limit },
            error => Self::failed(&error),
        }
    }

    /// The failure that the model is told of `error`.
    pub(super) fn failed(error: &CallError) -> Self {
        Self::Failed { error: error.to_string(), feedback: error.feedback().cloned().map(Box::new) }
    }

    /// Returns whether the call did what was asked, or somebody did it in its place.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Succeeded { .. } | Self::Responded { .. })
    }

    /// Returns the result as a word: its name in the serde form.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Succeeded { .. } => "succeeded",
            Self::Failed { .. } => "failed",
            Self::Rejected { .. } => "rejected",
            Self::PolicyDenied { .. } => "policy_denied",
            Self::Denied { .. } => "denied",
            Self::Responded { .. } => "responded",
            Self::Expired => "expired",
            Self::Superseded { .. } => "superseded",
            Self::Cancelled => "cancelled",
            Self::TimedOut { .. } => "timed_out",
            Self::Interrupted { .. } => "interrupted",
            Self::NotAvailable { .. } => "not_available",
            Self::OverBudget { .. } => "over_budget",
        }
    }

    /// The output, where there is one.
    pub fn output(&self) -> Option<&Output> {
        match self {
            Self::Succeeded { output } | Self::Responded { output, .. } => Some(output),
            _ => None,
        }
    }

    /// Returns the content for the model. `started` says whether a start was logged: then nothing says that the call did not run.
    pub fn for_model(&self, name: &str, started: bool) -> Vec<Part> {
        match self {
            Self::Succeeded { output } => output.for_model(),
            Self::Responded { output, .. } => {
                let note = Part::text(if started {
                    "A person gave this output; the tool was started, and may have had effects:"
                } else {
                    "A person gave this output; the tool did not run:"
                });
                [note].into_iter().chain(output.for_model()).collect()
            }
            Self::Rejected { feedback } => vec![told(feedback)],
            Self::Failed { feedback: Some(feedback), .. } => vec![told(feedback)],
            Self::NotAvailable { suggestion } => vec![Part::text(unknown(name, suggestion.as_deref()))],
            other => vec![Part::text(other.sentence(started))],
        }
    }

    /// Returns the result as one text for people.
    pub fn for_people(&self, name: &str, started: bool) -> String {
        match self {
            Self::Rejected { feedback } => feedback.to_string(),
            Self::Failed { error, .. } => error.clone(),
            other => {
                let parts = other.for_model(name, started);
                parts.iter().filter_map(Part::as_text).collect::<Vec<_>>().join("\n")
            }
        }
    }

    fn sentence(&self, started: bool) -> String {
        let effects = if started { "it may have had effects" } else { "it did not run" };
        let why = |reason: &Option<String>| reason.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
        match self {
            Self::Failed { error, .. } => error.clone(),
            Self::PolicyDenied { reason } => format!("a policy does not allow the call; {effects}{}", why(reason)),
            Self::Denied { reason, .. } if !started => format!("the call was denied, and did not run{}", why(reason)),
            Self::Denied { reason, .. } => format!("the call was denied; {effects}{}", why(reason)),
            Self::Expired => format!("nobody answered in time; {effects}"),
            Self::Superseded { by } => {
                let what = match by {
                    SupersededBy::Prompt => "a new message of the user came first",
                    SupersededBy::ToolChanged => "the tool was changed while the call waited",
                    SupersededBy::ArgumentsChanged => "the arguments are not those that were approved",
                    SupersededBy::Denial => "another call of the turn was denied",
                };
                format!("{what}; {effects}")
            }
            Self::Cancelled => format!("the call was cancelled; {effects}"),
            Self::TimedOut { limit } => {
                let seconds = std::time::Duration::from_millis(*limit).as_secs_f64();
                format!("the tool did not answer within {seconds} s; {effects}")
            }
            Self::Interrupted { by } => {
                let what = match by {
                    InterruptedBy::Length => "the answer was cut at its size limit",
                    InterruptedBy::ContentFilter => "a content filter cut the answer",
                    InterruptedBy::UnfinishedTurn => "the answer was not finished",
                    InterruptedBy::LostProcess => {
                        "the program that ran the call was stopped, and its outcome is unknown"
                    }
                    InterruptedBy::ToolChanged => "the tool was changed while the call waited",
                    InterruptedBy::Prompt => "a new message of the user came while the call waited",
                    InterruptedBy::NoAnswer => "nobody answered the tool's question in time",
                    InterruptedBy::Denial => "another call of the turn was denied",
                    InterruptedBy::NotAllowed => "the call was not allowed to go on",
                };
                format!("{what}; {effects}")
            }
            Self::OverBudget { limit } => format!("{limit}; {effects}"),
            Self::Succeeded { .. } | Self::Responded { .. } | Self::Rejected { .. } | Self::NotAvailable { .. } => {
                String::new()
            }
        }
    }
}

fn told(feedback: &Rejection) -> Part {
    Part::Json { json: feedback.to_json_text() }
}

fn unknown(name: &str, suggestion: Option<&str>) -> String {
    let name = feedback::name(name);
    match suggestion {
        None => format!("there is no tool called {name}"),
        Some(near) => format!("there is no tool called {name}; did you mean `{near}`?"),
    }
}
