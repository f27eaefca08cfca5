//! What was said in a run, and where.

use serde::{Deserialize, Serialize};

use super::CallId;
use crate::message::AssistantPart;

/// Where in a conversation somebody said something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Said {
    /// What whoever said it calls it ([`Prompt::id`](super::Prompt::id)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The place among the messages ([`Run::messages`](super::Run::messages)).
    pub at: u32,
    /// Whether it joined what went on ([`Prompt::steers`](super::Prompt::steers)).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub steers: bool,
}

/// A piece of a model's turn in the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum TurnPart {
    /// A call, logged before.
    Call {
        /// Its id.
        call: CallId,
    },
    /// Text or reasoning.
    Said(AssistantPart),
}
