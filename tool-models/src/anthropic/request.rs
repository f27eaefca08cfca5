//! The body of a messages request.

use std::{borrow::Cow, collections::HashSet};

use serde::Serialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    Anthropic,
    cache::{Mark, Marks},
    decoder::{PROVIDER, REDACTED},
    effort::{self, Thinking},
};
use crate::calls::{parse_arguments, wrap_arguments};
use crate::conversation::{ANTHROPIC_IDS, CONTINUATION, CallIds, NO_REASON, OPENING, is_blank, pair_calls};
use crate::media::{PartContent, content_of, is_common_image, is_in_bucket, is_pdf, label_of, shown_below};
use crate::structured::Structured;
use tool_runtime::{
    message::{AssistantPart, MediaKind, MediaRef, Message, Part, ProviderPartKind, Signature, SourceRef, ToolMessage},
    model::{ReasoningEffort, Request, ToolChoice},
    toolset::ListFormat,
};

#[derive(Serialize)]
struct Body<'a> {
    /// The model, unless the address names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    /// The version of the protocol, unless a header has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    anthropic_version: Option<&'a str>,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<ContentBlock<'a>>,
    messages: Vec<RequestMessage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Cow<'a, RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<WireToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<Value>,
    stream: bool,
    #[serde(flatten)]
    extra: Map<String, Value>,
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
    Block {
        #[serde(flatten)]
        block: Block<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    /// The block of a tool that the provider runs, unchanged.
    Provider(&'a RawValue),
}

impl<'a> From<Block<'a>> for ContentBlock<'a> {
    fn from(block: Block<'a>) -> Self {
        Self::Block { block, cache_control: None }
    }
}

impl ContentBlock<'_> {
    fn is_reasoning(&self) -> bool {
        matches!(self, Self::Block { block: Block::Thinking { .. } | Block::RedactedThinking { .. }, .. })
    }
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
    Document {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Cow<'a, RawValue>,
    },
    ToolResult {
        tool_use_id: &'a str,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source<'a> {
    Base64 { media_type: &'a str, data: &'a str },
    Url { url: &'a str },
}

pub fn write_body(model: &Anthropic, request: &Request<'_>) -> Vec<u8> {
    let structured = model.structured(request);
    let request = &structured.as_ref().map_or(*request, |structured| structured.rest(request));
    let settings = request.settings;
    let tools = (!request.tools.is_empty_in(ListFormat::Anthropic)).then(|| request.tools.json(ListFormat::Anthropic));
    let messages = wrap_arguments(pair_calls(request.messages), request.tools, ListFormat::Anthropic);
    let ids = CallIds::new(&messages, &ANTHROPIC_IDS);
    let mut marks = Marks::new(model.effective_cache(), tools);
    let mut system: Vec<ContentBlock<'_>> = messages
        .iter()
        .filter_map(|message| match message {
            Message::System { text } => make_text_block(text).map(Into::into),
            _ => None,
        })
        .collect();
    let mut converted = convert_messages(&messages, &ids);
    // The newest message saves the most. What is marked before it serves other conversations.
    let of_user = converted.iter_mut().rev().filter(|message| message.role == Role::User).take(2);
    of_user.for_each(|message| mark_last(&mut message.content, &mut marks));
    mark_last(&mut system, &mut marks);
    let mut extra = model.extra.clone();
    let effort = settings.reasoning_effort.filter(|_| effort::takes_effort(&model.model));
    let body = Body {
        model: model.vertex.is_none().then_some(&model.model),
        anthropic_version: model.vertex.is_some().then(|| model.effective_version()),
        max_tokens: settings.max_tokens.unwrap_or(model.max_tokens),
        system,
        messages: converted,
        tool_choice: tools.and_then(|_| convert_choice(request.tool_choice, settings.allow_parallel_calls)),
        tools: tools.map(|tools| marks.mark_tools(tools)),
        // Models that reason refuse one.
        temperature: settings.temperature.filter(|_| effort.is_none()),
        thinking: effort
            .filter(|_| !extra.contains_key("thinking"))
            .and_then(|effort| effort::thinking(effort, request.tool_choice)),
        output_config: configure_output(model, extra.remove("output_config"), effort, structured.as_ref()),
        stream: true,
        extra,
    };
    serde_json::to_vec(&body).expect("strings, numbers and JSON are JSON")
}

/// Returns the member `output_config`: `own`, which the application set, or else the effort; and the format of the answer.
fn configure_output(
    model: &Anthropic,
    own: Option<Value>,
    effort: Option<ReasoningEffort>,
    structured: Option<&Structured>,
) -> Option<Value> {
    let mut config = own.or_else(|| effort.map(|effort| json!({ "effort": effort::level(&model.model, effort) })));
    if let Some(structured) = structured
        && let Some(config) = config.get_or_insert_with(|| json!({})).as_object_mut()
    {
        config.insert("format".to_owned(), json!({ "type": "json_schema", "schema": structured.schema().0 }));
    }
    config
}

/// Marks the last block that can have a mark. The provider refuses one on reasoning, and its own blocks stay unchanged.
fn mark_last(content: &mut [ContentBlock<'_>], marks: &mut Marks) {
    let last = content.iter_mut().rev().filter(|block| !block.is_reasoning()).find_map(|block| match block {
        ContentBlock::Block { cache_control, .. } => Some(cache_control),
        ContentBlock::Provider(_) => None,
    });
    if let Some(cache_control) = last {
        *cache_control = marks.take();
    }
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
/// Leaves out messages without content.
fn convert_messages<'a>(messages: &'a [Message], ids: &'a CallIds<'_>) -> Vec<RequestMessage<'a>> {
    let mut converted: Vec<RequestMessage<'_>> = Vec::with_capacity(messages.len());
    let mut provider_calls = HashSet::new();
    for message in messages {
        match message {
            Message::System { .. } => {}
            Message::User { content } => push(&mut converted, Role::User, content.iter().filter_map(convert_part)),
            Message::Assistant { content } => {
                push(&mut converted, Role::Assistant, convert_turn(content, ids, &mut provider_calls));
            }
            Message::Tool(result) => push(&mut converted, Role::User, convert_result(result, ids)),
        }
    }
    for message in &mut converted {
        // The sort is stable, so that results and the rest keep their order.
        let is_result =
            |block: &ContentBlock<'_>| matches!(block, ContentBlock::Block { block: Block::ToolResult { .. }, .. });
        message.content.sort_by_key(|block| message.role == Role::User && !is_result(block));
    }
    let text = |text| Some(Block::Text { text: Cow::Borrowed(text) }).into_iter();
    // A turn that the provider paused ends with one of its blocks, and goes on without a message of the user.
    if converted.last().is_some_and(|last| {
        last.role == Role::Assistant && !matches!(last.content.last(), Some(ContentBlock::Provider(_)))
    }) {
        push(&mut converted, Role::User, text(CONTINUATION));
    }
    if converted.first().is_none_or(|first| first.role == Role::Assistant) {
        let mut opening = Vec::with_capacity(converted.len() + 1);
        push(&mut opening, Role::User, text(OPENING));
        opening.append(&mut converted);
        return opening;
    }
    converted
}

/// Adds `content` to the last message if that has the same role, or as a new message. An empty content adds nothing.
fn push<'a, B: Into<ContentBlock<'a>>>(
    converted: &mut Vec<RequestMessage<'a>>,
    role: Role,
    content: impl IntoIterator<Item = B>,
) {
    let mut content = content.into_iter().map(Into::into).peekable();
    match converted.last_mut() {
        _ if content.peek().is_none() => {}
        Some(last) if last.role == role => last.content.extend(content),
        _ => converted.push(RequestMessage { role, content: content.collect() }),
    }
}

/// Returns a block of text; `None` if the text is blank, because the provider refuses such a block.
fn make_text_block(text: &str) -> Option<Block<'_>> {
    (!is_blank(text)).then_some(Block::Text { text: Cow::Borrowed(text) })
}

/// Returns whether the provider takes the media, in prompts and in results: images and PDFs.
pub fn takes_media(media: &MediaRef<'_>) -> bool {
    !is_in_bucket(media) && (is_common_image(media) || is_pdf(media))
}

fn convert_part(part: &Part) -> Option<Block<'_>> {
    content_of(part, takes_media).map(convert_content)
}

fn convert_content(content: PartContent<'_>) -> Block<'_> {
    let media = match content {
        PartContent::Text(text) => return Block::Text { text },
        PartContent::Media(media) => media,
    };
    let source = match media.source {
        SourceRef::Base64(data) => Source::Base64 { media_type: media.media_type.unwrap_or_default(), data },
        SourceRef::Url(url) => Source::Url { url },
        _ => Source::Url { url: "" },
    };
    match media.kind {
        MediaKind::Image => Block::Image { source },
        MediaKind::Audio | MediaKind::Document => Block::Document { source, title: media.name },
    }
}

/// Converts the result of a call. The provider refuses an error without text, and one with an image. So the media of an error
/// follows the result.
fn convert_result<'a>(result: &'a ToolMessage, ids: &'a CallIds<'_>) -> Vec<Block<'a>> {
    let tool_use_id = ids.get(&result.call_id);
    let (mut content, mut media) = (Vec::with_capacity(result.content.len()), Vec::new());
    for part in result.content.iter().filter_map(|part| content_of(part, takes_media)) {
        match part {
            PartContent::Media(MediaRef { kind, .. }) if result.is_error => {
                content.push(Block::Text { text: Cow::Borrowed(shown_below(kind)) });
                media.push(Block::Text { text: label_of(kind, &result.tool, tool_use_id).into() });
                media.push(convert_content(part));
            }
            part => content.push(convert_content(part)),
        }
    }
    if content.is_empty() && result.is_error {
        content.push(Block::Text { text: Cow::Borrowed(NO_REASON) });
    }
    let mut blocks = vec![Block::ToolResult { tool_use_id, content, is_error: result.is_error }];
    blocks.append(&mut media);
    blocks
}

/// Converts a turn of the model. The provider refuses a turn that ends with reasoning, and a result of one of its tools whose call is
/// not among `provider_calls`. This function leaves out both.
fn convert_turn<'a>(
    content: &'a [AssistantPart],
    ids: &'a CallIds<'_>,
    provider_calls: &mut HashSet<&'a str>,
) -> Vec<ContentBlock<'a>> {
    let mut blocks = Vec::with_capacity(content.len());
    for part in content {
        let Some(block) = convert_assistant_part(part, ids) else { continue };
        match part {
            AssistantPart::Provider(part) if part.kind == ProviderPartKind::Call => {
                provider_calls.insert(&part.call_id);
            }
            AssistantPart::Provider(part) if !provider_calls.contains(part.call_id.as_str()) => continue,
            _ => {}
        }
        blocks.push(block);
    }
    blocks.truncate(blocks.iter().rposition(|block| !block.is_reasoning()).map_or(0, |last| last + 1));
    blocks
}

fn convert_assistant_part<'a>(part: &'a AssistantPart, ids: &'a CallIds<'_>) -> Option<ContentBlock<'a>> {
    let block = match part {
        AssistantPart::Provider(part) if part.provider == PROVIDER => {
            let block: Option<&RawValue> = serde_json::from_str(&part.block).ok();
            return block.filter(|block| block.get().starts_with('{')).map(ContentBlock::Provider);
        }
        AssistantPart::Text { text } => make_text_block(text),
        // Blocks of other providers have no meaning here.
        AssistantPart::Provider(_) => None,
        AssistantPart::Reasoning { text, signature } => {
            // The provider refuses reasoning without a signature of its own.
            let signature = signature.as_ref().filter(|signature| is_own(signature)).map(|own| own.value.as_str());
            signature.map(|signature| match signature.strip_prefix(REDACTED) {
                Some(data) => Block::RedactedThinking { data },
                None => Block::Thinking { thinking: text, signature },
            })
        }
        AssistantPart::Call(call) => {
            Some(Block::ToolUse { id: ids.get(&call.id), name: &call.name, input: parse_arguments(&call.arguments) })
        }
    };
    block.map(Into::into)
}

/// Returns whether a signature is one of this provider. Earlier versions kept no origin: there, JSON is a signature of Gemini.
fn is_own(signature: &Signature) -> bool {
    let is_known = signature.origin == PROVIDER;
    !signature.value.is_empty() && (is_known || (signature.origin.is_empty() && !signature.value.starts_with('{')))
}
