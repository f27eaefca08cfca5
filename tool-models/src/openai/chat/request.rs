//! The body of a chat completion request.

use std::{borrow::Cow, mem};

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json, value::RawValue};

use super::signatures::{self, Signed};
use crate::calls::{normalize_arguments, wrap_arguments};
use crate::conversation::{
    CONTINUATION, CallIds, FILLER, MISTRAL_IDS, NO_CONTENT, NO_REASON, OPENAI_IDS, OPENING, is_blank, pair_calls,
};
use crate::media::{PartContent, content_of, file_name, label_of, shown_below, sound_format};
use crate::openai::{
    MessageRules, OpenAi, TokenLimitField, effort,
    texts::{JoinedTexts, PARAGRAPH, needs_mark},
};
use crate::structured::Structured;
use tool_runtime::{
    message::{AssistantPart, MediaKind, MediaRef, Message, Signature, SourceRef, ToolMessage},
    model::{Model, Request, ToolChoice},
    toolset::ListFormat,
};

/// Gemini's signature of a call of another model.
const UNSIGNED: &str = r#"{"google":{"thought_signature":"skip_thought_signature_validator"}}"#;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<RequestMessage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
    #[serde(flatten)]
    extra: &'a Map<String, Value>,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum RequestMessage<'a> {
    System {
        content: JoinedTexts<'a>,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Option<JoinedTexts<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<JoinedTexts<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_details: Option<&'a RawValue>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: JoinedTexts<'a>,
    },
}

/// The content of a user's message: a list of parts, or one string if all parts are text. Some servers, such as DeepSeek's, accept
/// only strings.
struct Content<'a>(Vec<ContentPart<'a>>);

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let texts = self.0.iter().map(|part| match part {
            ContentPart::Text { text } => Some(Cow::Borrowed(&**text)),
            _ => None,
        });
        match texts.collect() {
            Some(texts) => JoinedTexts { texts, separator: PARAGRAPH }.serialize(serializer),
            None => self.0.serialize(serializer),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: Value },
    InputAudio { input_audio: Value },
    File { file: Value },
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: Cow<'a, str>,
}

pub fn write_body(model: &OpenAi, request: &Request<'_>) -> Vec<u8> {
    let structured = model.structured(request, ListFormat::OpenAi);
    let request = &structured.as_ref().map_or(*request, |structured| structured.rest(request));
    let settings = request.settings;
    let has_tools = !request.tools.is_empty_in(ListFormat::OpenAi);
    let token_limit = settings.max_tokens.or(model.max_tokens);
    let (max_tokens, max_completion_tokens) = match model.effective_token_limit_field() {
        TokenLimitField::MaxTokens => (token_limit, None),
        TokenLimitField::MaxCompletionTokens => (None, token_limit),
    };
    let rules = model.effective_message_rules();
    let messages = wrap_arguments(pair_calls(request.messages), request.tools, ListFormat::OpenAi);
    let ids = CallIds::new(&messages, if rules == MessageRules::Mistral { &MISTRAL_IDS } else { &OPENAI_IDS });
    let ids = if model.provider().is_none() { ids.except_signed() } else { ids };
    let origin = model.origin();
    let reasoning_to_send = ReasoningToSend {
        send_text: model.send_reasoning,
        origin: &origin,
        send_unknown: model.takes_unknown_signatures(),
        needs_signatures: model.needs_signatures() || has_signed_call(&messages, &origin),
    };
    let effort = settings.reasoning_effort.and_then(|effort| model.effort_in_chat(effort, has_tools));
    let body = Body {
        model: &model.model,
        messages: convert_messages(model, &messages, &ids, rules, reasoning_to_send),
        tools: has_tools.then(|| request.tools.json(ListFormat::OpenAi)),
        tool_choice: if has_tools { convert_choice(request.tool_choice) } else { None },
        parallel_tool_calls: settings.allow_parallel_calls.filter(|_| has_tools),
        max_tokens,
        max_completion_tokens,
        temperature: settings.temperature.filter(|_| !effort::excludes_temperature(&model.base_url, effort)),
        reasoning_effort: effort,
        stream: true,
        stream_options: model.request_usage.then(|| json!({ "include_usage": true })),
        response_format: structured.as_ref().map(response_format),
        extra: &model.extra,
    };
    serde_json::to_vec(&body).expect("strings, numbers and JSON are JSON")
}

fn response_format(structured: &Structured) -> Value {
    let (schema, strict) = structured.schema();
    json!({ "type": "json_schema", "json_schema": { "name": structured.name(), "schema": schema, "strict": strict } })
}

fn convert_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::Required => Some("required".into()),
        ToolChoice::None => Some("none".into()),
        ToolChoice::Tool(name) => Some(json!({ "type": "function", "function": { "name": name } })),
    }
}

/// The parts of earlier reasoning that a request contains.
#[derive(Clone, Copy)]
struct ReasoningToSend<'a> {
    /// Set if the request has the text.
    send_text: bool,
    /// The origin whose signatures the request has.
    origin: &'a str,
    /// Set if the request has the signatures without an origin.
    send_unknown: bool,
    /// Set if the server refuses a turn whose first call has no signature.
    needs_signatures: bool,
}

impl ReasoningToSend<'_> {
    fn includes(&self, signature: &Signature) -> bool {
        signature.origin == self.origin || (signature.origin.is_empty() && self.send_unknown)
    }
}

/// Returns whether the server has signed a call, because Gemini is behind it.
fn has_signed_call(messages: &[Message], origin: &str) -> bool {
    messages.iter().any(|message| match message {
        Message::Assistant { content } => content.iter().any(|part| match part {
            AssistantPart::Reasoning { signature: Some(signature), .. } => {
                let signed = signatures::read(&signature.value).map(|(signed, _)| signed);
                signature.origin == origin && signed.is_some_and(|signed| signed != Signed::Turn)
            }
            _ => false,
        }),
        _ => false,
    })
}

fn convert_messages<'a>(
    model: &OpenAi,
    messages: &'a [Message],
    ids: &'a CallIds<'_>,
    rules: MessageRules,
    reasoning_to_send: ReasoningToSend<'_>,
) -> Vec<RequestMessage<'a>> {
    let mut converted =
        ConvertedMessages { is_lenient: rules == MessageRules::OpenAi, list: Vec::with_capacity(messages.len() + 1) };
    // The media in results. They follow the last result of a turn, because no message may be between results.
    let mut media = Vec::new();
    for message in messages {
        if !matches!(message, Message::Tool(_)) {
            converted.push_user(mem::take(&mut media));
        }
        match message {
            Message::System { text } => converted.push_system(text),
            Message::User { content } => {
                let parts = content.iter().filter_map(|part| content_of(part, |media| model.takes_media(media)));
                converted.push_user(parts.map(convert_part).collect());
            }
            Message::Assistant { content } => converted.push_assistant(content, ids, reasoning_to_send),
            Message::Tool(result) => converted.list.push(convert_result(model, result, ids, &mut media)),
        }
    }
    converted.push_user(media);
    converted.finish()
}

/// The messages of a request so far, in an order that the server accepts.
struct ConvertedMessages<'a> {
    /// Set if system messages may be anywhere, and a user's message may follow a result.
    is_lenient: bool,
    /// If the server is not lenient, its first message is the only one of the system.
    list: Vec<RequestMessage<'a>>,
}

impl<'a> ConvertedMessages<'a> {
    fn push_system(&mut self, text: &'a str) {
        if is_blank(text) {
            return;
        }
        if !self.is_lenient
            && let Some(RequestMessage::System { content }) = self.list.first_mut()
        {
            return content.texts.push(text.into());
        }
        let message =
            RequestMessage::System { content: JoinedTexts { texts: vec![text.into()], separator: PARAGRAPH } };
        let at = if self.is_lenient { self.list.len() } else { 0 };
        self.list.insert(at, message);
    }

    /// Adds parts of the user to the user's last message, or as a new one.
    fn push_user(&mut self, parts: Vec<ContentPart<'a>>) {
        if parts.is_empty() {
            return;
        }
        match self.list.last_mut() {
            Some(RequestMessage::User { content }) => return content.0.extend(parts),
            Some(RequestMessage::Tool { .. }) if !self.is_lenient => self.list.push(RequestMessage::Assistant {
                content: Some(JoinedTexts { texts: vec![FILLER.into()], separator: PARAGRAPH }),
                reasoning_content: None,
                reasoning_details: None,
                tool_calls: Vec::new(),
            }),
            _ => {}
        }
        self.list.push(RequestMessage::User { content: Content(parts) });
    }

    fn push_user_text(&mut self, text: &'a str) {
        self.push_user(vec![ContentPart::Text { text: text.into() }]);
    }

    /// Adds a turn of the model to its last message, or as a new one. Leaves out a turn that has neither text nor calls.
    fn push_assistant(
        &mut self,
        turn: &'a [AssistantPart],
        ids: &'a CallIds<'_>,
        reasoning_to_send: ReasoningToSend<'_>,
    ) {
        let (mut pending_signature, mut details) = (None, None);
        let (mut texts, mut thoughts, mut calls) = (Vec::new(), Vec::new(), Vec::<Call<'a>>::new());
        for part in turn {
            match part {
                AssistantPart::Text { text } => texts.push(Cow::Borrowed(text.as_str())),
                AssistantPart::Reasoning { text, signature } => {
                    thoughts.push(Cow::Borrowed(text.as_str()));
                    let signature = signature.as_ref().filter(|signature| reasoning_to_send.includes(signature));
                    let signature = signature.and_then(|signature| signatures::read(&signature.value));
                    let signature = signature.and_then(|(of, json)| Some((of, serde_json::from_str(json).ok()?)));
                    match signature {
                        Some((Signed::EarlierCall(places), json)) => {
                            let at = calls.len().checked_sub(places);
                            if let Some(call) = at.and_then(|at| calls.get_mut(at)) {
                                call.extra_content = Some(json);
                            }
                        }
                        Some((Signed::NextCall, json)) => pending_signature = Some(json),
                        Some((Signed::Turn, json)) => details = Some(json),
                        None => pending_signature = None,
                    }
                }
                // The protocol has no place for it. The model's text contains what the model used of it.
                AssistantPart::Provider(_) => {}
                AssistantPart::Call(call) => calls.push(Call {
                    id: ids.get(&call.id),
                    r#type: "function",
                    function: Function { name: &call.name, arguments: normalize_arguments(&call.arguments) },
                    extra_content: pending_signature.take(),
                }),
            }
        }
        if let Some(first) = calls.first_mut().filter(|_| reasoning_to_send.needs_signatures) {
            first.extra_content = first.extra_content.or_else(|| serde_json::from_str(UNSIGNED).ok());
        }
        let in_one = |texts: Vec<Cow<'a, str>>| {
            texts.iter().any(|text| !is_blank(text)).then_some(JoinedTexts { texts, separator: "" })
        };
        let content = in_one(texts);
        let mut thoughts = in_one(thoughts).filter(|_| reasoning_to_send.send_text);
        // A server that wants reasoning refuses calls without it, such as those of another model, and DeepSeek an empty text.
        if reasoning_to_send.send_text && !calls.is_empty() {
            thoughts.get_or_insert(JoinedTexts { texts: vec![" ".into()], separator: "" });
        }
        if content.is_none() && calls.is_empty() {
            return;
        }
        if let Some(RequestMessage::Assistant { content: last, reasoning_content, reasoning_details, tool_calls }) =
            self.list.last_mut()
        {
            append(last, content);
            append(reasoning_content, thoughts);
            *reasoning_details = details.or(*reasoning_details);
            return tool_calls.extend(calls);
        }
        self.list.push(RequestMessage::Assistant {
            content,
            reasoning_content: thoughts,
            reasoning_details: details,
            tool_calls: calls,
        });
    }

    /// Returns the messages. The user begins, and the assistant is never last.
    fn finish(mut self) -> Vec<RequestMessage<'a>> {
        let is_last_of_assistant = matches!(self.list.last(), Some(RequestMessage::Assistant { .. }));
        if is_last_of_assistant {
            self.push_user_text(CONTINUATION);
        }
        let is_of_system = |message: &RequestMessage<'_>| matches!(message, RequestMessage::System { .. });
        let first = self.list.iter().take_while(|message| is_of_system(message)).count();
        if !matches!(self.list.get(first), Some(RequestMessage::User { .. })) {
            let content = Content(vec![ContentPart::Text { text: OPENING.into() }]);
            self.list.insert(first, RequestMessage::User { content });
        }
        self.list
    }
}

/// Appends `more` to `texts` as a paragraph.
fn append<'a>(texts: &mut Option<JoinedTexts<'a>>, more: Option<JoinedTexts<'a>>) {
    match (texts, more) {
        (Some(texts), Some(more)) => {
            texts.texts.push(PARAGRAPH.into());
            texts.texts.extend(more.texts);
        }
        (texts @ None, more) => *texts = more,
        (Some(_), None) => {}
    }
}

fn convert_part(content: PartContent<'_>) -> ContentPart<'_> {
    let media = match content {
        PartContent::Text(text) => return ContentPart::Text { text },
        PartContent::Media(media) => media,
    };
    match media.kind {
        MediaKind::Audio => {
            // Sound is taken only as bytes.
            let data = if let SourceRef::Base64(data) = media.source { data } else { "" };
            ContentPart::InputAudio { input_audio: json!({ "data": data, "format": sound_format(&media) }) }
        }
        MediaKind::Document => {
            ContentPart::File { file: json!({ "filename": file_name(&media), "file_data": media.to_url() }) }
        }
        MediaKind::Image => ContentPart::ImageUrl { image_url: json!({ "url": media.to_url() }) },
    }
}

/// Converts the result of a call, which is only text in the protocol. So `media` collects the rest for a later message. The text of
/// an error begins with `error`, unless it is a rejection.
fn convert_result<'a>(
    model: &OpenAi,
    result: &'a ToolMessage,
    ids: &'a CallIds<'_>,
    media: &mut Vec<ContentPart<'a>>,
) -> RequestMessage<'a> {
    let tool_call_id = ids.get(&result.call_id);
    let mut texts: Vec<Cow<'a, str>> = Vec::new();
    for content in result.content.iter().filter_map(|part| content_of(part, |media| model.takes_media(media))) {
        match content {
            PartContent::Text(text) => texts.push(text),
            PartContent::Media(MediaRef { kind, .. }) => {
                texts.push(shown_below(kind).into());
                media.push(ContentPart::Text { text: label_of(kind, &result.tool, tool_call_id).into() });
                media.push(convert_part(content));
            }
        }
    }
    if texts.is_empty() {
        texts.push(if result.is_error { NO_REASON } else { NO_CONTENT }.into());
    }
    if needs_mark(result) {
        texts[0] = format!("error: {}", texts[0]).into();
    }
    RequestMessage::Tool { tool_call_id, content: JoinedTexts { texts, separator: "\n" } }
}
