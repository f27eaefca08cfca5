//! The request of a client: `RunAgentInput`, with the messages of its conversation.

use std::{collections::HashSet, fmt};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json, value::RawValue};
use tool_runtime::message::Part;
use tool_schema::feedback;

use super::ProtocolVersion;
use super::content::{Content, ContentPart, Source};
use super::event::Object;
use crate::protocol::json_object::{self, Members, replace_lone_surrogates};

/// The maximum number of warnings about one input.
const MAX_WARNINGS: usize = 16;

/// The request of a client: its view of the conversation, its own tools, and its answers. All of it is an unverified claim.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RunInput {
    /// The client's id of the conversation.
    pub thread_id: String,
    /// The client's id of the run. Clients reuse ids, so the server does not identify runs by it.
    pub run_id: String,
    /// The version of the protocol that the client speaks. Clients before 1.0 do not send it.
    pub protocol_version: Option<String>,
    /// The id of the run that started this one.
    pub parent_run_id: Option<String>,
    /// The state that the run starts from; an empty object by default.
    pub state: Value,
    /// The conversation so far.
    pub messages: Vec<InputMessage>,
    /// The tools that the client executes.
    pub tools: Vec<ClientTool>,
    /// The client's context for the model.
    pub context: Vec<ContextEntry>,
    /// Values that the client passes on to tools.
    pub forwarded_props: Option<Value>,
    /// Answers to interrupts.
    pub resume: Vec<ResumeEntry>,
    /// The sealed run from the latest response: the `encryptedValue` of the last message that has one.
    pub sealed: Option<String>,
    /// The id of the message that keeps the sealed run.
    pub sealed_by: Option<String>,
    /// The ids of the messages that keep older sealed runs.
    pub sealed_before: Vec<String>,
    /// Warnings about ignored parts of the request, at most 16.
    pub warnings: Vec<String>,
    /// The ids of the person's messages that the server has refused in earlier requests.
    pub(crate) left_out: HashSet<String>,
}

/// A message of a conversation, with its `id` and its `content`.
#[allow(missing_docs, reason = "fields that several messages have are documented once, above")]
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum InputMessage {
    /// Instructions of the client's developer.
    Developer { id: String, content: String },
    /// Instructions of the client: its system prompt.
    System { id: String, content: String },
    /// A message of the model, with its calls.
    Assistant {
        id: String,
        content: Option<String>,
        /// The calls.
        tool_calls: Vec<MessageCall>,
    },
    /// A message of the person.
    User {
        id: String,
        /// The text and other parts.
        content: Content,
    },
    /// The result of a call.
    Tool {
        id: String,
        /// The call's id.
        tool_call_id: String,
        /// The result.
        content: Content,
        /// The error, if the call failed.
        error: Option<String>,
    },
    /// An activity that a client displayed. The server ignores it.
    Activity {
        id: String,
        /// The kind of activity.
        activity_type: String,
        /// The content that is shown.
        content: Object,
    },
    /// Reasoning of the model.
    Reasoning { id: String, content: String },
}

/// A call in an assistant's message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageCall {
    /// The call's id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The text of the arguments.
    pub arguments: String,
}

impl InputMessage {
    /// Returns the message's id.
    pub fn id(&self) -> &str {
        match self {
            Self::Developer { id, .. }
            | Self::System { id, .. }
            | Self::Assistant { id, .. }
            | Self::User { id, .. }
            | Self::Tool { id, .. }
            | Self::Activity { id, .. }
            | Self::Reasoning { id, .. } => id,
        }
    }
}

/// A tool that the client executes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClientTool {
    /// The name.
    pub name: String,
    /// The description.
    pub description: String,
    /// The JSON Schema of its arguments, unchecked.
    pub parameters: Option<Value>,
    /// Anything else.
    pub metadata: Option<Object>,
}

/// An entry of the client's context for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextEntry {
    /// The description.
    pub description: String,
    /// The value.
    pub value: String,
}

/// The answer to an interrupt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ResumeEntry {
    /// The id of the interrupt.
    pub interrupt_id: String,
    /// The status of the interrupt.
    pub status: ResumeStatus,
    /// The answer, which may be `null`; `None` if the client sent none.
    pub payload: Option<Value>,
    /// Anything else about the answer.
    pub metadata: Option<Object>,
}

/// The status of an interrupt at the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeStatus {
    /// The client has answered it.
    Resolved,
    /// The person dismissed it.
    Cancelled,
}

/// The error for an input that is not JSON, in which a required member is missing, or in which a known member has a wrong type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidRequest {
    /// The place of the problem, such as `messages[2].toolCallId`; empty for the input as a whole.
    pub path: String,
    /// A description of the expected value.
    pub expected: String,
    /// The value that the client sent, shortened.
    pub got: Option<String>,
}

impl RunInput {
    /// Reads the body of a request.
    ///
    /// Ignores unknown members, roles and parts, with a warning in [`RunInput::warnings`]. A member that is `null` counts as
    /// absent, because clients before 1.0 write `null` for it. The payload of an answer is an exception: `null` is an answer.
    ///
    /// Fails when the body is not a JSON object, or when a known member has a wrong type or is required and missing. Outside of
    /// the messages, it also fails when a known member is nested deeper than 127 levels.
    ///
    /// ```
    /// use tool_server::protocol::ag_ui::RunInput;
    ///
    /// let body = br#"{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"Hi"}],"tools":null}"#;
    /// assert_eq!(RunInput::read(body).unwrap().messages.len(), 1);
    ///
    /// let error = RunInput::read(br#"{"threadId":"t","runId":7,"messages":[]}"#).unwrap_err();
    /// assert_eq!(error.to_string(), "runId: expected a string, got 7");
    /// ```
    pub fn read(body: &[u8]) -> Result<Self, InvalidRequest> {
        let body = replace_lone_surrogates(body);
        let members = Members::read(&body).map_err(|error| {
            let wanted = if error.is_data() { "an object".to_owned() } else { format!("JSON ({error})") };
            InvalidRequest::new("", wanted)
        })?;
        let mut fields = Fields::new(members);
        let mut input = Self {
            thread_id: fields.text("threadId")?,
            run_id: fields.text("runId")?,
            protocol_version: fields.maybe_text("protocolVersion")?,
            parent_run_id: fields.maybe_text("parentRunId")?,
            state: fields.any("state")?.unwrap_or_else(|| Value::Object(Object::new())),
            forwarded_props: fields.any("forwardedProps")?,
            ..Self::default()
        };
        let messages = fields.list("messages")?.ok_or_else(|| InvalidRequest::new("messages", "a list of messages"))?;
        for (path, value) in messages {
            read_message(value, &path, &mut input)?;
        }
        input.tools = fields.items("tools", read_client_tool)?;
        input.context = fields.items("context", read_context_entry)?;
        input.resume = fields.items("resume", read_resume_entry)?;
        input.warnings.extend(fields.unknown().map(|name| format!("the input's member {name} is not known")));
        input.warnings.truncate(MAX_WARNINGS);
        Ok(input)
    }

    /// Leaves out the person's messages that `is_refused` selects, with a warning.
    pub(crate) fn leave_out(&mut self, is_refused: impl Fn(&[Part]) -> bool) {
        let prompts = self.messages.iter().filter_map(|message| match message {
            InputMessage::User { id, content: content @ Content::Parts(_) } => Some((id, content)),
            _ => None,
        });
        let refused = prompts.filter(|(_, content)| is_refused(&content.for_model()));
        self.left_out = refused.map(|(id, _)| id.clone()).collect();
        let warnings = self.left_out.iter().map(|id| {
            format!("the message {} was left out: the model cannot read its files", feedback::quote_name(id))
        });
        self.warnings.extend(warnings);
        self.warnings.truncate(MAX_WARNINGS);
    }

    /// Returns the major version of the protocol that the client speaks.
    pub fn client_version(&self) -> ProtocolVersion {
        ProtocolVersion::of(self.protocol_version.as_deref())
    }
}

impl InvalidRequest {
    fn new(path: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { path: path.into(), expected: expected.into(), got: None }
    }

    fn got(mut self, value: &RawValue) -> Self {
        self.got = json_object::value(value).map(|value: Value| feedback::summarize(&value));
        self
    }

    fn got_text(mut self, text: &str) -> Self {
        self.got = Some(feedback::summarize(&text.into()));
        self
    }
}

impl fmt::Display for InvalidRequest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the input" } else { &self.path };
        write!(out, "{path}: expected {}", self.expected)?;
        match &self.got {
            Some(got) => write!(out, ", got {got}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for InvalidRequest {}

/// Adds a message to `input`, or a warning if its role is unknown.
///
/// Skips unused members, however deep they are nested, because clients send their history with each request.
fn read_message(value: &RawValue, path: &str, input: &mut RunInput) -> Result<(), InvalidRequest> {
    let mut fields = Fields::of(value, path)?;
    let role = fields.text("role")?;
    let id = fields.text("id");
    // The last sealed run is the latest one. Values with another prefix belong to other agents of the thread.
    if let Some(sealed) = read_common(&mut fields)?.filter(|sealed| sealed.starts_with("tool-run-")) {
        input.sealed_before.extend(input.sealed_by.take());
        (input.sealed, input.sealed_by) = (Some(sealed), id.as_ref().ok().cloned());
    }
    let warnings = &mut input.warnings;
    input.messages.push(match role.as_str() {
        "developer" => InputMessage::Developer { id: id?, content: fields.text("content")? },
        "system" => InputMessage::System { id: id?, content: fields.text("content")? },
        "assistant" => InputMessage::Assistant {
            id: id?,
            content: read_assistant_text(&mut fields)?,
            tool_calls: fields.items("toolCalls", read_call)?,
        },
        "user" => InputMessage::User { id: id?, content: read_content(&mut fields, path, warnings)? },
        "tool" => InputMessage::Tool {
            id: id?,
            tool_call_id: fields.text("toolCallId")?,
            content: read_content(&mut fields, path, warnings)?,
            error: fields.maybe_text("error")?,
        },
        "activity" => InputMessage::Activity {
            id: id?,
            activity_type: fields.text("activityType")?,
            content: fields.raw_object("content")?.and_then(json_object::value).unwrap_or_default(),
        },
        "reasoning" => InputMessage::Reasoning { id: id?, content: fields.text("content")? },
        other => {
            warnings.push(format!("{path} was left out: the role {} is not known", feedback::quote_name(other)));
            return Ok(());
        }
    });
    warnings.truncate(MAX_WARNINGS);
    Ok(())
}

/// Checks the members that all messages share, and returns the `encryptedValue`.
fn read_common(fields: &mut Fields<'_, '_>) -> Result<Option<String>, InvalidRequest> {
    fields.maybe_text("name")?;
    fields.maybe_text("subagentRunId")?;
    fields.raw_object("metadata")?;
    fields.maybe_text("encryptedValue")
}

/// Returns the text of an assistant's message. Parts belong to a later version of the protocol; their texts are joined.
fn read_assistant_text(fields: &mut Fields<'_, '_>) -> Result<Option<String>, InvalidRequest> {
    let Some(content) = fields.raw("content") else { return Ok(None) };
    if let Some(parts) = json_object::list(content) {
        let texts = parts.into_iter().filter_map(|part| Members::of(part)?.text("text"));
        return Ok(Some(texts.collect()));
    }
    let text = json_object::text(content);
    text.map(Some).ok_or_else(|| InvalidRequest::new(fields.at("content"), "a string").got(content))
}

fn read_call(mut fields: Fields<'_, '_>) -> Result<MessageCall, InvalidRequest> {
    let id = fields.text("id")?;
    if let Some(kind) = fields.maybe_text("type")?
        && kind != "function"
    {
        return Err(InvalidRequest::new(fields.at("type"), "`function`").got_text(&kind));
    }
    let at = fields.at("function");
    let function = fields.raw("function").ok_or_else(|| InvalidRequest::new(at.clone(), "an object"))?;
    let mut function = Fields::of(function, &at)?;
    Ok(MessageCall { id, name: function.text("name")?, arguments: function.text("arguments")? })
}

fn read_content(
    fields: &mut Fields<'_, '_>,
    path: &str,
    warnings: &mut Vec<String>,
) -> Result<Content, InvalidRequest> {
    let at = fields.at("content");
    let wanted = "a string or a list of parts";
    let content = fields.raw("content").ok_or_else(|| InvalidRequest::new(at.clone(), wanted))?;
    let Some(items) = json_object::list(content) else {
        let text = json_object::text(content).map(Content::Text);
        return text.ok_or_else(|| InvalidRequest::new(at, wanted).got(content));
    };
    let mut parts = Vec::new();
    for (number, item) in items.into_iter().enumerate() {
        let place = format!("{at}[{number}]");
        let read = read_part(item, &place)?;
        if read.is_none() {
            warnings.push(format!("a part of {path} was left out: {place} is of no known type"));
        }
        parts.extend(read);
    }
    Ok(Content::Parts(parts))
}

/// Reads a part of a message. Returns `None` if its type is unknown.
fn read_part(value: &RawValue, path: &str) -> Result<Option<ContentPart>, InvalidRequest> {
    let mut fields = Fields::of(value, path)?;
    Ok(Some(match fields.text("type")?.as_str() {
        "text" => {
            let metadata = read_metadata(&mut fields);
            ContentPart::Text { text: fields.text("text")?, metadata }
        }
        "image" => ContentPart::Image { source: read_source(&mut fields)?, metadata: read_metadata(&mut fields) },
        "audio" => ContentPart::Audio { source: read_source(&mut fields)?, metadata: read_metadata(&mut fields) },
        "video" => ContentPart::Video { source: read_source(&mut fields)?, metadata: read_metadata(&mut fields) },
        "document" => ContentPart::Document { source: read_source(&mut fields)?, metadata: read_metadata(&mut fields) },
        "binary" => return read_binary_part(&mut fields),
        _ => return Ok(None),
    }))
}

fn read_metadata(fields: &mut Fields<'_, '_>) -> Option<Value> {
    fields.raw("metadata").and_then(json_object::value)
}

fn read_source(fields: &mut Fields<'_, '_>) -> Result<Source, InvalidRequest> {
    let at = fields.at("source");
    let value = fields.raw("source").ok_or_else(|| InvalidRequest::new(at.clone(), "an object"))?;
    let mut source = Fields::of(value, &at)?;
    match source.text("type")?.as_str() {
        "data" => Ok(Source::Data { value: source.text("value")?, mime_type: source.text("mimeType")? }),
        "url" => Ok(Source::Url { value: source.text("value")?, mime_type: source.maybe_text("mimeType")? }),
        "file" => Ok(Source::File {
            value: source.text("value")?,
            provider: source.maybe_text("provider")?,
            mime_type: source.maybe_text("mimeType")?,
        }),
        other => Err(InvalidRequest::new(source.at("type"), "`data`, `url` or `file`").got_text(other)),
    }
}

/// Reads a `binary` part. Clients before 1.0 write all parts other than texts in this form.
fn read_binary_part(fields: &mut Fields<'_, '_>) -> Result<Option<ContentPart>, InvalidRequest> {
    let mime_type = fields.text("mimeType")?;
    let source = match (fields.maybe_text("data")?, fields.maybe_text("url")?) {
        (Some(value), _) => Source::Data { value, mime_type: mime_type.clone() },
        (None, Some(value)) => Source::Url { value, mime_type: Some(mime_type.clone()) },
        (None, None) => match fields.maybe_text("id")? {
            Some(value) => Source::File { value, provider: None, mime_type: Some(mime_type.clone()) },
            None => return Ok(None),
        },
    };
    let metadata = fields.maybe_text("filename")?.map(|name| json!({ "filename": name }));
    Ok(Some(match mime_type.split('/').next() {
        Some("image") => ContentPart::Image { source, metadata },
        Some("audio") => ContentPart::Audio { source, metadata },
        Some("video") => ContentPart::Video { source, metadata },
        _ => ContentPart::Document { source, metadata },
    }))
}

fn read_client_tool(mut fields: Fields<'_, '_>) -> Result<ClientTool, InvalidRequest> {
    Ok(ClientTool {
        name: fields.text("name")?,
        description: fields.text("description")?,
        parameters: fields.any("parameters")?,
        metadata: fields.object("metadata")?,
    })
}

fn read_context_entry(mut fields: Fields<'_, '_>) -> Result<ContextEntry, InvalidRequest> {
    Ok(ContextEntry { description: fields.text("description")?, value: fields.text("value")? })
}

fn read_resume_entry(mut fields: Fields<'_, '_>) -> Result<ResumeEntry, InvalidRequest> {
    let interrupt_id = fields.text("interruptId")?;
    let status = match fields.text("status")?.as_str() {
        "resolved" => ResumeStatus::Resolved,
        "cancelled" => ResumeStatus::Cancelled,
        other => return Err(InvalidRequest::new(fields.at("status"), "`resolved` or `cancelled`").got_text(other)),
    };
    let payload = fields.members.take("payload").map(|value| fields.parse("payload", value)).transpose()?;
    Ok(ResumeEntry { interrupt_id, status, payload, metadata: fields.object("metadata")? })
}

/// An object whose members are removed as they are read, and its place in the input.
struct Fields<'a, 'p> {
    path: &'p str,
    members: Members<'a>,
}

impl<'a, 'p> Fields<'a, 'p> {
    /// Creates the fields of the input itself.
    fn new(members: Members<'a>) -> Self {
        Self { path: "", members }
    }

    /// Creates the fields of the object `value` at `path`. Fails when `value` is not an object.
    fn of(value: &'a RawValue, path: &'p str) -> Result<Self, InvalidRequest> {
        match Members::of(value) {
            Some(members) => Ok(Self { path, members }),
            None => Err(InvalidRequest::new(path, "an object").got(value)),
        }
    }

    /// Removes a member and returns its JSON text, or `None` if it is missing or `null`. Clients in Python may write `thread_id` for
    /// `threadId`.
    fn raw(&mut self, name: &str) -> Option<&'a RawValue> {
        let value = self.members.take(name).or_else(|| self.members.take(&json_object::to_snake_case(name)));
        value.filter(|value| !json_object::begins_with(value, b'n'))
    }

    /// Removes an optional member, and reads it as a `T`.
    ///
    /// Fails when the member is nested too deep, or is not a `T`.
    fn any<T: DeserializeOwned>(&mut self, name: &str) -> Result<Option<T>, InvalidRequest> {
        self.raw(name).map(|value| self.parse(name, value)).transpose()
    }

    fn parse<T: DeserializeOwned>(&self, name: &str, value: &RawValue) -> Result<T, InvalidRequest> {
        let unread = |error| InvalidRequest::new(self.at(name), format!("JSON that can be read ({error})"));
        serde_json::from_str(value.get()).map_err(unread)
    }

    fn text(&mut self, name: &str) -> Result<String, InvalidRequest> {
        self.maybe_text(name)?.ok_or_else(|| InvalidRequest::new(self.at(name), "a string"))
    }

    fn maybe_text(&mut self, name: &str) -> Result<Option<String>, InvalidRequest> {
        let Some(value) = self.raw(name) else { return Ok(None) };
        match json_object::text(value) {
            Some(text) => Ok(Some(text)),
            None => Err(InvalidRequest::new(self.at(name), "a string").got(value)),
        }
    }

    fn object(&mut self, name: &str) -> Result<Option<Map<String, Value>>, InvalidRequest> {
        self.raw_object(name)?.map(|value| self.parse(name, value)).transpose()
    }

    /// Removes an object and returns its JSON text, however deep it is nested.
    fn raw_object(&mut self, name: &str) -> Result<Option<&'a RawValue>, InvalidRequest> {
        match self.raw(name) {
            Some(value) if !json_object::begins_with(value, b'{') => {
                Err(InvalidRequest::new(self.at(name), "an object").got(value))
            }
            value => Ok(value),
        }
    }

    /// Removes a list and returns its items, each with its place.
    fn list(&mut self, name: &str) -> Result<Option<Vec<(String, &'a RawValue)>>, InvalidRequest> {
        let Some(value) = self.raw(name) else { return Ok(None) };
        let at = self.at(name);
        match json_object::list(value) {
            Some(items) => {
                let place = |(number, item)| (format!("{at}[{number}]"), item);
                Ok(Some(items.into_iter().enumerate().map(place).collect()))
            }
            None => Err(InvalidRequest::new(at, "a list").got(value)),
        }
    }

    /// Removes a list and reads its items. Returns no items if there is no list.
    fn items<T>(
        &mut self,
        name: &str,
        read: fn(Fields<'_, '_>) -> Result<T, InvalidRequest>,
    ) -> Result<Vec<T>, InvalidRequest> {
        let items = self.list(name)?.unwrap_or_default();
        items.into_iter().map(|(path, value)| read(Fields::of(value, &path)?)).collect()
    }

    /// Returns the place of a member.
    fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// Returns the names of the members that were not read.
    fn unknown(&self) -> impl Iterator<Item = String> {
        self.members.names().map(feedback::quote_name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_may_be_in_snake_case() {
        let camel = json!({
            "threadId": "t", "runId": "r", "parentRunId": "p", "forwardedProps": { "a_b": 1 },
            "messages": [
                { "id": "1", "role": "assistant", "toolCalls": [
                    { "id": "c", "type": "function", "function": { "name": "f", "arguments": "{}" } },
                ] },
                { "id": "2", "role": "tool", "toolCallId": "c", "content": "done" },
            ],
            "resume": [{ "interruptId": "i", "status": "cancelled" }],
        });
        let mut snake = camel.to_string();
        for name in ["threadId", "runId", "parentRunId", "forwardedProps", "toolCalls", "toolCallId", "interruptId"] {
            snake = snake.replace(&format!("\"{name}\""), &format!("\"{}\"", json_object::to_snake_case(name)));
        }
        assert!(snake.contains("thread_id") && snake.contains("tool_call_id"), "{snake}");
        let read = |body: &str| RunInput::read(body.as_bytes()).unwrap();
        assert_eq!(read(&snake), read(&camel.to_string()));
        let both = json!({ "thread_id": "other", "threadId": "t", "runId": "r", "messages": [] });
        assert_eq!(read(&both.to_string()).thread_id, "t");
    }
}
