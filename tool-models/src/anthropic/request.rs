//! The body of a messages request.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, value::RawValue};

use super::{
    Anthropic,
    decoder::{PROVIDER, REDACTED},
};
use crate::calls::normalize_arguments;
use tool_runtime::{
    message::{AssistantPart, Message, Part},
    model::{Request, ToolChoice},
    toolset::ListFormat,
};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<RequestMessage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<WireToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    stream: bool,
    #[serde(flatten)]
    extra: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct WireToolChoice<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disable_parallel_tool_use: Option<bool>,
}

#[derive(Serialize)]
struct RequestMessage<'a> {
    role: Role,
    content: Vec<ContentBlock<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ContentBlock<'a> {
    Block(Block<'a>),
    /// The block of a tool that the provider runs, unchanged.
    Provider(&'a RawValue),
}

#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
    Assistant,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: Source<'a>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: Cow<'a, RawValue>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

pub fn write_body(model: &Anthropic, request: &Request<'_>) -> Vec<u8> {
    let settings = request.settings;
    let has_tools = !request.tools.is_empty_in(ListFormat::Anthropic);
    let body = Body {
        model: &model.model,
        max_tokens: settings.max_tokens.unwrap_or(model.max_tokens),
        system: request
            .messages
            .iter()
            .filter_map(|message| match message {
                Message::System { text } => make_text_block(text),
                _ => None,
            })
            .collect(),
        messages: convert_messages(request.messages),
        tools: has_tools.then(|| request.tools.json(ListFormat::Anthropic)),
        tool_choice: if has_tools { convert_choice(request.tool_choice, settings.allow_parallel_calls) } else { None },
        temperature: settings.temperature,
        stream: true,
        extra: &model.extra,
    };
    serde_json::to_vec(&body).expect("strings, numbers and JSON are JSON")
}

fn convert_choice(choice: &ToolChoice, parallel_calls: Option<bool>) -> Option<WireToolChoice<'_>> {
    let (r#type, name) = match choice {
        ToolChoice::Auto if parallel_calls.is_none() => return None,
        ToolChoice::None => {
            return Some(WireToolChoice { r#type: "none", name: None, disable_parallel_tool_use: None });
        }
        ToolChoice::Auto => ("auto", None),
        ToolChoice::Required => ("any", None),
        ToolChoice::Tool(name) => ("tool", Some(name.as_str())),
    };
    Some(WireToolChoice {
        r#type,
        name,
        disable_parallel_tool_use: parallel_calls.map(|parallel_calls| !parallel_calls),
    })
}

/// Converts all messages but those of the system. Merges neighbours of one role, and puts results first, as Anthropic requires.
fn convert_messages(messages: &[Message]) -> Vec<RequestMessage<'_>> {
    let mut converted: Vec<RequestMessage<'_>> = Vec::with_capacity(messages.len());
    for message in messages {
        let (role, content) = match message {
            Message::System { .. } => continue,
            Message::User { content } => {
                (Role::User, content.iter().filter_map(convert_part).map(ContentBlock::Block).collect::<Vec<_>>())
            }
            Message::Assistant { content } => {
                (Role::Assistant, content.iter().filter_map(convert_assistant_part).collect())
            }
            Message::Tool(result) => {
                let content = result.content.iter().filter_map(convert_part).collect();
                let tool_use_id = sanitize_id(&result.call_id);
                (
                    Role::User,
                    vec![ContentBlock::Block(Block::ToolResult { tool_use_id, content, is_error: result.is_error })],
                )
            }
        };
        if content.is_empty() {
            continue;
        }
        match converted.last_mut() {
            Some(last) if last.role == role => last.content.extend(content),
            _ => converted.push(RequestMessage { role, content }),
        }
    }
    for message in &mut converted {
        // The sort is stable, so that results and the rest keep their order.
        let is_result = |block: &ContentBlock<'_>| matches!(block, ContentBlock::Block(Block::ToolResult { .. }));
        message.content.sort_by_key(|block| message.role == Role::User && !is_result(block));
    }
    converted
}

/// Returns a block of text; `None` if the text is blank, because the provider refuses such a block.
fn make_text_block<'a>(text: impl Into<Cow<'a, str>>) -> Option<Block<'a>> {
    let text = text.into();
    (!text.trim().is_empty()).then_some(Block::Text { text })
}

fn convert_part(part: &Part) -> Option<Block<'_>> {
    match part {
        Part::Text { text } | Part::Json { json: text } => make_text_block(text),
        Part::Audio { .. } | Part::Resource { .. } => make_text_block(part.in_words()),
        Part::Image { media_type, data } => {
            Some(Block::Image { source: Source { r#type: "base64", media_type, data } })
        }
    }
}

fn convert_assistant_part(part: &AssistantPart) -> Option<ContentBlock<'_>> {
    let block = match part {
        AssistantPart::Provider(part) if part.provider == PROVIDER => {
            return serde_json::from_str(&part.block).ok().map(ContentBlock::Provider);
        }
        AssistantPart::Text { text } => make_text_block(text),
        // Blocks of other providers have no meaning here.
        AssistantPart::Provider(_) => None,
        AssistantPart::Reasoning { text, signature } => {
            // The provider refuses reasoning without a signature of its own. A signature in JSON is one of Gemini.
            let signature = signature.as_deref().filter(|signature| !signature.starts_with('{'));
            signature.map(|signature| match signature.strip_prefix(REDACTED) {
                Some(data) => Block::RedactedThinking { data },
                None => Block::Thinking { thinking: text, signature },
            })
        }
        AssistantPart::Call(call) => {
            Some(Block::ToolUse { id: sanitize_id(&call.id), name: &call.name, input: parse_input(&call.arguments) })
        }
    };
    block.map(ContentBlock::Block)
}

fn parse_input(text: &str) -> Cow<'_, RawValue> {
    let invariant = "`normalize_arguments` returns valid JSON";
    match normalize_arguments(text) {
        Cow::Borrowed(text) => Cow::Borrowed(serde_json::from_str(text).expect(invariant)),
        Cow::Owned(text) => Cow::Owned(RawValue::from_string(text).expect(invariant)),
    }
}

/// Replaces each character that Anthropic refuses in an id with `_`. Other providers' ids may contain such characters.
fn sanitize_id(id: &str) -> Cow<'_, str> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if id.chars().all(is_allowed) { Cow::Borrowed(id) } else { Cow::Owned(id.replace(|c| !is_allowed(c), "_")) }
}
