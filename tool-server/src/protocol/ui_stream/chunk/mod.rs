//! Every chunk of the stream, and every field of it.

mod define;
mod value;

pub use value::{Finish, Json};

use self::define::chunks;
use super::Level;
use super::encode::{Field, text};

chunks! {
    /// The answer begins.
    Start = "start" since V6 {
        /// The id of the message that is answered with, or gone on with.
        message_id: Option<&'a str> = "messageId" since V6,
        /// Anything the application wants to keep with the message.
        message_metadata: Option<Json<'a>> = "messageMetadata" since V6,
    }
    /// A turn of the model begins.
    StartStep = "start-step" since V6 {}
    /// A turn of the model has ended, and so have its calls, or they wait.
    FinishStep = "finish-step" since V6 {}
    /// What came since the last `start-step` is void.
    ResetStep = "reset-step" since V7 {}
    /// The answer ends.
    Finish = "finish" since V6 {
        /// Why.
        finish_reason: Option<Finish> = "finishReason" since V6,
        /// See [`Chunk::Start`].
        message_metadata: Option<Json<'a>> = "messageMetadata" since V6,
    }
    /// The answer was cancelled.
    Abort = "abort" since V6 {
        /// Why.
        reason: Option<&'a str> = "reason" since V6,
    }
    /// More for the application to keep with the message.
    MessageMetadata = "message-metadata" since V6 {
        /// What.
        message_metadata: Json<'a> = "messageMetadata" since V6,
    }
    /// The answer failed. Clients stop reading here.
    Error = "error" since V6 {
        /// What the user is told.
        error_text: &'a str = "errorText" since V6,
    }
    /// Text begins.
    TextStart = "text-start" since V6 {
        /// Tells texts apart.
        id: &'a str = "id" since V6,
        /// For the application, by provider.
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
    }
    /// More text.
    TextDelta = "text-delta" since V6 {
        /// Which text.
        id: &'a str = "id" since V6,
        /// What comes next of it.
        delta: &'a str = "delta" since V6,
        /// For the application, by provider.
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
    }
    /// A text is complete.
    TextEnd = "text-end" since V6 {
        /// Which.
        id: &'a str = "id" since V6,
        /// A list of citations.
        citations: Option<Json<'a>> = "citations" since V7,
        /// For the application, by provider.
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
    }
    /// Reasoning begins.
    ReasoningStart = "reasoning-start" since V6 {
        /// Tells reasonings apart.
        id: &'a str = "id" since V6,
        /// For the application, by provider.
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
    }
    /// More reasoning.
    ReasoningDelta = "reasoning-delta" since V6 {
        /// Which.
        id: &'a str = "id" since V6,
        /// What comes next of it.
        delta: &'a str = "delta" since V6,
        /// For the application, by provider.
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
    }
    /// Reasoning is complete.
    ReasoningEnd = "reasoning-end" since V6 {
        /// Which.
        id: &'a str = "id" since V6,
        /// For the application, by provider.
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
    }
    /// The model begins a call.
    ToolInputStart = "tool-input-start" since V6 {
        /// The call.
        tool_call_id: &'a str = "toolCallId" since V6,
        /// The tool.
        tool_name: &'a str = "toolName" since V6,
        /// `json` or `text`; without it, JSON.
        input_encoding: Option<&'a str> = "inputEncoding" since V6,
        /// Whether the model's provider runs the tool.
        provider_executed: Option<bool> = "providerExecuted" since V6,
        /// For the application, by provider.
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
        /// An object about the tool.
        tool_metadata: Option<Json<'a>> = "toolMetadata" since V6,
        /// Whether the frontend does not know the tool's types.
        dynamic: Option<bool> = "dynamic" since V6,
        /// The tool's name for people.
        title: Option<&'a str> = "title" since V6,
    }
    /// More of a call's arguments.
    ToolInputDelta = "tool-input-delta" since V6 {
        /// The call.
        tool_call_id: &'a str = "toolCallId" since V6,
        /// What comes next of their text.
        input_text_delta: &'a str = "inputTextDelta" since V6,
    }
    /// A call's arguments are complete and accepted. A client executes its own tools at this.
    ToolInputAvailable = "tool-input-available" since V6 {
        /// The call.
        tool_call_id: &'a str = "toolCallId" since V6,
        /// The tool.
        tool_name: &'a str = "toolName" since V6,
        /// The arguments.
        input: Json<'a> = "input" since V6,
        /// Whether the model's provider runs the tool.
        provider_executed: Option<bool> = "providerExecuted" since V6,
        /// For the application, by provider.
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
        /// An object about the tool.
        tool_metadata: Option<Json<'a>> = "toolMetadata" since V6,
        /// Whether the frontend does not know the tool's types.
        dynamic: Option<bool> = "dynamic" since V6,
        /// The tool's name for people.
        title: Option<&'a str> = "title" since V6,
    }
    /// A call's arguments are wrong.
    ToolInputError = "tool-input-error" since V6 {
        /// The call.
        tool_call_id: &'a str = "toolCallId" since V6,
        /// The tool.
        tool_name: &'a str = "toolName" since V6,
        /// The arguments, as far as they can be shown.
        input: Json<'a> = "input" since V6,
        /// What is wrong.
        error_text: &'a str = "errorText" since V6,
        /// Whether the model's provider runs the tool.
        provider_executed: Option<bool> = "providerExecuted" since V6,
        /// For the application, by provider.
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
        /// An object about the tool.
        tool_metadata: Option<Json<'a>> = "toolMetadata" since V6,
        /// Whether the frontend does not know the tool's types.
        dynamic: Option<bool> = "dynamic" since V6,
        /// The tool's name for people.
        title: Option<&'a str> = "title" since V6,
    }
    /// Somebody must approve a call.
    ToolApprovalRequest = "tool-approval-request" since V6 {
        /// What the answer names.
        approval_id: &'a str = "approvalId" since V6,
        /// The call.
        tool_call_id: &'a str = "toolCallId" since V6,
        /// Anything about the approval; carried back untouched.
        approval_descriptor: Option<Json<'a>> = "approvalDescriptor" since V6,
        /// The arguments before they were changed.
        input_schema_input: Option<Json<'a>> = "inputSchemaInput" since V6,
        /// Why it is asked.
        reason: Option<&'a str> = "reason" since V7,
        /// Whether a policy answers, and nobody is asked.
        is_automatic: Option<bool> = "isAutomatic" since V7,
        /// What proves the request; carried back untouched.
        signature: Option<&'a str> = "signature" since V6,
    }
    /// A call was approved or denied, not by this client.
    ToolApprovalResponse = "tool-approval-response" since V7 {
        /// What was asked.
        approval_id: &'a str = "approvalId" since V7,
        /// Whether it was approved.
        approved: bool = "approved" since V7,
        /// Why.
        reason: Option<&'a str> = "reason" since V7,
        /// Whether the model's provider runs the tool.
        provider_executed: Option<bool> = "providerExecuted" since V7,
        /// For the application, by provider.
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V7,
    }
    /// A call's output.
    ToolOutputAvailable = "tool-output-available" since V6 {
        /// The call.
        tool_call_id: &'a str = "toolCallId" since V6,
        /// The output.
        output: Json<'a> = "output" since V6,
        /// Whether the model's provider ran the tool.
        provider_executed: Option<bool> = "providerExecuted" since V6,
        /// For the application, by provider; carried back untouched.
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
        /// An object about the tool.
        tool_metadata: Option<Json<'a>> = "toolMetadata" since V6,
        /// Whether the frontend does not know the tool's types.
        dynamic: Option<bool> = "dynamic" since V6,
        /// Whether a later output replaces it.
        preliminary: Option<bool> = "preliminary" since V6,
    }
    /// A call failed.
    ToolOutputError = "tool-output-error" since V6 {
        /// The call.
        tool_call_id: &'a str = "toolCallId" since V6,
        /// How.
        error_text: &'a str = "errorText" since V6,
        /// Whether the model's provider ran the tool.
        provider_executed: Option<bool> = "providerExecuted" since V6,
        /// For the application, by provider; carried back untouched.
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
        /// An object about the tool.
        tool_metadata: Option<Json<'a>> = "toolMetadata" since V6,
        /// Whether the frontend does not know the tool's types.
        dynamic: Option<bool> = "dynamic" since V6,
    }
    /// A call was denied, and did not run.
    ToolOutputDenied = "tool-output-denied" since V6 {
        /// The call.
        tool_call_id: &'a str = "toolCallId" since V6,
    }
    /// A page that the answer rests on.
    SourceUrl = "source-url" since V6 {
        /// Tells sources apart.
        source_id: &'a str = "sourceId" since V6,
        /// Where it is.
        url: &'a str = "url" since V6,
        /// What it is called.
        title: Option<&'a str> = "title" since V6,
        /// For the application, by provider.
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
    }
    /// A document that the answer rests on.
    SourceDocument = "source-document" since V6 {
        /// Tells sources apart.
        source_id: &'a str = "sourceId" since V6,
        /// Its media type.
        media_type: &'a str = "mediaType" since V6,
        /// What it is called.
        title: &'a str = "title" since V6,
        /// The name of its file.
        filename: Option<&'a str> = "filename" since V6,
        /// For the application, by provider.
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
    }
    /// A file.
    File = "file" since V6 {
        /// Where it is, or all of it as a `data:` URL.
        url: &'a str = "url" since V6,
        /// Its media type.
        media_type: &'a str = "mediaType" since V6,
        /// For the application, by provider.
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
    }
    /// A file that is part of the reasoning.
    ReasoningFile = "reasoning-file" since V7 {
        /// See [`Chunk::File`].
        url: &'a str = "url" since V7,
        /// Its media type.
        media_type: &'a str = "mediaType" since V7,
        /// For the application, by provider.
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V7,
    }
    /// Something of a provider's own.
    Custom = "custom" since V7 {
        /// What, as `provider.type`.
        kind: &'a str = "kind" since V7,
        /// For the application, by provider.
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V7,
    }
    /// A message that somebody said while the answer was under way.
    SteeringMessage = "steering-message" since V7 {
        /// Its id.
        id: &'a str = "id" since V7,
        /// A list of text and file parts.
        parts: Json<'a> = "parts" since V7,
    }
}
