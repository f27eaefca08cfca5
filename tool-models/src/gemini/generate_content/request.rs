//! The body of a request to `streamGenerateContent`.

use std::{borrow::Cow, collections::HashSet, mem};

use serde::Serialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::super::{Gemini, Signed, take_object};
use crate::calls::{is_made_id, parse_arguments};
use crate::conversation::{
    CONTINUATION, CallIds, FILLER, GEMINI_IDS, NO_CONTENT, NO_REASON, OPENING, is_blank, pair_calls,
};
use crate::media::{PartContent, content_of, label_of, shown_below};
use tool_runtime::{
    message::{AssistantPart, MediaKind, MediaRef, Message, Part, ProviderPartKind, SourceRef, ToolMessage},
    model::{ReasoningEffort, Request, ToolChoice},
    toolset::{ListFormat, ToolList},
};

/// The signature of a call that has none, which Google documents for calls of other models:
/// <https://ai.google.dev/gemini-api/docs/thought-signatures>, read on 2026-11-28.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    contents: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<SystemInstruction<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    tool_config: Map<String, Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    generation_config: Map<String, Value>,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

#[derive(Serialize)]
struct SystemInstruction<'a> {
    parts: Vec<WirePart<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Tool<'a> {
    Functions {
        #[serde(rename = "functionDeclarations")]
        declarations: Cow<'a, RawValue>,
    },
    Provider(Map<String, Value>),
}

#[derive(Serialize)]
struct Content<'a> {
    role: Role,
    parts: Vec<WirePart<'a>>,
}

#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
    Model,
}

#[derive(Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum WirePart<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        thought: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a str>,
    },
    Media(WireMedia<'a>),
    Call {
        function_call: FunctionCall<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a str>,
    },
    Result {
        function_response: FunctionResponse<'a>,
    },
    /// A part of a tool that Google runs, unchanged.
    Provider(&'a RawValue),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
enum WireMedia<'a> {
    InlineData {
        mime_type: &'a str,
        data: &'a str,
    },
    FileData {
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<&'a str>,
        file_uri: Cow<'a, str>,
    },
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    args: Cow<'a, RawValue>,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    response: Response<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<WireMedia<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Response<'a> {
    Output(Answer<'a>),
    Error(Answer<'a>),
}

#[derive(Serialize)]
#[serde(untagged)]
enum Answer<'a> {
    Json(&'a RawValue),
    Text(String),
}

pub fn write_body(model: &Gemini, request: &Request<'_>) -> Vec<u8> {
    let structured = model.structured(request, ListFormat::Gemini);
    let request = &structured.as_ref().map_or(*request, |structured| structured.rest(request));
    let mut extra = model.extra.clone();
    let messages = pair_calls(request.messages);
    let ids = CallIds::new(&messages, &GEMINI_IDS);
    let system: Vec<_> = messages
        .iter()
        .filter_map(|message| match message {
            Message::System { text } if !is_blank(text) => Some(make_text(text.as_str())),
            _ => None,
        })
        .collect();
    let origin = model.origin();
    let is_before_gemini_3 = model.is_before_gemini_3();
    let conversion = Conversion { model, ids: &ids, origin: &origin, is_before_gemini_3 };
    let mut generation_config = configure(model, request, take_object(&mut extra, "generationConfig"));
    if let Some(structured) = &structured {
        generation_config.insert("responseMimeType".to_owned(), "application/json".into());
        generation_config.insert("responseJsonSchema".to_owned(), structured.schema().0);
    }
    let body = Body {
        contents: conversion.convert_messages(&messages),
        system_instruction: (!system.is_empty()).then_some(SystemInstruction { parts: system }),
        tools: convert_tools(request.tools),
        tool_config: configure_tools(model, request, take_object(&mut extra, "toolConfig")),
        generation_config,
        extra,
    };
    serde_json::to_vec(&body).expect("strings, numbers and JSON are JSON")
}

/// Converts the tools. Each tool that Google runs is an object of its own, such as `{"googleSearch": {}}`.
fn convert_tools(tools: &ToolList) -> Vec<Tool<'_>> {
    let format = ListFormat::Gemini;
    let mut provided = tools.provider_tools(format).filter_map(|tool| {
        let mut arguments = tool.definition().clone();
        match arguments.remove("type") {
            Some(Value::String(name)) => Some(Tool::Provider(Map::from_iter([(name, Value::Object(arguments))]))),
            _ => None,
        }
    });
    let first_provided = provided.next();
    let mut converted = Vec::new();
    if !tools.is_empty() {
        let list = tools.json(format);
        let declarations = if first_provided.is_none() {
            Cow::Borrowed(list)
        } else {
            let entries: Vec<&RawValue> = serde_json::from_str(list.get()).expect("a list of tools is an array");
            // The list begins with the application's own tools.
            let own = &entries[..tools.specs().len()];
            Cow::Owned(serde_json::value::to_raw_value(own).expect("JSON is JSON"))
        };
        converted.push(Tool::Functions { declarations });
    }
    converted.extend(first_provided.into_iter().chain(provided));
    converted
}

/// Adds the choice of a tool to `config`. Beside a function, Google's own tools need a switch, which Vertex AI does not have.
fn configure_tools(model: &Gemini, request: &Request<'_>, mut config: Map<String, Value>) -> Map<String, Value> {
    if request.tools.is_empty() {
        return config;
    }
    let choice = match request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::Required => Some(json!({ "mode": "ANY" })),
        ToolChoice::None => Some(json!({ "mode": "NONE" })),
        ToolChoice::Tool(name) => Some(json!({ "mode": "ANY", "allowedFunctionNames": [name] })),
    };
    config.extend(choice.map(|choice| ("functionCallingConfig".to_owned(), choice)));
    if request.tools.provider_tools(ListFormat::Gemini).next().is_some() && !model.is_at_vertex() {
        config.insert("includeServerSideToolInvocations".to_owned(), true.into());
    }
    config
}

/// Adds the settings of the request to `config`.
fn configure(model: &Gemini, request: &Request<'_>, mut config: Map<String, Value>) -> Map<String, Value> {
    let settings = request.settings;
    let max_tokens = settings.max_tokens.or(model.max_tokens);
    config.extend(max_tokens.map(|tokens| ("maxOutputTokens".to_owned(), tokens.into())));
    config.extend(settings.temperature.map(|temperature| ("temperature".to_owned(), temperature.into())));
    if let Some(effort) = settings.reasoning_effort {
        let mut thinking = take_object(&mut config, "thinkingConfig");
        let (member, value) = convert_effort(effort, model);
        if !["thinkingLevel", "thinkingBudget"].iter().any(|member| thinking.contains_key(*member)) {
            thinking.insert(member.to_owned(), value);
        }
        config.insert("thinkingConfig".to_owned(), thinking.into());
    }
    config
}

/// Returns the setting for an effort. Models before Gemini 3 have a number of tokens instead of a level. The numbers are those of
/// Google's own table for chat completions: <https://ai.google.dev/gemini-api/docs/openai>. A Pro model thinks with at least 128.
fn convert_effort(effort: ReasoningEffort, model: &Gemini) -> (&'static str, Value) {
    if model.is_before_gemini_3() {
        let tokens = match effort {
            ReasoningEffort::None if model.is_pro() => 128,
            ReasoningEffort::None => 0,
            ReasoningEffort::Minimal | ReasoningEffort::Low => 1024,
            ReasoningEffort::Medium => 8192,
            _ => 24_576,
        };
        return ("thinkingBudget", tokens.into());
    }
    ("thinkingLevel", model.thinking_level(effort).to_uppercase().into())
}

/// The facts on which the conversion of messages depends.
struct Conversion<'a> {
    model: &'a Gemini,
    ids: &'a CallIds<'a>,
    origin: &'a str,
    is_before_gemini_3: bool,
}

impl<'a> Conversion<'a> {
    /// Converts all messages but those of the system. Merges neighbours of one role. The user begins, and the model is never last.
    fn convert_messages(&self, messages: &'a [Message]) -> Vec<Content<'a>> {
        let mut contents = Vec::with_capacity(messages.len());
        let mut provider_calls = HashSet::new();
        // The media in results that follow the last result of a turn, because no part may be between results.
        let mut media = Vec::new();
        for message in messages {
            if !matches!(message, Message::Tool(_)) {
                push(&mut contents, Role::User, mem::take(&mut media));
            }
            match message {
                Message::System { .. } => {}
                Message::User { content } => {
                    let parts = content.iter().filter_map(|part| convert_part(self.model, part)).collect();
                    push(&mut contents, Role::User, parts);
                }
                Message::Assistant { content } => {
                    let parts = self.convert_turn(content, &mut provider_calls);
                    push(&mut contents, Role::Model, parts);
                }
                Message::Tool(result) => {
                    let response = self.convert_result(result, &mut media);
                    push(&mut contents, Role::User, vec![response]);
                }
            }
        }
        push(&mut contents, Role::User, media);
        if !self.is_before_gemini_3 {
            contents.iter_mut().for_each(sign_first_call);
        }
        if contents.first().is_none_or(|first| first.role == Role::Model) {
            contents.insert(0, Content { role: Role::User, parts: vec![make_text(OPENING)] });
        }
        if contents.last().is_some_and(|last| last.role == Role::Model) {
            push(&mut contents, Role::User, vec![make_text(CONTINUATION)]);
        }
        contents
    }

    /// Converts a turn of the model. Leaves out a turn that has only thoughts and signatures, thoughts that this origin did not sign,
    /// and results of Google's tools whose calls are not among `provider_calls`.
    fn convert_turn(&self, turn: &'a [AssistantPart], provider_calls: &mut HashSet<&'a str>) -> Vec<WirePart<'a>> {
        let mut parts = Vec::with_capacity(turn.len());
        let mut has_content = false;
        let (mut signature_of_call, mut signature_of_text) = (None, None);
        for part in turn {
            match part {
                AssistantPart::Text { text } => {
                    let thought_signature = signature_of_text.take();
                    if !is_blank(text) || thought_signature.is_some() {
                        has_content = true;
                        parts.push(WirePart::Text { text: text.into(), thought: false, thought_signature });
                    }
                }
                AssistantPart::Reasoning { text, signature } => {
                    let signature = signature.as_ref().and_then(|signature| Signed::read(signature, self.origin));
                    let Some((signed, signature)) = signature else { continue };
                    let thought_signature = Some(signature);
                    match signed {
                        Signed::Thought => {
                            parts.push(WirePart::Text { text: text.into(), thought: true, thought_signature });
                        }
                        Signed::Call => signature_of_call = thought_signature,
                        Signed::Text => signature_of_text = thought_signature,
                        Signed::Empty => {
                            parts.push(WirePart::Text { text: "".into(), thought: false, thought_signature });
                        }
                    }
                }
                AssistantPart::Call(call) => {
                    has_content = true;
                    let args = parse_arguments(&call.arguments);
                    let function_call = FunctionCall { id: self.id_of(&call.id), name: &call.name, args };
                    parts.push(WirePart::Call { function_call, thought_signature: signature_of_call.take() });
                }
                AssistantPart::Provider(part) if part.provider == self.origin => {
                    let Ok(json) = serde_json::from_str(&part.block) else { continue };
                    if part.kind == ProviderPartKind::Call {
                        provider_calls.insert(&part.call_id);
                    } else if !part.call_id.is_empty() && !provider_calls.contains(part.call_id.as_str()) {
                        continue;
                    }
                    has_content = true;
                    parts.push(WirePart::Provider(json));
                }
                // Parts of other origins have no meaning here.
                AssistantPart::Provider(_) => {}
            }
        }
        if has_content { parts } else { Vec::new() }
    }

    /// Converts the result of a call. It has no sound, and with models before Gemini 3 only text. So `media` gets the rest.
    fn convert_result(&self, result: &'a ToolMessage, media: &mut Vec<WirePart<'a>>) -> WirePart<'a> {
        let (mut texts, mut parts) = (Vec::new(), Vec::new());
        for content in result.content.iter().filter_map(|part| content_of(part, |media| self.model.takes_media(media)))
        {
            match content {
                PartContent::Text(text) => texts.push(text),
                PartContent::Media(part) if self.is_before_gemini_3 || part.kind == MediaKind::Audio => {
                    texts.push(shown_below(part.kind).into());
                    let label = label_of(part.kind, &result.tool, self.ids.get(&result.call_id));
                    media.extend([make_text(label), WirePart::Media(convert_media(&part))]);
                }
                PartContent::Media(part) => parts.push(convert_media(&part)),
            }
        }
        let answer = match &*result.content {
            [Part::Json { json }] => serde_json::from_str(json).ok().map(Answer::Json),
            _ => None,
        };
        let answer = answer.unwrap_or_else(|| {
            Answer::Text(match texts.is_empty() {
                true if result.is_error => NO_REASON.to_owned(),
                true => NO_CONTENT.to_owned(),
                false => texts.join("\n"),
            })
        });
        let response = if result.is_error { Response::Error(answer) } else { Response::Output(answer) };
        let id = self.id_of(&result.call_id);
        WirePart::Result { function_response: FunctionResponse { id, name: &result.tool, response, parts } }
    }

    /// Returns the id of a call in the request; `None` if the server gave none, because it does not know the one in the conversation.
    fn id_of(&self, id: &'a str) -> Option<&'a str> {
        (!is_made_id(id)).then(|| self.ids.get(id))
    }
}

/// Gives the first call of a content the documented signature, if it has none. The model refuses a step whose first call lacks one.
fn sign_first_call(content: &mut Content<'_>) {
    let call = content.parts.iter_mut().find_map(|part| match part {
        WirePart::Call { thought_signature, .. } => Some(thought_signature),
        _ => None,
    });
    if let Some(signature) = call {
        signature.get_or_insert(NO_SIGNATURE);
    }
}

/// Adds parts to the last content if that has the same role, or as a new content. No parts add nothing. A content with results has
/// nothing else, so a short text of the model is between results and other parts of the user.
fn push<'a>(contents: &mut Vec<Content<'a>>, role: Role, mut parts: Vec<WirePart<'a>>) {
    let has_result = |parts: &[WirePart<'_>]| matches!(parts.first(), Some(WirePart::Result { .. }));
    match contents.last_mut() {
        _ if parts.is_empty() => {}
        Some(last) if last.role == role && has_result(&last.parts) == has_result(&parts) => {
            last.parts.append(&mut parts);
        }
        Some(last) if last.role == role => {
            contents.push(Content { role: Role::Model, parts: vec![make_text(FILLER)] });
            contents.push(Content { role, parts });
        }
        _ => contents.push(Content { role, parts }),
    }
}

fn make_text<'a>(text: impl Into<Cow<'a, str>>) -> WirePart<'a> {
    WirePart::Text { text: text.into(), thought: false, thought_signature: None }
}

fn convert_part<'a>(model: &Gemini, part: &'a Part) -> Option<WirePart<'a>> {
    content_of(part, |media| model.takes_media(media)).map(|content| match content {
        PartContent::Text(text) => make_text(text),
        PartContent::Media(media) => WirePart::Media(convert_media(&media)),
    })
}

fn convert_media<'a>(media: &MediaRef<'a>) -> WireMedia<'a> {
    match media.source {
        SourceRef::Base64(data) => WireMedia::InlineData { mime_type: media.media_type.unwrap_or_default(), data },
        _ => WireMedia::FileData { mime_type: media.media_type, file_uri: media.to_url() },
    }
}
