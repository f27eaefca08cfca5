//! The events of AG-UI 1.0, with all their fields, as the frames of an event stream.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Content, Message, Outcome, SubagentOutcome, TokenUsage};

/// A JSON object.
pub type Object = Map<String, Value>;

/// An event of AG-UI 1.0. It borrows what it says, so that writing it costs no memory.
///
/// Members that are `None` are absent on the wire, never `null`: clients refuse that.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Event<'a> {
    /// The run begins. The first event.
    RunStarted {
        /// The conversation.
        thread_id: &'a str,
        /// The run, as its input called it.
        run_id: &'a str,
        /// The version of the protocol that the server speaks.
        #[serde(skip_serializing_if = "Option::is_none")]
        protocol_version: Option<&'a str>,
        /// The run that spawned this one.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_run_id: Option<&'a str>,
        /// The request.
        #[serde(skip_serializing_if = "Option::is_none")]
        input: Option<&'a Value>,
    },
    /// The run came to its end.
    RunFinished {
        /// The conversation.
        thread_id: &'a str,
        /// The run.
        run_id: &'a str,
        /// The result.
        #[serde(skip_serializing_if = "is_nothing")]
        result: Option<&'a Value>,
        /// How it ended; absent means success.
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<&'a Outcome>,
        /// Tokens used, by model.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<&'a [TokenUsage]>,
    },
    /// The run failed.
    RunError {
        /// The message for people.
        message: &'a str,
        /// The code for programs.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<&'a str>,
        /// Tokens used, by model.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<&'a [TokenUsage]>,
    },
    /// A step begins.
    StepStarted {
        /// Its name.
        step_name: &'a str,
    },
    /// A step ended.
    StepFinished {
        /// Its name.
        step_name: &'a str,
    },
    /// A message begins.
    TextMessageStart {
        /// The message.
        message_id: &'a str,
        /// The author; the assistant by default.
        #[serde(skip_serializing_if = "Option::is_none")]
        role: Option<TextRole>,
        /// The author's name.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
    },
    /// More of a message.
    TextMessageContent {
        /// The message.
        message_id: &'a str,
        /// The next piece.
        delta: &'a str,
    },
    /// A message is complete.
    TextMessageEnd {
        /// The message.
        message_id: &'a str,
    },
    /// A message's beginning, more of it, or both.
    TextMessageChunk {
        /// The message; needed in the first.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<&'a str>,
        /// The author.
        #[serde(skip_serializing_if = "Option::is_none")]
        role: Option<TextRole>,
        /// The next piece.
        #[serde(skip_serializing_if = "Option::is_none")]
        delta: Option<&'a str>,
        /// The author's name.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
    },
    /// A call begins.
    ToolCallStart {
        /// The call.
        tool_call_id: &'a str,
        /// The tool.
        tool_call_name: &'a str,
        /// The assistant's message that the call is part of.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_message_id: Option<&'a str>,
    },
    /// Writes more of a call's arguments.
    ToolCallArgs {
        /// The call.
        tool_call_id: &'a str,
        /// The next piece of the text.
        delta: &'a str,
    },
    /// A call's arguments are complete.
    ToolCallEnd {
        /// The call.
        tool_call_id: &'a str,
    },
    /// A call's beginning, more of its arguments, or both.
    ToolCallChunk {
        /// The call; needed in the first.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<&'a str>,
        /// The tool; needed in the first.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_call_name: Option<&'a str>,
        /// The assistant's message that the call is part of.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_message_id: Option<&'a str>,
        /// The next piece of the text.
        #[serde(skip_serializing_if = "Option::is_none")]
        delta: Option<&'a str>,
    },
    /// A call's result.
    ToolCallResult {
        /// The message that the result is.
        message_id: &'a str,
        /// The call.
        tool_call_id: &'a str,
        /// The result.
        content: &'a Content,
        /// Always the tool's.
        #[serde(skip_serializing_if = "Option::is_none")]
        role: Option<ToolRole>,
    },
    /// The whole state.
    StateSnapshot {
        /// The state; may be `null`.
        snapshot: &'a Value,
    },
    /// A change of the state.
    StateDelta {
        /// A JSON Patch (RFC 6902).
        delta: &'a Value,
    },
    /// The whole conversation. Not for what was streamed already: clients would have it twice.
    MessagesSnapshot {
        /// The conversation.
        messages: &'a [Message],
    },
    /// Something that goes on, for display only.
    ActivitySnapshot {
        /// The message that shows it.
        message_id: &'a str,
        /// The kind of activity.
        activity_type: &'a str,
        /// The content that is shown.
        content: &'a Object,
        /// True if it replaces the content that was shown; that is the default.
        #[serde(skip_serializing_if = "Option::is_none")]
        replace: Option<bool>,
    },
    /// A change of something that goes on.
    ActivityDelta {
        /// The message that shows it.
        message_id: &'a str,
        /// The kind of activity.
        activity_type: &'a str,
        /// A JSON Patch (RFC 6902).
        patch: &'a Value,
    },
    /// The model begins to think.
    ReasoningStart {
        /// The span.
        message_id: &'a str,
    },
    /// A message of thoughts begins.
    ReasoningMessageStart {
        /// The message.
        message_id: &'a str,
        /// Always `reasoning`; needed.
        role: ReasoningRole,
    },
    /// More of a message of thoughts.
    ReasoningMessageContent {
        /// The message.
        message_id: &'a str,
        /// The next piece.
        delta: &'a str,
    },
    /// A message of thoughts is complete.
    ReasoningMessageEnd {
        /// The message.
        message_id: &'a str,
    },
    /// A message of thoughts: its beginning, more of it, or both.
    ReasoningMessageChunk {
        /// The message; needed in the first.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<&'a str>,
        /// The next piece.
        #[serde(skip_serializing_if = "Option::is_none")]
        delta: Option<&'a str>,
    },
    /// The model has thought.
    ReasoningEnd {
        /// The span.
        message_id: &'a str,
    },
    /// A value that only the server can read, for the client to keep and send back.
    ReasoningEncryptedValue {
        /// The kind of thing that it belongs to.
        subtype: EncryptedFor,
        /// The id of that.
        entity_id: &'a str,
        /// The value.
        encrypted_value: &'a str,
    },
    /// A subagent begins.
    SubagentStarted {
        /// The subagent's run.
        subagent_run_id: &'a str,
        /// Its name.
        name: &'a str,
        /// The description.
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        /// The subagent that started it.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_subagent_run_id: Option<&'a str>,
        /// The call that started it.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<&'a str>,
        /// The message that started it.
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_message_id: Option<&'a str>,
    },
    /// A subagent came to its end.
    SubagentFinished {
        /// The subagent's run.
        subagent_run_id: &'a str,
        /// The result.
        #[serde(skip_serializing_if = "is_nothing")]
        result: Option<&'a Value>,
        /// How it ended.
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<&'a SubagentOutcome>,
    },
    /// A subagent failed.
    SubagentError {
        /// The subagent's run.
        subagent_run_id: &'a str,
        /// The message for people.
        message: &'a str,
        /// The code for programs.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<&'a str>,
    },
    /// An event of another system, as it was.
    Raw {
        /// The event.
        event: &'a Value,
        /// Where it comes from.
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<&'a str>,
    },
    /// An event of the application's own.
    Custom {
        /// Its name.
        name: &'a str,
        /// The value; may be `null`.
        value: &'a Value,
    },
}

/// Members that any event may have.
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

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TextRole {
    /// The developer of the program.
    Developer,
    /// The operator of the program.
    System,
    /// The model.
    Assistant,
    /// The person.
    User,
}

/// The author of a call's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolRole {
    /// The tool.
    Tool,
}

/// The author of thoughts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningRole {
    /// The model's.
    Reasoning,
}

/// The kind of thing that an encrypted value belongs to.
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

    /// Appends the event with members of the envelope.
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

/// Returns `true` if a member is absent, because its value is missing or `null`.
#[allow(clippy::ref_option_ref, clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_nothing(value: &Option<&Value>) -> bool {
    value.is_none_or(Value::is_null)
}
