//! What a client asks for: `RunAgentInput`.

mod fields;
mod message;
mod tool;

use std::fmt;

use serde_json::{Value, value::RawValue};

use self::fields::Fields;
use super::Level;
use super::event::Object;
use super::message::Message;
use crate::protocol::members::{self, Members};
use crate::protocol::whole::whole;

/// How many remarks about one input are kept.
const MOST_WARNINGS: usize = 16;

/// What a client asks for: the conversation as it knows it, its own tools, and answers. All of it is a claim.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RunInput {
    /// The conversation.
    pub thread_id: String,
    /// What the client calls the run. Clients reuse it, so nothing here is named after it.
    pub run_id: String,
    /// The version of the protocol that the client speaks; those before 1.0 do not say.
    pub protocol_version: Option<String>,
    /// The run that spawned this one.
    pub parent_run_id: Option<String>,
    /// The state that the run starts from; an empty object where nothing was said.
    pub state: Value,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The tools that the application executes.
    pub tools: Vec<ClientTool>,
    /// What the application wants the model to know.
    pub context: Vec<ContextEntry>,
    /// Whatever the application passes on.
    pub forwarded_props: Option<Value>,
    /// Answers to interrupts.
    pub resume: Vec<ResumeEntry>,
    /// The sealed run, as the latest answer gave it: the `encryptedValue` of the last message that has one.
    pub sealed: Option<String>,
    /// The message that keeps it, by its id.
    pub sealed_by: Option<String>,
    /// The messages that keep older ones, by their ids.
    pub sealed_before: Vec<String>,
    /// What was not understood and left out.
    pub warnings: Vec<String>,
}

/// A tool that the application executes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClientTool {
    /// The name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What should be the JSON Schema of its arguments.
    pub parameters: Option<Value>,
    /// Anything else.
    pub metadata: Option<Object>,
}

/// Something that the application wants the model to know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextEntry {
    /// What it is.
    pub description: String,
    /// It.
    pub value: String,
}

/// The answer to an interrupt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ResumeEntry {
    /// Which one.
    pub interrupt_id: String,
    /// Whether it was answered.
    pub status: ResumeStatus,
    /// The answer.
    pub payload: Option<Value>,
    /// What is said about the answer.
    pub metadata: Option<Object>,
}

/// Whether an interrupt was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeStatus {
    /// It was.
    Resolved,
    /// Nobody wants to answer it.
    Cancelled,
}

/// An input that cannot be used: it is no JSON, or a known member of it is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Malformed {
    /// Where: such as `messages[2].toolCallId`; empty for the input as a whole.
    pub path: String,
    /// What was expected there.
    pub expected: String,
    /// What came, shortened.
    pub got: Option<String>,
}

impl RunInput {
    /// Reads the body of a request.
    ///
    /// Members, roles and parts that are not known are left out and named in [`RunInput::warnings`], and `null` is taken for
    /// an absent member, as clients before 1.0 write it.
    ///
    /// Fails when it is no JSON, or a known member is not what it should be; outside of the messages, one that is nested deeper
    /// than 127 levels is not.
    ///
    /// ```
    /// use tool_server::protocol::ag_ui::RunInput;
    ///
    /// let body = br#"{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"Hi"}],"tools":null}"#;
    /// assert_eq!(RunInput::read(body).unwrap().messages.len(), 1);
    ///
    /// let error = RunInput::read(br#"{"threadId":"t","runId":7,"messages":[]}"#).unwrap_err();
    /// assert_eq!(error.to_string(), "runId: expected a text, got 7");
    /// ```
    pub fn read(body: &[u8]) -> Result<Self, Malformed> {
        let body = whole(body);
        let members = Members::read(&body).map_err(|error| {
            let wanted = if error.is_data() { "an object".to_owned() } else { format!("JSON ({error})") };
            Malformed::new("", wanted)
        })?;
        let mut fields = Fields::whole(members);
        let mut input = Self {
            thread_id: fields.text("threadId")?,
            run_id: fields.text("runId")?,
            protocol_version: fields.maybe_text("protocolVersion")?,
            parent_run_id: fields.maybe_text("parentRunId")?,
            state: fields.any("state")?.unwrap_or_else(|| Value::Object(Object::new())),
            forwarded_props: fields.any("forwardedProps")?,
            ..Self::default()
        };
        let messages = fields.list("messages")?.ok_or_else(|| Malformed::new("messages", "a list of messages"))?;
        for (path, value) in messages {
            message::read(value, &path, &mut input)?;
        }
        input.tools = fields.items("tools", tool::client_tool)?;
        input.context = fields.items("context", tool::context_entry)?;
        input.resume = fields.items("resume", tool::resume_entry)?;
        input.warnings.extend(fields.unknown().map(|name| format!("the input's member {name} is not known")));
        input.warnings.truncate(MOST_WARNINGS);
        Ok(input)
    }

    /// What the client can be sent.
    pub fn level(&self) -> Level {
        Level::of(self.protocol_version.as_deref())
    }
}

impl Malformed {
    fn new(path: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { path: path.into(), expected: expected.into(), got: None }
    }

    fn got(mut self, value: &RawValue) -> Self {
        self.got = members::value(value).map(|value: Value| tool_runtime::feedback::shorten(&value));
        self
    }

    fn got_text(mut self, text: &str) -> Self {
        self.got = Some(tool_runtime::feedback::shorten(&text.into()));
        self
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the input" } else { &self.path };
        write!(out, "{path}: expected {}", self.expected)?;
        match &self.got {
            Some(got) => write!(out, ", got {got}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Malformed {}
