//! Prompts, their places in the conversation, and the pieces of a model's turn.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CallId, Principal, Time};
use crate::message::{AssistantPart, Part};

/// Something that somebody said to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Prompt {
    /// Text and images.
    pub content: Vec<Part>,
    /// The principal that said it.
    pub by: Principal,
    /// When.
    pub at: Time,
    /// The tool that ends the run when a call of it succeeds: how a typed answer is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The id that its author has for it, such as a frontend's id of the message. A claim: nothing is allowed because of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Tools whose outputs hold text of strangers, and may have made their way into it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taint: Vec<String>,
    /// The schema of that tool's arguments, where it is no tool of the application: so that another process can offer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Arc<Value>>,
    /// Set if it joins what goes on: said between two turns, without ending anything and without beginning anew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub steers: bool,
}

impl Prompt {
    /// A prompt of `content`.
    pub fn new(content: Vec<Part>, by: Principal, at: Time) -> Self {
        Self { content, by, at, until: None, id: None, taint: Vec::new(), answer: None, steers: false }
    }

    /// Sets the id that its author has for it.
    pub fn named(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Lets a successful call of the tool `name` answer it.
    pub fn until(mut self, name: impl Into<String>) -> Self {
        self.until = Some(name.into());
        self
    }

    /// Sets the schema of that tool's arguments, for any process that goes on with the run.
    pub fn answered_as(mut self, schema: Value) -> Self {
        self.answer = Some(Arc::new(schema));
        self
    }

    /// Lets it join a run that goes on, between two turns.
    pub fn steering(mut self) -> Self {
        self.steers = true;
        self
    }
}

/// The place of a prompt in the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Said {
    /// The id that its author has for it ([`Prompt::id`](super::Prompt::id)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The place among the messages ([`Run::messages`](super::Run::messages)).
    pub at: u32,
    /// Set if it joined what went on ([`Prompt::steers`](super::Prompt::steers)).
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
