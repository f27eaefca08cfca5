//! The body of a chat completion request.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{OpenAi, TokenLimitField};
use crate::calls::normalize_arguments;
use tool_runtime::{
    message::{AssistantPart, Message, Part, ToolMessage},
    model::{Request, ToolChoice},
    toolset::ListFormat,
};

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
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<Value>,
    #[serde(flatten)]
    extra: &'a Map<String, Value>,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum RequestMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: Value },
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
    let settings = request.settings;
    let has_tools = !request.tools.is_empty_in(ListFormat::OpenAi);
    let token_limit = settings.max_tokens.or(model.max_tokens);
    let (max_tokens, max_completion_tokens) = match model.effective_token_limit_field() {
        TokenLimitField::MaxTokens => (token_limit, None),
        TokenLimitField::MaxCompletionTokens => (None, token_limit),
    };
    let body = Body {
        model: &model.model,
        messages: convert_messages(
            request.messages,
            ReasoningToSend { send_text: model.send_reasoning, send_signatures: model.needs_signatures() },
        ),
        tools: has_tools.then(|| request.tools.json(ListFormat::OpenAi)),
        tool_choice: if has_tools { convert_choice(request.tool_choice) } else { None },
        parallel_tool_calls: settings.allow_parallel_calls.filter(|_| has_tools),
        max_tokens,
        max_completion_tokens,
        temperature: settings.temperature,
        stream: true,
        stream_options: model.request_usage.then(|| json!({ "include_usage": true })),
        extra: &model.extra,
    };
    serde_json::to_vec(&body).expect("strings, numbers and JSON are JSON")
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
struct ReasoningToSend {
    /// The text.
    send_text: bool,
    /// The signatures. Only a server that signs its reasoning accepts them.
    send_signatures: bool,
}

fn convert_messages(messages: &[Message], reasoning_to_send: ReasoningToSend) -> Vec<RequestMessage<'_>> {
    let mut converted = Vec::with_capacity(messages.len());
    // The images in results. They follow the last result of a turn, because no message may be between results.
    let mut images = Vec::new();
    for message in messages {
        if !matches!(message, Message::Tool(_)) {
            flush_images(&mut images, &mut converted);
        }
        match message {
            Message::System { text } => converted.push(RequestMessage::System { content: text }),
            Message::User { content } => {
                converted.push(RequestMessage::User { content: convert_user_content(content) });
            }
            Message::Assistant { content } => converted.push(convert_assistant(content, reasoning_to_send)),
            Message::Tool(result) => converted.push(convert_result(result, &mut images)),
        }
    }
    flush_images(&mut images, &mut converted);
    converted
}

fn flush_images<'a>(images: &mut Vec<ContentPart<'a>>, converted: &mut Vec<RequestMessage<'a>>) {
    if !images.is_empty() {
        converted.push(RequestMessage::User { content: Content::Parts(std::mem::take(images)) });
    }
}

fn convert_user_content(content: &[Part]) -> Content<'_> {
    match content {
        [only] if only.as_text().is_some() => Content::Text(only.as_text().unwrap_or_default()),
        parts => Content::Parts(parts.iter().map(convert_part).collect()),
    }
}

fn convert_part(part: &Part) -> ContentPart<'_> {
    match part {
        Part::Text { text } | Part::Json { json: text } => ContentPart::Text { text: Cow::Borrowed(text) },
        Part::Image { media_type, data } => {
            ContentPart::ImageUrl { image_url: json!({ "url": format!("data:{media_type};base64,{data}") }) }
        }
        // Few models accept audio, and the others refuse the whole request.
        Part::Audio { .. } | Part::Resource { .. } => ContentPart::Text { text: part.in_words() },
    }
}

fn convert_assistant(content: &[AssistantPart], reasoning_to_send: ReasoningToSend) -> RequestMessage<'_> {
    let mut pending_signature = None;
    let (mut assistant_text, mut reasoning_text, mut tool_calls) = (String::new(), String::new(), Vec::new());
    for part in content {
        match part {
            AssistantPart::Text { text } => assistant_text.push_str(text),
            AssistantPart::Reasoning { text, signature } => {
                reasoning_text.push_str(text);
                pending_signature = signature.as_deref().filter(|_| reasoning_to_send.send_signatures);
            }
            // The protocol has no place for it. The model's text contains what the model used of it.
            AssistantPart::Provider(_) => {}
            AssistantPart::Call(call) => tool_calls.push(Call {
                id: &call.id,
                r#type: "function",
                function: Function { name: &call.name, arguments: normalize_arguments(&call.arguments) },
                // A signature of Gemini is a JSON object. Signatures of other providers are not valid here.
                extra_content: pending_signature
                    .take()
                    .filter(|signature| signature.starts_with('{'))
                    .and_then(|signature| serde_json::from_str(signature).ok()),
            }),
        }
    }
    RequestMessage::Assistant {
        // `null` is valid only beside calls. A message with neither text nor calls gets an empty text.
        content: (!assistant_text.is_empty() || tool_calls.is_empty()).then_some(assistant_text),
        reasoning_content: Some(reasoning_text)
            .filter(|reasoning_text| reasoning_to_send.send_text && !reasoning_text.is_empty()),
        tool_calls,
    }
}

/// Converts the result of a call, which is only text in the protocol. So `images` collects the images for a later message. The
/// text of an error begins with `error`, unless the content reports the failure itself.
fn convert_result<'a>(result: &'a ToolMessage, images: &mut Vec<ContentPart<'a>>) -> RequestMessage<'a> {
    let mut texts: Vec<Cow<'a, str>> = Vec::new();
    for part in &result.content {
        if matches!(part, Part::Image { .. }) {
            texts.push(Cow::Borrowed("(an image, shown below)"));
            let label = format!("The image that `{}` gave for call {}:", result.tool, result.call_id);
            images.push(ContentPart::Text { text: Cow::Owned(label) });
            images.push(convert_part(part));
        } else {
            texts.push(part.in_words());
        }
    }
    let text = match texts.as_slice() {
        [only] => only.clone(),
        several => Cow::Owned(several.join("\n")),
    };
    let content =
        if result.is_error && !reports_failure(&result.content) { Cow::Owned(format!("error: {text}")) } else { text };
    RequestMessage::Tool { tool_call_id: &result.call_id, content }
}

/// Returns whether the content itself reports a failure: it has JSON, or a text that begins with `error`.
fn reports_failure(content: &[Part]) -> bool {
    content.iter().any(|part| match part {
        Part::Json { .. } => true,
        Part::Text { text } => text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error")),
        Part::Image { .. } | Part::Audio { .. } | Part::Resource { .. } => false,
    })
}
