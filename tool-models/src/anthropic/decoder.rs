//! The decoder of Anthropic's streams: it turns events into deltas.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::{
    calls::Calls,
    error::{self, protocol_error},
    http::response::Decode,
    tokens::read_count,
};
use tool_runtime::{
    message::{Message, ProviderPart, ProviderPartKind, Signature},
    model::{Delta, FinishReason, ModelError, Usage},
    toolset::{ListFormat, ToolList},
};

/// The prefix that marks a signature as the data of a redacted thinking block.
pub const REDACTED: &str = "redacted_thinking:";

/// The name of this provider in the parts that contain its blocks, and the origin of its signatures. All hosts of the models take
/// both.
pub const PROVIDER: &str = "anthropic";

/// A decoder of the stream that Anthropic's messages protocol sends for one request.
#[derive(Debug)]
pub struct Decoder {
    calls: Calls,
    message_id: Option<String>,
    has_blocks: bool,
    /// The index and the kind of the open block.
    open_block: Option<(u64, BlockKind)>,
    /// The open block of a provider's tool, if there is one. `provider_parts` has the complete ones.
    open_provider_block: Option<ProviderBlock>,
    provider_parts: Vec<ProviderPart>,
    tokens: Tokens,
    finish_reason: Option<FinishReason>,
    is_over: bool,
}

#[derive(Clone, Copy, Debug)]
enum BlockKind {
    Text,
    Thinking,
    Call(usize),
    /// The block of a provider's tool.
    Provider,
    Skipped,
}

impl Decoder {
    /// Creates a decoder of the response to a request with these messages and tools.
    pub fn new(messages: &[Message], tools: &ToolList) -> Self {
        Self {
            calls: Calls::new(tools, ListFormat::Anthropic, messages),
            message_id: None,
            has_blocks: false,
            open_block: None,
            open_provider_block: None,
            provider_parts: Vec::new(),
            tokens: Tokens::default(),
            finish_reason: None,
            is_over: false,
        }
    }

    fn apply_event(&mut self, event: Event, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        match event {
            Event::MessageStart { message } => self.begin_message(message, out)?,
            Event::ContentBlockStart { index, content_block } => self.begin_block(index, content_block, out)?,
            Event::ContentBlockDelta { index, delta } => self.apply_piece(index, delta, out)?,
            Event::ContentBlockStop { index } => {
                if let BlockKind::Call(call) = self.kind_of_open_block(index)? {
                    self.calls.end(call, out);
                }
                if let Some(block) = self.open_provider_block.take() {
                    let part = block.into_part(&self.provider_parts);
                    self.provider_parts.push(part.clone());
                    out.push(Delta::Provider(part));
                }
                self.open_block = None;
            }
            Event::MessageDelta { delta, usage } => {
                if let Some(reason) = delta.stop_reason {
                    self.finish_reason = Some(read_finish_reason(reason));
                }
                self.update_usage(usage.as_ref(), out);
            }
            Event::MessageStop => out.append(&mut self.finish_turn()?),
            Event::Error | Event::Other => {}
        }
        Ok(())
    }

    /// Accepts the event that begins the message. Some proxies send this event twice, which is harmless before the first block.
    /// After a block, the event belongs to a second response, which fails the turn.
    fn begin_message(&mut self, message: StartedMessage, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        if self.has_blocks {
            let first = self.message_id.as_deref().unwrap_or_default();
            return Err(protocol_error(&format!("a second message ({}) began within the message {first}", message.id)));
        }
        self.message_id = Some(message.id);
        self.update_usage(message.usage.as_ref(), out);
        Ok(())
    }

    fn begin_block(&mut self, index: u64, block_json: Value, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        if let Some((open, _)) = self.open_block {
            return Err(protocol_error(&format!("block {index} began before block {open} ended")));
        }
        self.has_blocks = true;
        let block = Block::deserialize(&block_json).map_err(|error| {
            protocol_error(&format!("block {index} is not one of the messages protocol")).with_source(error)
        })?;
        let kind = match block {
            Block::Text { text } => {
                push_nonempty(Delta::Text, text, out);
                BlockKind::Text
            }
            Block::Thinking { thinking, signature } => {
                // Even an empty delta begins a block of reasoning, so the signature does not join that of the previous block.
                out.push(Delta::Reasoning(thinking));
                push_nonempty(signed, signature, out);
                BlockKind::Thinking
            }
            Block::RedactedThinking { data } => {
                out.push(Delta::Reasoning(String::new()));
                out.push(signed(format!("{REDACTED}{data}")));
                BlockKind::Skipped
            }
            Block::ToolUse { id, name, input } => {
                let call = self.calls.start(&id, &name, out);
                if !input.is_empty() {
                    self.calls.push(call, Value::Object(input).to_string(), out);
                }
                BlockKind::Call(call)
            }
            Block::Other => {
                self.open_provider_block = ProviderBlock::new(block_json);
                BlockKind::Provider
            }
        };
        self.open_block = Some((index, kind));
        Ok(())
    }

    fn apply_piece(&mut self, index: u64, piece: Piece, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        match (self.kind_of_open_block(index)?, piece) {
            (BlockKind::Text, Piece::TextDelta { text }) => push_nonempty(Delta::Text, text, out),
            (BlockKind::Thinking, Piece::ThinkingDelta { thinking }) => push_nonempty(Delta::Reasoning, thinking, out),
            (BlockKind::Thinking, Piece::SignatureDelta { signature }) => {
                push_nonempty(signed, signature, out);
            }
            (BlockKind::Call(call), Piece::InputJsonDelta { partial_json }) => {
                self.calls.push(call, partial_json, out);
            }
            (BlockKind::Provider, Piece::InputJsonDelta { partial_json }) => {
                if let Some(block) = &mut self.open_provider_block {
                    block.push(&partial_json);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn kind_of_open_block(&self, index: u64) -> Result<BlockKind, ModelError> {
        match self.open_block {
            Some((open, kind)) if open == index => Ok(kind),
            _ => Err(protocol_error(&format!("an event belongs to block {index}, which is not open"))),
        }
    }

    fn update_usage(&mut self, usage: Option<&Value>, out: &mut Vec<Delta>) {
        if let Some(usage) = usage {
            let before = Usage::from(self.tokens);
            self.tokens.update(Tokens::read(usage));
            let usage = Usage::from(self.tokens);
            if usage != before {
                out.push(Delta::Usage(usage));
            }
        }
    }

    fn finish_turn(&mut self) -> Result<Vec<Delta>, ModelError> {
        let reason = self.finish_reason.take().ok_or_else(error::cut_off_error)?;
        if reason.allows_calls() {
            self.calls.check_open()?;
        }
        let mut out = Vec::new();
        self.is_over = true;
        self.calls.finish(reason.allows_calls(), &mut out);
        out.push(Delta::Finish(reason));
        Ok(out)
    }
}

impl Decode for Decoder {
    fn decode_event(&mut self, data: &str) -> Result<Vec<Delta>, ModelError> {
        let data = data.trim_ascii();
        if self.is_over || data.is_empty() || data == "[DONE]" {
            return Ok(Vec::new());
        }
        let event: Event = error::read_event(data, "one of the messages protocol")?;
        if matches!(event, Event::Error) {
            return Err(error::read_stream_error(data));
        }
        let mut out = Vec::new();
        self.apply_event(event, &mut out)?;
        Ok(out)
    }

    fn finish(&mut self) -> Result<Vec<Delta>, ModelError> {
        if self.is_over { Ok(Vec::new()) } else { self.finish_turn() }
    }
}

fn push_nonempty(delta: fn(String) -> Delta, text: String, out: &mut Vec<Delta>) {
    if !text.is_empty() {
        out.push(delta(text));
    }
}

fn signed(signature: String) -> Delta {
    Delta::ReasoningSignature(Signature::new(PROVIDER, signature))
}

fn read_finish_reason(reason: String) -> FinishReason {
    match reason.as_str() {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "tool_use" => FinishReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "pause_turn" => FinishReason::Paused,
        "refusal" => FinishReason::ContentFilter,
        _ => FinishReason::Other(reason),
    }
}

/// An open block of a provider's tool.
#[derive(Debug)]
struct ProviderBlock {
    block: Value,
    /// The part of a call's input that has arrived.
    input: String,
    kind: ProviderPartKind,
}

impl ProviderBlock {
    /// Creates the state of a block of a provider's tool. Returns `None` for any other block.
    fn new(block: Value) -> Option<Self> {
        let name = block["type"].as_str()?;
        let kind = if name.ends_with("_tool_use") {
            ProviderPartKind::Call
        } else if name.ends_with("_tool_result") {
            let has_failed = block["is_error"] == true
                || block["content"]["type"].as_str().is_some_and(|content| content.ends_with("_error"));
            if has_failed { ProviderPartKind::Failure } else { ProviderPartKind::Result }
        } else {
            return None;
        };
        Some(Self { block, input: String::new(), kind })
    }

    fn push(&mut self, json: &str) {
        self.input.push_str(json);
    }

    /// Returns the complete block as a part. A result does not name its tool, so the name comes from its call, which is among
    /// `earlier`, the turn's earlier parts.
    fn into_part(mut self, earlier: &[ProviderPart]) -> ProviderPart {
        if let Ok(input @ Value::Object(_)) = serde_json::from_str(&self.input) {
            self.block["input"] = input;
        }
        let member_text = |member: &str| self.block[member].as_str().unwrap_or_default();
        let (id, name) = match self.kind {
            ProviderPartKind::Call => (member_text("id"), member_text("name")),
            _ => {
                let id = member_text("tool_use_id");
                let tool_name = earlier.iter().find(|part| part.call_id == id).map(|part| part.name.as_str());
                let block_type = member_text("type");
                (id, tool_name.unwrap_or_else(|| block_type.strip_suffix("_tool_result").unwrap_or(block_type)))
            }
        };
        ProviderPart::new(PROVIDER, id, name, self.kind, self.block.to_string())
    }
}

// The events, in the forms that servers use. Where a text or an object may be empty, null counts as empty.

/// Reads a value, for which null is the empty one.
fn or_default<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        #[serde(default, deserialize_with = "or_default")]
        message: StartedMessage,
    },
    ContentBlockStart {
        index: u64,
        content_block: Value,
    },
    ContentBlockDelta {
        index: u64,
        delta: Piece,
    },
    ContentBlockStop {
        index: u64,
    },
    MessageDelta {
        #[serde(default, deserialize_with = "or_default")]
        delta: MessageEnd,
        usage: Option<Value>,
    },
    MessageStop,
    Error,
    /// `ping`, and future events.
    #[serde(other)]
    Other,
}

#[derive(Debug, Default, Deserialize)]
struct StartedMessage {
    #[serde(default, deserialize_with = "or_default")]
    id: String,
    usage: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        #[serde(default, deserialize_with = "or_default")]
        text: String,
    },
    Thinking {
        #[serde(default, deserialize_with = "or_default")]
        thinking: String,
        #[serde(default, deserialize_with = "or_default")]
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        #[serde(default, deserialize_with = "or_default")]
        id: String,
        name: String,
        /// The input. It is empty if the server streams it, and complete otherwise.
        #[serde(default, deserialize_with = "or_default")]
        input: Map<String, Value>,
    },
    /// Blocks of providers' tools ([`ProviderBlock`]), and future blocks.
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece {
    TextDelta {
        #[serde(default, deserialize_with = "or_default")]
        text: String,
    },
    ThinkingDelta {
        #[serde(default, deserialize_with = "or_default")]
        thinking: String,
    },
    SignatureDelta {
        #[serde(default, deserialize_with = "or_default")]
        signature: String,
    },
    InputJsonDelta {
        #[serde(default, deserialize_with = "or_default")]
        partial_json: String,
    },
    /// Citations, and future deltas.
    #[serde(other)]
    Other,
}

#[derive(Debug, Default, Deserialize)]
struct MessageEnd {
    stop_reason: Option<String>,
}

/// The number of tokens so far. Each member of a later event replaces the same member of an earlier one.
#[derive(Clone, Copy, Debug, Default)]
struct Tokens {
    input: Option<u64>,
    cache_written: Option<u64>,
    cache_read: Option<u64>,
    output: Option<u64>,
}

impl Tokens {
    fn read(usage: &Value) -> Self {
        Self {
            input: read_count(&usage["input_tokens"]),
            cache_written: read_count(&usage["cache_creation_input_tokens"]),
            cache_read: read_count(&usage["cache_read_input_tokens"]),
            output: read_count(&usage["output_tokens"]),
        }
    }

    fn update(&mut self, later: Self) {
        self.input = later.input.or(self.input);
        self.cache_written = later.cache_written.or(self.cache_written);
        self.cache_read = later.cache_read.or(self.cache_read);
        self.output = later.output.or(self.output);
    }
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let cache_read = tokens.cache_read.unwrap_or_default();
        let cache_written = tokens.cache_written.unwrap_or_default();
        Self {
            // The provider counts cached tokens separately.
            input_tokens: tokens.input.unwrap_or_default().saturating_add(cache_read).saturating_add(cache_written),
            output_tokens: tokens.output.unwrap_or_default(),
            cached_tokens: cache_read,
            reasoning_tokens: 0,
        }
    }
}
