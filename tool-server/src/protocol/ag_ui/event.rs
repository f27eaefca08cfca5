//! The events of AG-UI 1.0: all of them, with every field.

use serde::Serialize;
use serde_json::{Map, Value};

use super::frame::{EncryptedFor, ReasoningRole, TextRole, ToolRole, is_nothing};
use super::{Content, Message, Outcome, SubagentOutcome, TokenUsage};

/// What an event borrows: a JSON object.
pub type Object = Map<String, Value>;

/// An event of AG-UI 1.0. It borrows what it says, so that writing it costs no memory.
///
/// What is `None` is absent on the wire, never `null`: clients refuse that.
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
        /// What was asked.
        #[serde(skip_serializing_if = "Option::is_none")]
        input: Option<&'a Value>,
    },
    /// The run came to its end.
    RunFinished {
        /// The conversation.
        thread_id: &'a str,
        /// The run.
        run_id: &'a str,
        /// What came of it.
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
        /// What a person is told.
        message: &'a str,
        /// What a program goes by.
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
        /// Who says it; the assistant where nothing is said.
        #[serde(skip_serializing_if = "Option::is_none")]
        role: Option<TextRole>,
        /// The name of who says it.
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
        /// Who says it.
        #[serde(skip_serializing_if = "Option::is_none")]
        role: Option<TextRole>,
        /// The next piece.
        #[serde(skip_serializing_if = "Option::is_none")]
        delta: Option<&'a str>,
        /// The name of who says it.
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
    /// More of a call's arguments.
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
        /// What kind of thing it is.
        activity_type: &'a str,
        /// What is shown.
        content: &'a Object,
        /// Whether it replaces what was shown; true where nothing is said.
        #[serde(skip_serializing_if = "Option::is_none")]
        replace: Option<bool>,
    },
    /// A change of something that goes on.
    ActivityDelta {
        /// The message that shows it.
        message_id: &'a str,
        /// What kind of thing it is.
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
    /// What only the server can read, for the client to keep and give back.
    ReasoningEncryptedValue {
        /// What it belongs to.
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
        /// What it does.
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
        /// What came of it.
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
        /// What a person is told.
        message: &'a str,
        /// What a program goes by.
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
        /// What it says; may be `null`.
        value: &'a Value,
    },
}
