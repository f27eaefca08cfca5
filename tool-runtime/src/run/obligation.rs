//! What a call waits for, and what somebody may decide about it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ObligationId, Principal, Question, Shown, Time};
use crate::digest::Digest;
use crate::feedback::Rejection;
use crate::json;
use crate::tool::{Fingerprint, Tool};

/// What a call waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Obligation {
    /// Its id: what a decision names.
    pub id: ObligationId,
    /// What is waited for.
    pub kind: ObligationKind,
    /// The call, as the person may see it.
    pub shown: Shown,
    /// Since when it waits.
    pub since: Time,
    /// When it ends without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Time>,
    /// Who may decide; the run's owner where nobody is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deciders: Vec<Principal>,
}

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ObligationKind {
    /// Somebody must allow the call. Decisions: approve, edit, deny, respond.
    Approval {
        /// Calls like this one can be allowed for the rest of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offer: Option<Pattern>,
    },
    /// The running tool asks. Decisions: answer or deny; approve or deny where it asks for permission.
    Answer {
        /// What it asks.
        question: Question,
    },
    /// The call is executed outside. Decisions: respond (with its output), fail, deny.
    External,
    /// The call was started, and nobody knows what came of it. Decisions: approve (start it again), respond (it was done,
    /// this came of it), fail (it was not, or went wrong), deny (leave it).
    Reconcile,
    /// The call is a run of its own, of an agent that is a tool, and something in there waits for somebody. Decisions: those
    /// that the inner obligation takes.
    Inner {
        /// The tool of the inner call that waits.
        tool: String,
        /// What waits in there. Its id is one of the inner run.
        obligation: Box<Obligation>,
        /// What was wrong with the decision that was given before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        feedback: Option<Box<Rejection>>,
    },
}

impl Obligation {
    /// Creates an obligation that has no end and that the run's owner decides.
    pub fn new(id: ObligationId, kind: ObligationKind, shown: Shown, since: Time) -> Self {
        Self { id, kind, shown, since, expires: None, deciders: Vec::new() }
    }

    /// What an answer to something inside of a call is bound to.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of(serde_json::to_vec(&(&self.id, &self.kind, &self.shown)).unwrap_or_default())
    }
}

impl ObligationKind {
    /// The kind's name, as it is stored.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Approval { .. } => "approval",
            Self::Answer { .. } => "answer",
            Self::External => "external",
            Self::Reconcile => "reconcile",
            Self::Inner { .. } => "inner",
        }
    }

    /// What can be decided about it; of something inside of a call, what can be decided there.
    pub(super) fn possible(&self) -> &'static str {
        match self {
            Self::Approval { .. } => "approve, edit, deny, respond",
            Self::Answer { question } if question.schema.is_none() => "approve, deny",
            Self::Answer { .. } => "answer, deny",
            Self::External => "respond, fail, deny",
            Self::Reconcile => "approve, respond, fail, deny",
            Self::Inner { obligation, .. } => obligation.kind.possible(),
        }
    }

    /// Whether it takes such a decision.
    pub(super) fn takes(&self, decision: &Decision) -> bool {
        match self {
            Self::Inner { obligation, .. } => obligation.kind.takes(decision),
            Self::Approval { offer: Some(_) } if *decision == Decision::ApproveForRun => true,
            kind => kind.possible().split(", ").any(|verb| verb == decision.verb()),
        }
    }
}

/// What somebody decides about an obligation. `I` is the tool's input, `O` its output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decision<I = Value, O = Value> {
    /// The call may run as it was shown.
    Approve,
    /// The call may run as it was shown, and so may the later ones that the offer covers.
    ApproveForRun,
    /// The call may run with these arguments in place of the model's: all of them, checked like the model's.
    Edit {
        /// All of the arguments.
        arguments: I,
    },
    /// The call must not run.
    Deny {
        /// Why; the model is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// This is the call's output; it does not run.
    Respond {
        /// The output; it must fit the tool's output type.
        output: O,
    },
    /// The answer to the tool's question.
    Answer {
        /// The answer; it must fit the question.
        value: Value,
    },
    /// The call was executed outside, and failed.
    Fail {
        /// What the model is told.
        error: String,
    },
}

/// A decision about a call of the tool `T`, typed: an edit carries its input, a response its output.
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use serde::{Deserialize, Serialize};
/// use tool_runtime::{Context, Execute, Failure, run::{Decision, DecisionFor}, tool};
///
/// /// Deletes a file.
/// #[tool(approval = always)]
/// #[derive(Serialize)]
/// struct Delete {
///     /// The file.
///     path: String,
/// }
///
/// impl Execute for Delete {
///     type Output = bool;
///     type Error = Failure;
///
///     async fn execute(self, _cx: &Context) -> Result<bool, Failure> {
///         Ok(std::fs::remove_file(self.path).is_ok())
///     }
/// }
///
/// let instead: DecisionFor<Delete> = Decision::Edit { arguments: Delete { path: "other".into() } };
/// assert_eq!(instead.erase().unwrap(), Decision::Edit { arguments: serde_json::json!({ "path": "other" }) });
/// # }
/// ```
pub type DecisionFor<T> = Decision<<T as Tool>::Input, <T as Tool>::Output>;

impl<I, O> Decision<I, O> {
    /// A denial with a reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self::Deny { reason: Some(reason.into()) }
    }

    /// What is decided, as a word or two.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::ApproveForRun => "approve for this run",
            Self::Edit { .. } => "edit",
            Self::Deny { .. } => "deny",
            Self::Respond { .. } => "respond",
            Self::Answer { .. } => "answer",
            Self::Fail { .. } => "fail",
        }
    }
}

impl<I: Serialize, O: Serialize> Decision<I, O> {
    /// The same decision with JSON in place of typed input and output.
    ///
    /// Fails when one of them has no JSON form.
    pub fn erase(self) -> Result<Decision, serde_json::Error> {
        Ok(match self {
            Self::Approve => Decision::Approve,
            Self::ApproveForRun => Decision::ApproveForRun,
            Self::Edit { arguments } => Decision::Edit { arguments: serde_json::to_value(arguments)? },
            Self::Deny { reason } => Decision::Deny { reason },
            Self::Respond { output } => Decision::Respond { output: serde_json::to_value(output)? },
            Self::Answer { value } => Decision::Answer { value },
            Self::Fail { error } => Decision::Fail { error },
        })
    }
}

/// Which calls of a tool are like one another: those whose arguments have these values, whatever the others are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(pub Map<String, Value>);

impl Pattern {
    /// Returns whether arguments fit that are written like this: by name, defaults filled in, each as JSON. These are the
    /// texts that [`ToolSpec::written`](crate::tool::ToolSpec::written) returns.
    ///
    /// Numbers are compared by value and to the last digit: `1.0` is `1`, and 18446744073709551617 is nothing else. A
    /// [`Value`] cannot hold such a number, so no pattern covers it.
    pub fn covers(&self, written: &[(String, String)]) -> bool {
        let fits = |name: &str, value: &Value| {
            let text = written.iter().find(|(known, _)| known == name);
            text.is_some_and(|(_, text)| json::same(text, &value.to_string()))
        };
        self.0.iter().all(|(name, value)| fits(name, value))
    }
}

/// Calls that somebody allowed for the rest of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Allowance {
    /// Of this tool, as it was.
    pub tool: Fingerprint,
    /// With these arguments.
    pub pattern: Pattern,
    /// By whom.
    pub by: Principal,
}
