//! Events as the frames of an event stream.

use serde::Serialize;
use serde_json::Value;

use super::event::{Event, Object};

/// What clients may be told beside an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope<'a> {
    /// When it happened: milliseconds since 1970, at most 2^53 − 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    /// The event of another system that it was made of.
    #[serde(skip_serializing_if = "is_nothing")]
    pub raw_event: Option<&'a Value>,
    /// Anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<&'a Object>,
    /// The subagent that it is about. Not for `RUN_…` and `MESSAGES_SNAPSHOT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent_run_id: Option<&'a str>,
}

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TextRole {
    /// Whoever wrote the program.
    Developer,
    /// Whoever runs it.
    System,
    /// The model.
    Assistant,
    /// The person.
    User,
}

/// Who gives a call's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolRole {
    /// The tool.
    Tool,
}

/// Whose thoughts they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningRole {
    /// The model's.
    Reasoning,
}

/// What an encrypted value belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EncryptedFor {
    /// A call.
    ToolCall,
    /// A message.
    Message,
}

impl Event<'_> {
    /// Appends the event to `out`: one frame, whose lines end in LF.
    ///
    /// ```
    /// use tool_server::protocol::ag_ui::Event;
    ///
    /// let mut out = Vec::new();
    /// Event::StepStarted { step_name: "search" }.write(&mut out);
    /// assert_eq!(out, b"data: {\"type\":\"STEP_STARTED\",\"stepName\":\"search\"}\n\n");
    /// ```
    pub fn write(&self, out: &mut Vec<u8>) {
        frame(self, out);
    }

    /// The same with what is told beside it.
    pub fn write_with(&self, envelope: &Envelope<'_>, out: &mut Vec<u8>) {
        #[derive(Serialize)]
        struct Whole<'a> {
            #[serde(flatten)]
            event: &'a Event<'a>,
            #[serde(flatten)]
            envelope: &'a Envelope<'a>,
        }
        frame(&Whole { event: self, envelope }, out);
    }
}

fn frame(event: &impl Serialize, out: &mut Vec<u8>) {
    let before = out.len();
    out.extend_from_slice(b"data: ");
    match serde_json::to_writer(&mut *out, event) {
        Ok(()) => out.extend_from_slice(b"\n\n"),
        // Texts and JSON values can always be written; half a frame would cost the client the whole stream.
        Err(_) => out.truncate(before),
    }
}

/// Whether a member must be absent that may be anything but `null`.
#[allow(clippy::ref_option_ref, clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
pub(super) fn is_nothing(value: &Option<&Value>) -> bool {
    value.is_none_or(Value::is_null)
}
