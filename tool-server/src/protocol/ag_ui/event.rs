//! The events of AG-UI 1.0 that a server writes as frames of an event stream.

use serde::Serialize;
use serde_json::{Map, Value};
use tool_runtime::model::Usage;

use super::Content;

/// A JSON object.
pub type Object = Map<String, Value>;

/// An event of AG-UI 1.0. It borrows its members, so that writing it does not allocate.
///
/// Members that are `None` are not written, because clients refuse `null`.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
pub enum Event<'a> {
    /// The run begins. This is the first event.
    RunStarted {
        thread_id: &'a str,
        /// The client's id of the run.
        run_id: &'a str,
        /// The version of the protocol that the server speaks.
        protocol_version: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<&'a Object>,
    },
    /// The run has ended without an error.
    RunFinished {
        thread_id: &'a str,
        run_id: &'a str,
        /// The outcome; absent means success.
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<&'a Outcome>,
        /// Tokens used, by model.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<&'a [TokenUsage]>,
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<&'a Object>,
    },
    /// The run failed.
    RunError {
        /// The message for people.
        message: &'a str,
        /// The code for programs.
        code: &'a str,
        /// Tokens used, by model.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<&'a [TokenUsage]>,
    },
    /// A message begins.
    TextMessageStart {
        message_id: &'a str,
        /// The author: `assistant`.
        role: &'static str,
    },
    /// A delta of a message.
    TextMessageContent { message_id: &'a str, delta: &'a str },
    /// A message is complete.
    TextMessageEnd { message_id: &'a str },
    /// A call begins.
    ToolCallStart {
        tool_call_id: &'a str,
        tool_call_name: &'a str,
        /// The assistant's message that the call is part of.
        parent_message_id: &'a str,
    },
    /// A delta of the text of a call's arguments.
    ToolCallArgs { tool_call_id: &'a str, delta: &'a str },
    /// A call's arguments are complete.
    ToolCallEnd { tool_call_id: &'a str },
    /// A call's result.
    ToolCallResult {
        /// The id of the message that holds the result.
        message_id: &'a str,
        tool_call_id: &'a str,
        content: &'a Content,
    },
    /// All messages of the conversation.
    MessagesSnapshot { messages: &'a [Value] },
    /// The whole state.
    StateSnapshot { snapshot: &'a Value },
    /// A change of the state: a JSON Patch (RFC 6902).
    StateDelta { delta: &'a Value },
    /// An activity, for display only.
    ActivitySnapshot {
        /// The id of the message that shows the activity.
        message_id: &'a str,
        activity_type: &'a str,
        content: &'a Object,
    },
    /// A change of an activity: a JSON Patch (RFC 6902).
    ActivityDelta { message_id: &'a str, activity_type: &'a str, patch: &'a Value },
    /// A span of reasoning begins. The id is the span's.
    ReasoningStart { message_id: &'a str },
    /// A reasoning message begins.
    ReasoningMessageStart {
        message_id: &'a str,
        /// The author: `reasoning`.
        role: &'static str,
    },
    /// A delta of a reasoning message.
    ReasoningMessageContent { message_id: &'a str, delta: &'a str },
    /// A reasoning message is complete.
    ReasoningMessageEnd { message_id: &'a str },
    /// The span of reasoning has ended.
    ReasoningEnd { message_id: &'a str },
    /// A value that only the server can read. The client keeps it and sends it back.
    ReasoningEncryptedValue {
        /// The kind of entity that keeps the value: `message`.
        subtype: &'static str,
        entity_id: &'a str,
        encrypted_value: &'a str,
    },
    /// An application-specific event.
    Custom { name: &'a str, value: &'a Value },
}

impl Event<'_> {
    /// Appends the event to `out` as one frame, with lines that end in LF.
    pub fn write(&self, out: &mut Vec<u8>) {
        let before = out.len();
        out.extend_from_slice(b"data: ");
        match serde_json::to_writer(&mut *out, self) {
            Ok(()) => out.extend_from_slice(b"\n\n"),
            // Texts and JSON values can always be written. An incomplete frame would break the client's whole stream.
            Err(_) => out.truncate(before),
        }
    }
}

/// The outcome of a run.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Outcome {
    /// The run has ended, or waits for calls that the client executes.
    Success {
        /// The calls that the client has to execute, in the order in which the model made them. Since 1.0.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pending_tool_call_ids: Vec<String>,
    },
    /// The run waits for answers.
    Interrupt {
        /// The interrupts; at least one.
        interrupts: Vec<Interrupt>,
    },
    /// The run was cancelled. Since 1.0.
    Cancelled,
}

/// An interrupt: a point where the run waits for an answer.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Interrupt {
    /// The id that the answer names.
    pub id: String,
    /// The kind of answer: `tool_call`, `input_required`, `confirmation`, or a name of the server's own.
    pub reason: String,
    /// The question to the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The call that the interrupt belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The JSON Schema of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_schema: Option<Object>,
    /// The time until which a client can answer the interrupt, as ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
}

/// Tokens that a run used.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens of the requests to the model, cached ones included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of the model's turns, reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// The sum of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// Tokens of the model's turns that were reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Tokens of the requests that the provider had cached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
}

impl TokenUsage {
    /// Returns the tokens that `model` used, or `None` if the count is zero.
    pub fn of(used: Usage, model: Option<&str>) -> Option<Self> {
        // The protocol's integers are those of JavaScript.
        let count = |tokens: u64| Some(tokens.min((1 << 53) - 1)).filter(|tokens| *tokens > 0);
        let total = used.total();
        count(total).map(|total| Self {
            model: model.map(str::to_owned),
            input_tokens: count(used.input_tokens),
            output_tokens: count(used.output_tokens),
            total_tokens: Some(total),
            reasoning_tokens: count(used.reasoning_tokens),
            cached_input_tokens: count(used.cached_tokens),
        })
    }
}

/// Returns a JSON object with these members.
pub fn object<const N: usize>(members: [(&str, Value); N]) -> Object {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
