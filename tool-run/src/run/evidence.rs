//! The evidence that a run goes by: that a call was looked at, that a decision was checked, and that a call may start. Only the
//! functions of [`judge`](super::judge) make the first two, and only a fold makes a [`Grant`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Author, CallId, CallResult, Decision, InterruptId, Pattern, Principal, RunId, Shown, Time, ToolRef};
use crate::digest::Digest;
use crate::tool::{Fingerprint, Identity, Output, Permission, Resources};
use crate::{feedback::Rejection, message::Part};

/// A call that was checked, for [`Event::Inspected`](super::Event::Inspected).
///
/// It is evidence: it cannot be made but where calls are judged, and it is about one call with one text of arguments.
#[derive(Debug)]
pub struct CheckedCall {
    /// The call that was looked at.
    pub(super) call: CallId,
    /// The arguments that were looked at.
    pub(super) text: Arc<str>,
    /// Their digest.
    pub(super) arguments: Digest,
    /// The arguments as the tool's validators changed them, where they did.
    pub(super) normalized: Option<Arc<str>>,
    /// The author of the last change.
    pub(super) author: Author,
    /// The tool that looked.
    pub(super) tool: Option<Identity>,
    pub(super) finding: Finding,
}

impl CheckedCall {
    /// Returns the content for the model, where the call is refused because there is no such tool, or it does not take the
    /// arguments.
    pub fn refused(&self, name: &str) -> Option<Vec<Part>> {
        match &self.finding {
            Finding::Ended(result @ (CallResult::Rejected { .. } | CallResult::NotAvailable { .. })) => {
                Some(result.for_model(name, false))
            }
            _ => None,
        }
    }

    /// Returns the problems of the arguments, where the call is refused because of them.
    pub fn rejection(&self) -> Option<&Rejection> {
        match &self.finding {
            Finding::Ended(CallResult::Rejected { feedback }) => Some(feedback),
            _ => None,
        }
    }

    /// Returns the cause of a refusal, which only the log gets.
    pub fn cause(&self) -> Option<String> {
        match &self.finding {
            Finding::Ended(CallResult::Rejected { feedback }) if !feedback.causes().is_empty() => {
                Some(feedback.causes().join("\n"))
            }
            _ => None,
        }
    }
}

/// The finding of a check.
#[derive(Debug)]
pub enum Finding {
    Accepted(Accepted),
    /// The call ends without running.
    Ended(CallResult),
}

/// The tool accepts the arguments.
#[derive(Debug)]
pub struct Accepted {
    pub tool: Arc<ToolRef>,
    pub permission: Permission,
    /// The resources that the call reads and writes, where the tool names them.
    pub touches: Option<Arc<Resources>>,
    /// There where somebody may have to decide.
    pub view: Option<Box<View>>,
}

/// The view of a call, and the principals that may decide about it.
#[derive(Debug)]
pub struct View {
    pub shown: Shown,
    /// The arguments with all their digits, defaults filled in.
    pub written: Vec<(String, String)>,
    /// Which calls like this one can be allowed for the rest of the run.
    pub offer: Option<Pattern>,
    /// The principals that may decide; the run's owner if the list is empty.
    pub deciders: Vec<Principal>,
}

/// A decision, with the evidence that it fits: for [`Event::Decide`](super::Event::Decide). It cannot be made but where
/// decisions are judged.
#[derive(Debug)]
pub struct CheckedDecision {
    /// The interrupt that the decision was checked for.
    pub(super) interrupt: InterruptId,
    pub(super) decision: Decision,
    /// Of edited arguments.
    pub(super) inspection: Option<CheckedCall>,
    /// A given output, as the tool's output type reads it.
    pub(super) output: Option<Output>,
}

/// The permission to start one call once, with the arguments and the tool that it was given for.
///
/// There is no way to make one but to fold a run's log: no constructor, no `Clone`, no `Deserialize`.
///
/// ```compile_fail
/// fn twice(grant: &tool_run::run::Grant) -> tool_run::run::Grant {
///     grant.clone()
/// }
/// ```
///
/// ```compile_fail
/// let grant: tool_run::run::Grant = serde_json::from_str("{}").unwrap();
/// ```
#[derive(Debug, PartialEq)]
pub struct Grant {
    pub(super) run: RunId,
    pub(super) call: CallId,
    pub(super) tool: Fingerprint,
    pub(super) arguments: Digest,
    pub(super) shown: Option<Digest>,
    pub(super) by: GrantedBy,
    pub(super) expires: Option<Time>,
}

/// The giver of a grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GrantedBy {
    /// The policies: nobody had to be asked.
    Policy,
    /// A person, about this call.
    Person(Principal),
    /// A person, about earlier calls like this one.
    Allowance(Principal),
    /// The run: the attempt before failed in a way that may be tried again.
    Retry,
    /// The run: the process that ran it is gone, and a second start does no harm.
    Rerun,
}

impl Grant {
    /// The run it is for.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// The call it is for.
    pub fn call(&self) -> &CallId {
        &self.call
    }

    /// The tool it is for.
    pub fn tool(&self) -> Fingerprint {
        self.tool
    }

    /// The digest of the arguments it is for.
    pub fn arguments(&self) -> Digest {
        self.arguments
    }

    /// The digest of what the person was shown who gave it.
    pub fn shown(&self) -> Option<Digest> {
        self.shown
    }

    /// Returns the giver of the grant.
    pub fn by(&self) -> &GrantedBy {
        &self.by
    }

    /// Until when it must be used.
    pub fn expires(&self) -> Option<Time> {
        self.expires
    }
}
