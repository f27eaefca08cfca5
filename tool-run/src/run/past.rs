//! The past of a call: replaced arguments, decisions, answers, steps.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Answer, Decision, Principal};
use crate::digest::Digest;

/// The past of a call. Most calls have none.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Past {
    /// Arguments that were replaced.
    pub revisions: Vec<ArgumentRevision>,
    /// How many interrupts there were.
    #[serde(rename = "obligations")]
    pub interrupts: u32,
    /// The last of them whose decision replaced the arguments; none has the number 0.
    #[serde(default)]
    pub edited: u32,
    /// Set if the call was announced to whoever executes it outside.
    #[serde(default)]
    pub handed_out: bool,
    /// The decisions about them.
    pub decided: Vec<Decided>,
    /// Questions of the tool, and their answers, in order.
    pub answers: Vec<Answered>,
    /// Results of steps, in order.
    pub steps: Vec<StepResult>,
    /// The names of steps that were begun and have no result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub begun: Vec<String>,
}

/// A decision that was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    #[serde(rename = "obligation")]
    pub interrupt: u32,
    pub decision: Decision,
    pub by: Principal,
}

/// A question that a tool asked, and what was answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Answered {
    /// The digest of the question.
    pub question: Digest,
    /// The answer.
    pub answer: Answer,
}

/// A step of a tool that is not taken twice: its name and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StepResult {
    /// The name that the tool gave it.
    pub name: String,
    /// The result.
    pub value: Value,
}

/// Arguments of a call, and who wrote them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ArgumentRevision {
    /// The JSON text.
    pub text: Arc<str>,
    /// Its digest.
    pub digest: Digest,
    /// The person who wrote them in place of the model's; `None` for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Principal>,
    /// The author.
    #[serde(default, skip_serializing_if = "Author::is_model")]
    pub author: Author,
}

/// The author of a call's arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Author {
    /// The model.
    #[default]
    Model,
    /// A person, at an approval.
    Person,
    /// The tool's validators.
    Validators,
    /// The application, which refined what the tool had accepted.
    Refinement,
    /// The application, which repaired what the tool had refused.
    Repair,
}

impl Author {
    pub(super) fn validators() -> Self {
        Self::Validators
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
    pub(super) fn is_validators(&self) -> bool {
        *self == Self::Validators
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
    fn is_model(&self) -> bool {
        *self == Self::Model
    }
}

impl ArgumentRevision {
    pub(super) fn new(text: Arc<str>, author: Author) -> Self {
        Self { digest: Digest::of(text.as_bytes()), text, by: None, author }
    }

    pub(super) fn of_person(text: Arc<str>, by: Principal) -> Self {
        Self { by: Some(by), ..Self::new(text, Author::Person) }
    }
}
