//! The chunks of the stream with all their fields, and their encoding.

use serde::Serialize;
use serde_json::Value;
use tool_schema::json::exceeds_depth;

use super::SdkVersion;
use crate::protocol::json_object::replace_lone_surrogates;

/// Declares all chunks: the variant, its type on the wire, the version that introduced it, and its fields.
macro_rules! chunks {
    ($(
        $(#[$doc:meta])*
        $name:ident = $kind:literal since $version:ident {
            $( $(#[$field_doc:meta])* $field:ident: $type:ty = $key:literal since $field_version:ident, )*
        }
    )*) => {
        /// A chunk of the UI message stream. Optional fields that are `None` are left out, never `null`.
        ///
        /// Fields that several chunks have:
        ///
        /// | field | holds |
        /// |---|---|
        /// | `id`, `source_id`, `tool_call_id` | the id of the text or reasoning, of the source, of the call |
        /// | `tool_name`, `title` | the name, and the title for people |
        /// | `provider_metadata` | metadata of the provider, by its name. The client returns the metadata of a call's last chunk unchanged. |
        /// | `message_metadata` | metadata that the application keeps with the message |
        /// | `tool_metadata` | an object about the tool |
        /// | `provider_executed` | set if the model's provider runs the tool |
        /// | `dynamic` | set if the frontend does not know the tool's types |
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs, reason = "fields that several chunks have are documented once, above")]
        #[non_exhaustive]
        pub enum Chunk<'a> {
            $( $(#[$doc])* $name { $( $(#[$field_doc])* $field: $type, )* }, )*
            /// Data of the application, as a part of the message: `data-<name>`.
            Data {
                /// The name.
                name: &'a str,
                /// The id. Data replaces earlier data of the same name and id.
                id: Option<&'a str>,
                /// The data.
                data: Json<'a>,
                /// Set if the client does not keep the data in the message.
                transient: Option<bool>,
            },
        }

        impl Chunk<'_> {
            /// Returns the version that introduced this chunk. An older client fails on this chunk, and drops the rest of the
            /// response.
            pub fn since(&self) -> SdkVersion {
                match self {
                    $( Self::$name { .. } => SdkVersion::$version, )*
                    Self::Data { .. } => SdkVersion::V6,
                }
            }

            /// Writes the chunk as JSON. Writes nothing and returns `false` if clients of `version` do not know it.
            pub fn write(&self, version: SdkVersion, out: &mut Vec<u8>) -> bool {
                if self.since() > version {
                    return false;
                }
                match *self {
                    $( Self::$name { $( $field, )* } => {
                        out.extend_from_slice(concat!("{\"type\":\"", $kind, "\"").as_bytes());
                        $( if SdkVersion::$field_version <= version {
                            $field.write_field(concat!(",\"", $key, "\":"), version, out);
                        } )*
                    } )*
                    Self::Data { name, id, data, transient } => {
                        out.extend_from_slice(b"{\"type\":");
                        write_json(&format!("data-{name}"), out);
                        id.write_field(",\"id\":", version, out);
                        data.write_field(",\"data\":", version, out);
                        transient.write_field(",\"transient\":", version, out);
                    }
                }
                out.push(b'}');
                true
            }
        }
    };
}

chunks! {
    /// The response begins.
    Start = "start" since V6 {
        /// The id of the message that the response creates or continues.
        message_id: Option<&'a str> = "messageId" since V6,
        /// Metadata that the application keeps with the message.
        message_metadata: Option<Json<'a>> = "messageMetadata" since V6,
    }
    /// A turn of the model begins.
    StartStep = "start-step" since V6 {}
    /// A turn of the model has ended, and its calls have ended or wait.
    FinishStep = "finish-step" since V6 {}
    /// The client must drop all chunks since the last `start-step`.
    ResetStep = "reset-step" since V7 {}
    /// The response ends.
    Finish = "finish" since V6 {
        /// The reason.
        finish_reason: Option<FinishReason> = "finishReason" since V6,
        message_metadata: Option<Json<'a>> = "messageMetadata" since V6,
    }
    /// The response was cancelled.
    Abort = "abort" since V6 {
        /// The reason.
        reason: Option<&'a str> = "reason" since V6,
    }
    /// More metadata that the application keeps with the message.
    MessageMetadata = "message-metadata" since V6 {
        /// The metadata.
        message_metadata: Json<'a> = "messageMetadata" since V6,
    }
    /// The response failed. Clients stop reading here.
    Error = "error" since V6 {
        /// The message for the user.
        error_text: &'a str = "errorText" since V6,
    }
    /// A text begins.
    TextStart = "text-start" since V6 {
        id: &'a str = "id" since V6,
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
    }
    /// A delta of a text.
    TextDelta = "text-delta" since V6 {
        id: &'a str = "id" since V6,
        /// The delta.
        delta: &'a str = "delta" since V6,
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
    }
    /// A text is complete.
    TextEnd = "text-end" since V6 {
        id: &'a str = "id" since V6,
        /// A list of citations.
        citations: Option<Json<'a>> = "citations" since V7,
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
    }
    /// Reasoning begins.
    ReasoningStart = "reasoning-start" since V6 {
        id: &'a str = "id" since V6,
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
    }
    /// A delta of reasoning.
    ReasoningDelta = "reasoning-delta" since V6 {
        id: &'a str = "id" since V6,
        /// The delta.
        delta: &'a str = "delta" since V6,
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
    }
    /// Reasoning is complete.
    ReasoningEnd = "reasoning-end" since V6 {
        id: &'a str = "id" since V6,
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
    }
    /// A call begins.
    ToolInputStart = "tool-input-start" since V6 {
        tool_call_id: &'a str = "toolCallId" since V6,
        tool_name: &'a str = "toolName" since V6,
        /// The encoding, `json` or `text`; JSON by default.
        input_encoding: Option<&'a str> = "inputEncoding" since V6,
        provider_executed: Option<bool> = "providerExecuted" since V6,
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
        tool_metadata: Option<Json<'a>> = "toolMetadata" since V6,
        dynamic: Option<bool> = "dynamic" since V6,
        title: Option<&'a str> = "title" since V6,
    }
    /// A delta of a call's arguments.
    ToolInputDelta = "tool-input-delta" since V6 {
        tool_call_id: &'a str = "toolCallId" since V6,
        /// The delta of the arguments' text.
        input_text_delta: &'a str = "inputTextDelta" since V6,
    }
    /// A call's arguments are complete and accepted. At this chunk, a client executes its own tools.
    ToolInputAvailable = "tool-input-available" since V6 {
        tool_call_id: &'a str = "toolCallId" since V6,
        tool_name: &'a str = "toolName" since V6,
        /// The arguments.
        input: Json<'a> = "input" since V6,
        provider_executed: Option<bool> = "providerExecuted" since V6,
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
        tool_metadata: Option<Json<'a>> = "toolMetadata" since V6,
        dynamic: Option<bool> = "dynamic" since V6,
        title: Option<&'a str> = "title" since V6,
    }
    /// A call's arguments are wrong.
    ToolInputError = "tool-input-error" since V6 {
        tool_call_id: &'a str = "toolCallId" since V6,
        tool_name: &'a str = "toolName" since V6,
        /// The arguments, as far as they can be shown.
        input: Json<'a> = "input" since V6,
        /// The error.
        error_text: &'a str = "errorText" since V6,
        provider_executed: Option<bool> = "providerExecuted" since V6,
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
        tool_metadata: Option<Json<'a>> = "toolMetadata" since V6,
        dynamic: Option<bool> = "dynamic" since V6,
        title: Option<&'a str> = "title" since V6,
    }
    /// A person must approve a call.
    ToolApprovalRequest = "tool-approval-request" since V6 {
        /// The id that the answer names.
        approval_id: &'a str = "approvalId" since V6,
        tool_call_id: &'a str = "toolCallId" since V6,
        /// Data about the approval. The client sends it back unchanged.
        approval_descriptor: Option<Json<'a>> = "approvalDescriptor" since V6,
        /// The arguments before they were changed.
        input_schema_input: Option<Json<'a>> = "inputSchemaInput" since V6,
        /// The reason for the request.
        reason: Option<&'a str> = "reason" since V7,
        /// Set if a policy answers the request instead of a person.
        is_automatic: Option<bool> = "isAutomatic" since V7,
        /// A proof of the request. The client sends it back unchanged.
        signature: Option<&'a str> = "signature" since V6,
    }
    /// A call was approved or denied, but not by this client.
    ToolApprovalResponse = "tool-approval-response" since V7 {
        /// The id of the request.
        approval_id: &'a str = "approvalId" since V7,
        /// Set if the call was approved.
        approved: bool = "approved" since V7,
        /// The reason.
        reason: Option<&'a str> = "reason" since V7,
        provider_executed: Option<bool> = "providerExecuted" since V7,
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V7,
    }
    /// A call's output.
    ToolOutputAvailable = "tool-output-available" since V6 {
        tool_call_id: &'a str = "toolCallId" since V6,
        /// The output.
        output: Json<'a> = "output" since V6,
        provider_executed: Option<bool> = "providerExecuted" since V6,
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
        tool_metadata: Option<Json<'a>> = "toolMetadata" since V6,
        dynamic: Option<bool> = "dynamic" since V6,
        /// Set if a later output replaces this one.
        preliminary: Option<bool> = "preliminary" since V6,
    }
    /// A call failed.
    ToolOutputError = "tool-output-error" since V6 {
        tool_call_id: &'a str = "toolCallId" since V6,
        /// The error.
        error_text: &'a str = "errorText" since V6,
        provider_executed: Option<bool> = "providerExecuted" since V6,
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
        tool_metadata: Option<Json<'a>> = "toolMetadata" since V6,
        dynamic: Option<bool> = "dynamic" since V6,
    }
    /// A call was denied, and did not run.
    ToolOutputDenied = "tool-output-denied" since V6 {
        tool_call_id: &'a str = "toolCallId" since V6,
    }
    /// A web page that the response is based on.
    SourceUrl = "source-url" since V6 {
        source_id: &'a str = "sourceId" since V6,
        /// The page's URL.
        url: &'a str = "url" since V6,
        title: Option<&'a str> = "title" since V6,
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
    }
    /// A document that the response is based on.
    SourceDocument = "source-document" since V6 {
        source_id: &'a str = "sourceId" since V6,
        media_type: &'a str = "mediaType" since V6,
        title: &'a str = "title" since V6,
        /// The name of its file.
        filename: Option<&'a str> = "filename" since V6,
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
    }
    /// A file.
    File = "file" since V6 {
        /// The URL of the file; a `data:` URL contains the file.
        url: &'a str = "url" since V6,
        media_type: &'a str = "mediaType" since V6,
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V6,
    }
    /// A file that is part of the reasoning.
    ReasoningFile = "reasoning-file" since V7 {
        /// The URL of the file, as in [`Chunk::File`].
        url: &'a str = "url" since V7,
        media_type: &'a str = "mediaType" since V7,
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V7,
    }
    /// A provider-specific part.
    Custom = "custom" since V7 {
        /// The kind, as `provider.type`.
        kind: &'a str = "kind" since V7,
        provider_metadata: Option<Json<'a>> = "providerMetadata" since V7,
    }
    /// A message of the user that the run accepted during the response.
    SteeringMessage = "steering-message" since V7 {
        /// The message's id.
        id: &'a str = "id" since V7,
        /// A list of text and file parts.
        parts: Json<'a> = "parts" since V7,
    }
}

/// A JSON value of a chunk's field.
#[derive(Clone, Copy, Debug)]
pub enum Json<'a> {
    /// The value as text, which must be JSON.
    Text(&'a str),
    /// The value itself.
    Value(&'a Value),
}

/// The reason for which a response ended: the value of [`Chunk::Finish`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FinishReason {
    /// The model ended its turn.
    Stop,
    /// The model reached its limit of tokens.
    Length,
    /// A content filter cut the turn.
    ContentFilter,
    /// Calls wait for a person or the client, or the step limit is reached.
    ToolCalls,
    /// Something failed.
    Error,
    /// The response was interrupted. Clients of version 6 get `other`.
    Interrupted,
    /// Anything else.
    Other,
}

/// Writes `chunk` as a frame of the event stream. Writes nothing if clients of `version` do not know the chunk.
pub fn write_frame(chunk: &Chunk<'_>, version: SdkVersion, out: &mut Vec<u8>) {
    let before = out.len();
    out.extend_from_slice(b"data: ");
    if chunk.write(version, out) {
        out.extend_from_slice(b"\n\n");
    } else {
        out.truncate(before);
    }
}

/// The frame after the last chunk, which marks the end of the stream.
pub const DONE_FRAME: &[u8] = b"data: [DONE]\n\n";

/// A value that can be written as the field of a chunk, after its name. An absent value writes nothing.
trait Field {
    fn write_field(self, name: &'static str, version: SdkVersion, out: &mut Vec<u8>);
}

impl Field for &str {
    fn write_field(self, name: &'static str, _: SdkVersion, out: &mut Vec<u8>) {
        out.extend_from_slice(name.as_bytes());
        write_json(self, out);
    }
}

impl Field for bool {
    fn write_field(self, name: &'static str, _: SdkVersion, out: &mut Vec<u8>) {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(if self { b"true" } else { b"false" });
    }
}

impl Field for Json<'_> {
    fn write_field(self, name: &'static str, _: SdkVersion, out: &mut Vec<u8>) {
        out.extend_from_slice(name.as_bytes());
        let from = out.len();
        match self {
            Json::Text(json) if json.trim().is_empty() => out.extend_from_slice(b"{}"),
            // Raw line breaks in JSON are whitespace, so a space can replace them; in a frame they would end the `data:` line.
            Json::Text(json) if json.bytes().any(|byte| matches!(byte, b'\n' | b'\r')) => {
                out.extend(json.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
            }
            Json::Text(json) => out.extend_from_slice(json.as_bytes()),
            Json::Value(value) => write_json(value, out),
        }
        let json = String::from_utf8_lossy(&out[from..]);
        if breaks_clients(&json) {
            let json = json.into_owned();
            out.truncate(from);
            write_json(&json, out);
        }
    }
}

impl Field for FinishReason {
    fn write_field(self, name: &'static str, version: SdkVersion, out: &mut Vec<u8>) {
        let reason = match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ContentFilter => "content-filter",
            Self::ToolCalls => "tool-calls",
            Self::Error => "error",
            Self::Interrupted if version >= SdkVersion::V7 => "interrupted",
            Self::Interrupted | Self::Other => "other",
        };
        reason.write_field(name, version, out);
    }
}

impl<F: Field> Field for Option<F> {
    fn write_field(self, name: &'static str, version: SdkVersion, out: &mut Vec<u8>) {
        if let Some(field) = self {
            field.write_field(name, version, out);
        }
    }
}

fn write_json(value: &(impl Serialize + ?Sized), out: &mut Vec<u8>) {
    // Writing texts and values into memory cannot fail.
    let _ = serde_json::to_writer(out, value);
}

/// The maximum nesting of JSON in a chunk. Clients send it back in the next request, some levels deeper, and JSON parsers accept
/// 127 levels.
const MAX_NESTING: u32 = 100;

/// Returns whether clients refuse this JSON, because a key could change an object's prototype, or because it is nested too deep
/// to be sent back.
fn breaks_clients(json: &str) -> bool {
    // Names can contain escapes.
    let is_suspect = ["__proto__", "constructor", "\\u00"].iter().any(|part| json.contains(part));
    let read = || serde_json::from_slice(&replace_lone_surrogates(json.as_bytes()));
    exceeds_depth(json, MAX_NESTING) || is_suspect && read().map_or(true, |value| is_hostile(&value))
}

fn is_hostile(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().any(is_hostile),
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            let is_prototype = name == "__proto__" || name == "constructor" && value.get("prototype").is_some();
            is_prototype || is_hostile(value)
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_nesting_is_sent_as_a_string_and_brackets_in_strings_do_not_count() {
        let nested = |depth: u32| ["[", "]"].map(|bracket| bracket.repeat(depth as usize)).concat();
        assert!(!breaks_clients(&nested(MAX_NESTING)));
        assert!(breaks_clients(&nested(MAX_NESTING + 1)));
        let text = format!(r#"{{"a":"\"{}","b":{}}}"#, "[".repeat(500), nested(MAX_NESTING - 1));
        assert!(!breaks_clients(&text));
        assert!(!breaks_clients(&"[],".repeat(500)));
    }

    #[test]
    fn names_that_change_prototypes_are_refused_anywhere_and_in_any_form() {
        for json in [
            r#"{"__proto__":1}"#,
            r#"[{"a":{"__proto__" : null}}]"#,
            r#"{"\u005f_proto__":1}"#,
            r#"{"a":"\ud83d","__proto__":1}"#,
            r#"{"a":1e999,"__proto__":1}"#,
            r#"{"constructor":{"prototype":{}}}"#,
            r#"{"\u0063onstructor":{"prototype":1}}"#,
        ] {
            assert!(breaks_clients(json), "{json}");
        }
        for json in [
            r#"{"kind":"constructor","of":"__proto__"}"#,
            r#"{"constructor":"prototype","prototype":1}"#,
            r#"{"a":"\u0000 \"__proto__\":1"}"#,
            "7",
            "",
        ] {
            assert!(!breaks_clients(json), "{json}");
        }
    }
}
