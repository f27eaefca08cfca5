//! What somebody says to a run.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Principal, Time};
use crate::message::Part;

/// Something that somebody said to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Prompt {
    /// Text and images.
    pub content: Vec<Part>,
    /// Who said it.
    pub by: Principal,
    /// When.
    pub at: Time,
    /// The tool that ends the run when a call of it succeeds: how a typed answer is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// What whoever said it calls it, such as a frontend's id of the message. A claim: nothing is allowed because of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Tools whose outputs hold text of strangers, and may have made their way into it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taint: Vec<String>,
    /// The schema of that tool's arguments, where it is no tool of the application: so that another process can offer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Arc<Value>>,
    /// Whether it joins what goes on: said between two turns, without ending anything and without beginning anew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub steers: bool,
}

impl Prompt {
    /// A prompt of `content`.
    pub fn new(content: Vec<Part>, by: Principal, at: Time) -> Self {
        Self { content, by, at, until: None, id: None, taint: Vec::new(), answer: None, steers: false }
    }

    /// The same, under the id that whoever said it has for it.
    pub fn named(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The same, answered by a successful call of the tool `name`.
    pub fn until(mut self, name: impl Into<String>) -> Self {
        self.until = Some(name.into());
        self
    }

    /// The same, with the schema of that tool's arguments, for any process that goes on with the run.
    pub fn answered_as(mut self, schema: Value) -> Self {
        self.answer = Some(Arc::new(schema));
        self
    }

    /// The same, said between two turns of a run that goes on.
    pub fn steering(mut self) -> Self {
        self.steers = true;
        self
    }
}
