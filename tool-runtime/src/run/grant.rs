//! The permission to start a call once.

use serde::{Deserialize, Serialize};

use super::{CallId, Principal, RunId, Time};
use crate::digest::Digest;
use crate::tool::Fingerprint;

/// The permission to start one call once, with the arguments and the tool that it was given for.
///
/// There is no way to make one but to fold a run's log: no constructor, no `Clone`, no `Deserialize`.
///
/// ```compile_fail
/// fn twice(grant: &tool_runtime::run::Grant) -> tool_runtime::run::Grant {
///     grant.clone()
/// }
/// ```
///
/// ```compile_fail
/// let grant: tool_runtime::run::Grant = serde_json::from_str("{}").unwrap();
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

/// Who gave a permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GrantedBy {
    /// The policies: nobody had to be asked.
    Policy,
    /// Somebody, about this call.
    Person(Principal),
    /// Somebody, about earlier calls like this one.
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

    /// Who gave it.
    pub fn by(&self) -> &GrantedBy {
        &self.by
    }

    /// Until when it must be used.
    pub fn expires(&self) -> Option<Time> {
        self.expires
    }
}
