//! The body of a request to the Interactions API.

use std::{borrow::Cow, collections::HashSet, mem};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};

use super::super::{Gemini, Signed, take_object, takes_type};
use crate::calls::parse_arguments;
use crate::conversation::{CONTINUATION, CallIds, GEMINI_IDS, NO_CONTENT, NO_REASON, OPENING, is_blank, pair_calls};
use crate::media::{PartContent, content_of, is_in_bucket, label_of, shown_below};
use tool_runtime::{
    message::{
        AssistantPart, MediaKind, MediaRef, Message, Part, ProviderPart, ProviderPartKind, SourceRef, ToolMessage,
    },
    model::{Request, ToolChoice},
    toolset::ListFormat,
};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    input: Vec<InputStep<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    generation_config: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
    store: bool,
    stream: bool,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum InputStep<'a> {
    Step(Step<'a>),
    /// A step of a tool that Google runs, unchanged.
    Provider(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Step<'a> {
    UserInput {
        content: Vec<Content<'a>>,
    },
    ModelOutput {
        content: Vec<Content<'a>>,
    },
    Thought {
        signature: &'a str,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        summary: Vec<Content<'a>>,
    },
    FunctionCall {
        id: &'a str,
        name: &'a str,
        arguments: Cow<'a, RawValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
    },
    FunctionResult {
        call_id: &'a str,
        name: &'a str,
        result: Vec<Content<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content<'a> {
    Text { text: Cow<'a, str> },
    Image(File<'a>),
    Audio(File<'a>),
    Document(File<'a>),
}

#[derive(Serialize)]
struct File<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<Cow<'a, str>>,
}

pub fn write_body(model: &Gemini, request: &Request<'_>) -> Vec<u8> {
    let structured = model.structured(request, ListFormat::GeminiInteractions);
    let request = &structured.as_ref().map_or(*request, |structured| structured.rest(request));
    let mut extra = model.extra.clone();
    let messages = pair_calls(request.messages);
    let ids = CallIds::new(&messages, &GEMINI_IDS);
    let origin = model.origin();
    let system: Vec<&str> = messages
        .iter()
        .filter_map(|message| match message {
            Message::System { text } if !is_blank(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let format = ListFormat::GeminiInteractions;
    let body = Body {
        model: &model.model,
        input: convert_messages(&messages, &ids, &origin),
        system_instruction: (!system.is_empty()).then(|| system.join("\n\n")),
        tools: (!request.tools.is_empty_in(format)).then(|| request.tools.json(format)),
        generation_config: configure(model, request, take_object(&mut extra, "generation_config")),
        response_format: structured.as_ref().map(
            |structured| json!({ "type": "text", "mime_type": "application/json", "schema": structured.schema().0 }),
        ),
        store: false,
        stream: true,
        extra,
    };
    serde_json::to_vec(&body).expect("strings, numbers and JSON are JSON")
}

/// Adds the settings of the request to `config`.
fn configure(model: &Gemini, request: &Request<'_>, mut config: Map<String, Value>) -> Map<String, Value> {
    let settings = request.settings;
    let mut set = |member: &str, value: Option<Value>| {
        if let Some(value) = value {
            config.insert(member.to_owned(), value);
        }
    };
    set("max_output_tokens", settings.max_tokens.or(model.max_tokens).map(Value::from));
    set("temperature", settings.temperature.map(Value::from));
    if let Some(effort) = settings.reasoning_effort {
        config.entry("thinking_level").or_insert_with(|| model.thinking_level(effort).into());
    }
    // The server refuses a choice without a function to choose.
    if !request.tools.is_empty() {
        config.extend(convert_choice(request.tool_choice).map(|choice| ("tool_choice".to_owned(), choice)));
    }
    config
}

fn convert_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::Required => Some("any".into()),
        ToolChoice::None => Some("none".into()),
        ToolChoice::Tool(name) => Some(json!({ "allowed_tools": { "mode": "any", "tools": [name] } })),
    }
}

/// Converts all messages but those of the system. The user begins, and the model is never last.
fn convert_messages<'a>(messages: &'a [Message], ids: &'a CallIds<'_>, origin: &str) -> Vec<InputStep<'a>> {
    let mut steps = Vec::with_capacity(messages.len());
    let mut provider_calls = HashSet::new();
    // What the results of a turn cannot have follows the last of them.
    let mut media = Vec::new();
    for message in messages {
        if !matches!(message, Message::Tool(_)) {
            push_user(&mut steps, mem::take(&mut media));
        }
        match message {
            Message::System { .. } => {}
            Message::User { content } => push_user(&mut steps, content.iter().filter_map(convert_part).collect()),
            Message::Assistant { content } => convert_turn(content, ids, origin, &mut provider_calls, &mut steps),
            Message::Tool(result) => steps.push(InputStep::Step(convert_result(result, ids, &mut media))),
        }
    }
    push_user(&mut steps, media);
    let text = |text| vec![Content::Text { text: Cow::Borrowed(text) }];
    let is_of_user =
        |step: &InputStep<'_>| matches!(step, InputStep::Step(Step::UserInput { .. } | Step::FunctionResult { .. }));
    if !steps.first().is_some_and(is_of_user) {
        steps.insert(0, InputStep::Step(Step::UserInput { content: text(OPENING) }));
    }
    if !steps.last().is_some_and(is_of_user) {
        push_user(&mut steps, text(CONTINUATION));
    }
    steps
}

/// Adds content of the user to the last step if that is the user's, or as a new one. An empty content adds nothing.
fn push_user<'a>(steps: &mut Vec<InputStep<'a>>, mut content: Vec<Content<'a>>) {
    match steps.last_mut() {
        _ if content.is_empty() => {}
        Some(InputStep::Step(Step::UserInput { content: last })) => last.append(&mut content),
        _ => steps.push(InputStep::Step(Step::UserInput { content })),
    }
}

/// Adds the steps of a turn of the model. Leaves out a turn that has only thoughts, thoughts that this origin did not sign, and results
/// of Google's tools whose calls are not among `provider_calls`.
fn convert_turn<'a>(
    turn: &'a [AssistantPart],
    ids: &'a CallIds<'_>,
    origin: &str,
    provider_calls: &mut HashSet<&'a str>,
    steps: &mut Vec<InputStep<'a>>,
) {
    let start = steps.len();
    let mut signature_of_call = None;
    for part in turn {
        match part {
            AssistantPart::Text { text } if is_blank(text) => {}
            AssistantPart::Text { text } => {
                let text = Content::Text { text: Cow::Borrowed(text) };
                match steps[start..].last_mut() {
                    Some(InputStep::Step(Step::ModelOutput { content })) => content.push(text),
                    _ => steps.push(InputStep::Step(Step::ModelOutput { content: vec![text] })),
                }
            }
            AssistantPart::Reasoning { text, signature } => {
                match signature.as_ref().and_then(|signature| Signed::read(signature, origin)) {
                    Some((Signed::Thought, signature)) => {
                        let summary = (!is_blank(text)).then_some(Content::Text { text: Cow::Borrowed(text) });
                        let summary = summary.into_iter().collect();
                        steps.push(InputStep::Step(Step::Thought { signature, summary }));
                    }
                    Some((Signed::Call, signature)) => signature_of_call = Some(signature),
                    _ => {}
                }
            }
            AssistantPart::Call(call) => steps.push(InputStep::Step(Step::FunctionCall {
                id: ids.get(&call.id),
                name: &call.name,
                arguments: parse_arguments(&call.arguments),
                signature: mem::take(&mut signature_of_call),
            })),
            AssistantPart::Provider(part) if part.provider == origin => {
                let Some(step) = read_step(part) else { continue };
                if part.kind == ProviderPartKind::Call {
                    provider_calls.insert(&part.call_id);
                } else if !part.call_id.is_empty() && !provider_calls.contains(part.call_id.as_str()) {
                    continue;
                }
                steps.push(InputStep::Provider(step));
            }
            // Steps of other origins have no meaning here.
            AssistantPart::Provider(_) => {}
        }
    }
    if steps[start..].iter().all(|step| matches!(step, InputStep::Step(Step::Thought { .. }))) {
        steps.truncate(start);
    }
}

/// Returns the step in a part; `None` for a citation, which belongs to a text.
fn read_step(part: &ProviderPart) -> Option<&RawValue> {
    #[derive(Deserialize)]
    struct Typed<'a> {
        #[serde(borrow)]
        r#type: Cow<'a, str>,
    }
    let kind = serde_json::from_str::<Typed<'_>>(&part.block).ok()?.r#type;
    let is_step = kind == "model_output" || kind.ends_with("_call") || kind.ends_with("_result");
    is_step.then(|| serde_json::from_str(&part.block).ok()).flatten()
}

/// Converts the result of a call. It has only texts and images, so `media` gets the rest.
fn convert_result<'a>(result: &'a ToolMessage, ids: &'a CallIds<'_>, media: &mut Vec<Content<'a>>) -> Step<'a> {
    let call_id = ids.get(&result.call_id);
    let mut content = Vec::with_capacity(result.content.len());
    for part in result.content.iter().filter_map(|part| content_of(part, takes_media)) {
        match part {
            PartContent::Media(MediaRef { kind: kind @ (MediaKind::Audio | MediaKind::Document), .. }) => {
                content.push(Content::Text { text: shown_below(kind).into() });
                media.extend([
                    Content::Text { text: label_of(kind, &result.tool, call_id).into() },
                    convert_content(part),
                ]);
            }
            part => content.push(convert_content(part)),
        }
    }
    if content.is_empty() {
        let text = if result.is_error { NO_REASON } else { NO_CONTENT };
        content.push(Content::Text { text: Cow::Borrowed(text) });
    }
    Step::FunctionResult { call_id, name: &result.tool, result: content, is_error: result.is_error }
}

/// Returns whether a request of this API may have the media. Nothing says that it reads addresses of buckets.
fn takes_media(media: &MediaRef<'_>) -> bool {
    !is_in_bucket(media) && takes_type(media)
}

fn convert_part(part: &Part) -> Option<Content<'_>> {
    content_of(part, takes_media).map(convert_content)
}

fn convert_content(content: PartContent<'_>) -> Content<'_> {
    let media = match content {
        PartContent::Text(text) => return Content::Text { text },
        PartContent::Media(media) => media,
    };
    let (data, uri) = match media.source {
        SourceRef::Base64(data) => (Some(data), None),
        _ => (None, Some(media.to_url())),
    };
    let file = File { mime_type: media.media_type, data, uri };
    match media.kind {
        MediaKind::Image => Content::Image(file),
        MediaKind::Audio => Content::Audio(file),
        MediaKind::Document => Content::Document(file),
    }
}
