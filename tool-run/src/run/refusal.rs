//! The reasons for which an event is refused.

use std::fmt;

use super::{Decision, InterruptId, Verb};
use crate::feedback::Rejection;

/// The reason why an event was refused. The run is as it was before.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// The run is busy, and takes no prompt.
    Busy,
    /// Nothing goes on in the run that could be steered.
    Idle,
    /// The run has nothing to go on with: it was not stopped.
    NotStopped,
    /// This principal may not do that in this run.
    Forbidden,
    /// There never was such an interrupt in this run.
    Unknown {
        /// The id that was named.
        interrupt: InterruptId,
    },
    /// The interrupt is closed: it expired, or something else came first.
    Closed {
        /// The id that was named.
        interrupt: InterruptId,
    },
    /// Another decision was made before.
    Conflict {
        /// The decision.
        decided: Box<Decision>,
    },
    /// The interrupt takes other decisions.
    NotOffered {
        /// The decision.
        decision: &'static str,
        /// The decisions that are possible.
        possible: &'static [Verb],
    },
    /// The edited arguments, the output or the answer are wrong. The interrupt is still open.
    Invalid {
        /// The problem.
        feedback: Rejection,
    },
    /// A policy does not allow the call with the edited arguments. The interrupt is still open.
    PolicyDenied {
        /// Why.
        reason: Option<String>,
    },
    /// The tool is not the one that the call was checked with. The interrupt is still open.
    ToolChanged,
    /// A limit was reached.
    OverBudget {
        /// Which.
        limit: String,
    },
    /// The event does not belong to the run as it is, for example the end of a turn that nobody asked for.
    Misplaced {
        /// The problem.
        reason: &'static str,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => {
                out.write_str("the run is busy; decide about what waits, or cancel it, before the next prompt")
            }
            Self::Idle => out.write_str("nothing goes on in the run; prompt it"),
            Self::NotStopped => out.write_str("the run was not stopped; prompt it"),
            Self::Forbidden => out.write_str("this principal may not decide here"),
            Self::Unknown { interrupt } => {
                write!(out, "nothing in this run waits, or waited, under the id {interrupt}")
            }
            Self::Closed { interrupt } => {
                write!(out, "{interrupt} is closed: it expired, or something else came first")
            }
            Self::Conflict { decided } => write!(out, "somebody decided before: {}", decided.verb()),
            Self::NotOffered { decision, possible } => {
                let possible: Vec<&str> = possible.iter().map(|verb| verb.as_str()).collect();
                write!(out, "cannot {decision} here; possible: {}", possible.join(", "))
            }
            Self::Invalid { feedback } => write!(out, "the decision does not fit: {feedback}"),
            Self::PolicyDenied { reason: None } => out.write_str("a policy does not allow the edited call"),
            Self::PolicyDenied { reason: Some(reason) } => {
                write!(out, "a policy does not allow the edited call: {reason}")
            }
            Self::ToolChanged => out.write_str("the tool was changed since the call was checked"),
            Self::OverBudget { limit } => out.write_str(limit),
            Self::Misplaced { reason } => out.write_str(reason),
        }
    }
}

impl std::error::Error for Refusal {}
