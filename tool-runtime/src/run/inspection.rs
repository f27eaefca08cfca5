//! What was found when a call was looked at. Only [`Inspector`](super::Inspector) can make one.

use std::sync::Arc;

use super::{Author, CallId, CallResult, Decision, ObligationId, Pattern, Principal, Shown, ToolRef};
use crate::digest::Digest;
use crate::tool::{Identity, Output, Touches};
use crate::toolset::Permission;
#[cfg(feature = "agent")]
use crate::{feedback::Rejection, message::Part};

/// What was found when a call's arguments were looked at, for [`Event::Inspected`](super::Event::Inspected).
///
/// It is evidence: it cannot be made but by [`Inspector`](super::Inspector), and it is about one call with one text of
/// arguments.
#[derive(Debug)]
pub struct Inspection {
    /// The call that was looked at.
    pub(super) call: CallId,
    /// The arguments that were looked at.
    pub(super) text: Arc<str>,
    /// Their digest.
    pub(super) arguments: Digest,
    /// The arguments as the tool's validators changed them, where they did.
    pub(super) normalized: Option<Arc<str>>,
    /// Who changed them last.
    pub(super) author: Author,
    /// The tool that looked.
    pub(super) tool: Option<Identity>,
    pub(super) finding: Finding,
}

#[cfg(feature = "agent")]
impl Inspection {
    /// What the model would be told, where the call is refused because there is no such tool, or it does not take the
    /// arguments.
    pub(crate) fn refused(&self, name: &str) -> Option<Vec<Part>> {
        match &self.finding {
            Finding::Ended(result @ (CallResult::Rejected { .. } | CallResult::NotAvailable { .. })) => {
                Some(result.for_model(name, false))
            }
            _ => None,
        }
    }

    /// What is wrong with the arguments, where that is why the call is refused.
    pub(crate) fn rejection(&self) -> Option<&Rejection> {
        match &self.finding {
            Finding::Ended(CallResult::Rejected { feedback }) => Some(feedback),
            _ => None,
        }
    }

    /// What nobody is told of why the call is refused, for the log.
    pub(crate) fn cause(&self) -> Option<String> {
        match &self.finding {
            Finding::Ended(CallResult::Rejected { feedback }) if !feedback.causes().is_empty() => {
                Some(feedback.causes().join("\n"))
            }
            _ => None,
        }
    }
}

/// What was found.
#[derive(Debug)]
pub(super) enum Finding {
    Accepted(Accepted),
    /// The call ends without running.
    Ended(CallResult),
}

/// The tool accepts the arguments.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) tool: Arc<ToolRef>,
    pub(super) permission: Permission,
    /// What the call reads and writes, where the tool says so.
    pub(super) touches: Option<Arc<Touches>>,
    /// There where somebody may have to decide.
    pub(super) view: Option<Box<View>>,
}

/// What a person would see of a call, and who that is.
#[derive(Debug)]
pub(super) struct View {
    pub(super) shown: Shown,
    /// The arguments with all their digits, defaults filled in.
    pub(super) written: Vec<(String, String)>,
    /// Which calls like this one can be allowed for the rest of the run.
    pub(super) offer: Option<Pattern>,
    /// Who may decide; the run's owner if it is empty.
    pub(super) deciders: Vec<Principal>,
}

/// A decision, with the evidence that it fits: for [`Event::Decide`](super::Event::Decide). Only
/// [`Inspector`](super::Inspector) can make one.
#[derive(Debug)]
pub struct Ruling {
    /// What the decision was checked for.
    pub(super) obligation: ObligationId,
    pub(super) decision: Decision,
    /// Of edited arguments.
    pub(super) inspection: Option<Inspection>,
    /// A given output, as the tool's output type reads it.
    pub(super) output: Option<Output>,
}
