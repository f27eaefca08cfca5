//! The decoder of Anthropic's streams: it turns events into deltas.

use std::mem;

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    calls::Calls,
    error::{self, protocol_error},
    http::response::Decode,
    lenient::{Key, if_fits, is_end_mark},
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
///
/// The pieces of a block find it by its index, so servers may send several blocks at once. A block that has not begun begins with its
/// first piece, unless it is a call.
#[derive(Debug)]
pub struct Decoder {
    calls: Calls,
    message_id: Option<String>,
    /// The number of blocks that have begun.
    block_count: usize,
    /// The open blocks, in the order in which they began.
    open_blocks: Vec<OpenBlock>,
    /// The complete blocks of providers' tools.
    provider_parts: Vec<ProviderPart>,
    tokens: Tokens,
    finish_reason: Option<FinishReason>,
    is_over: bool,
}

#[derive(Debug)]
struct OpenBlock {
    index: Option<Key>,
    /// The number of the block in the turn, from 1.
    number: usize,
    kind: BlockKind,
}

#[derive(Debug)]
enum BlockKind {
    Text,
    Thinking,
    /// A call, with its index in `calls`, and the input with which it began. The input counts if no piece follows.
    Call(usize, String),
    /// The block of a provider's tool.
    Provider(ProviderBlock),
    Skipped,
}

impl Decoder {
    /// Creates a decoder of the response to a request with these messages and tools.
    pub fn new(messages: &[Message], tools: &ToolList) -> Self {
        Self {
            calls: Calls::new(tools, ListFormat::Anthropic, messages),
            message_id: None,
            block_count: 0,
            open_blocks: Vec::new(),
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
            Event::ContentBlockStop { index } => self.end_block(index.as_ref(), out),
            Event::MessageDelta { delta, usage } => {
                self.set_finish_reason(delta.stop_reason)?;
                self.update_usage(usage.as_ref(), out);
            }
            Event::MessageStop => out.append(&mut self.finish_turn()?),
            // A response that is not streamed.
            Event::Message { content, stop_reason, usage } => {
                for block in content {
                    self.begin_block(None, block, out)?;
                    self.end_block(None, out);
                }
                self.set_finish_reason(stop_reason)?;
                self.update_usage(usage.as_ref(), out);
                out.append(&mut self.finish_turn()?);
            }
            Event::Error | Event::Other => {}
        }
        Ok(())
    }

    /// Accepts the event that begins the message. Some proxies send this event twice, which is harmless before the first block.
    /// After a block, the event belongs to a second response, which fails the turn.
    fn begin_message(&mut self, message: StartedMessage, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        if self.block_count > 0 {
            let first = self.message_id.as_deref().unwrap_or_default();
            return Err(protocol_error(&format!("a second message ({}) began within the message {first}", message.id)));
        }
        self.message_id = Some(message.id);
        self.update_usage(message.usage.as_ref(), out);
        Ok(())
    }

    fn begin_block(&mut self, index: Option<Key>, block_json: Value, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        // A block with the index of an open one ends that.
        if self.open_blocks.iter().any(|open| open.index == index) {
            self.end_block(index.as_ref(), out);
        }
        let block = Block::deserialize(&block_json).map_err(|error| {
            let number = self.block_count + 1;
            protocol_error(&format!("block {number} is not one of the messages protocol")).with_source(error)
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
                let input = match input {
                    Value::Object(members) if members.is_empty() => String::new(),
                    Value::Object(members) => Value::Object(members).to_string(),
                    Value::String(text) => text,
                    _ => String::new(),
                };
                BlockKind::Call(self.calls.start(&id, &name, out), input)
            }
            Block::Other => ProviderBlock::new(block_json).map_or(BlockKind::Skipped, BlockKind::Provider),
        };
        self.open_block(index, kind);
        Ok(())
    }

    fn open_block(&mut self, index: Option<Key>, kind: BlockKind) {
        self.block_count += 1;
        self.open_blocks.push(OpenBlock { index, number: self.block_count, kind });
    }

    /// Returns the position of the open block with this index. An event without an index belongs to the last block.
    fn find_open(&self, index: Option<&Key>) -> Option<usize> {
        self.open_blocks.iter().rposition(|open| index.is_none() || open.index.as_ref() == index)
    }

    fn apply_piece(&mut self, index: Option<Key>, piece: Piece, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let Some(at) = self.find_open(index.as_ref()) else { return self.begin_with_piece(index, piece, out) };
        let open = &mut self.open_blocks[at];
        match (&mut open.kind, piece) {
            // Some proxies send text in a block of another kind.
            (BlockKind::Text | BlockKind::Thinking | BlockKind::Call(..), Piece::TextDelta { text }) => {
                push_nonempty(Delta::Text, text, out);
            }
            (BlockKind::Text | BlockKind::Thinking | BlockKind::Call(..), Piece::ThinkingDelta { thinking }) => {
                push_nonempty(Delta::Reasoning, thinking, out);
            }
            // After the begin of another block, a signature would be that of a part without a text, which no server takes back.
            (BlockKind::Thinking, Piece::SignatureDelta { signature }) if open.number == self.block_count => {
                push_nonempty(signed, signature, out);
            }
            (BlockKind::Call(call, input), Piece::InputJsonDelta { partial_json }) => {
                if !partial_json.is_empty() {
                    input.clear();
                }
                self.calls.push(*call, partial_json, out);
            }
            (BlockKind::Provider(block), Piece::InputJsonDelta { partial_json }) => block.push(&partial_json),
            _ => {}
        }
        Ok(())
    }

    /// Begins a block that its server did not announce.
    fn begin_with_piece(&mut self, index: Option<Key>, piece: Piece, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let (kind, delta) = match piece {
            Piece::TextDelta { text } => (BlockKind::Text, Delta::Text(text)),
            Piece::ThinkingDelta { thinking } => (BlockKind::Thinking, Delta::Reasoning(thinking)),
            Piece::InputJsonDelta { partial_json } if !partial_json.trim_ascii().is_empty() => {
                let index = index.as_ref().map_or("", Key::as_str);
                return Err(protocol_error(&format!("arguments belong to block {index}, which is not open")));
            }
            _ => return Ok(()),
        };
        self.open_block(index, kind);
        out.push(delta);
        Ok(())
    }

    /// Ends a block. Does nothing if the block is not open, because some servers repeat its end.
    fn end_block(&mut self, index: Option<&Key>, out: &mut Vec<Delta>) {
        let Some(at) = self.find_open(index) else { return };
        match self.open_blocks.remove(at).kind {
            BlockKind::Call(call, input) => {
                self.calls.push(call, input, out);
                self.calls.end(call, out);
            }
            BlockKind::Provider(block) => {
                let part = block.into_part(&self.provider_parts);
                self.provider_parts.push(part.clone());
                out.push(Delta::Provider(part));
            }
            BlockKind::Text | BlockKind::Thinking | BlockKind::Skipped => {}
        }
    }

    fn set_finish_reason(&mut self, reason: Option<String>) -> Result<(), ModelError> {
        let Some(reason) = reason.filter(|reason| !reason.is_empty()) else { return Ok(()) };
        if let Some(error) = error::find_failed_reason(&reason) {
            return Err(error);
        }
        self.finish_reason = Some(read_finish_reason(reason));
        Ok(())
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
        let mut out = Vec::new();
        for open in mem::take(&mut self.open_blocks) {
            match open.kind {
                BlockKind::Call(call, input) => self.calls.push(call, input, &mut out),
                BlockKind::Provider(block) => out.push(Delta::Provider(block.into_part(&self.provider_parts))),
                _ => {}
            }
        }
        let reason = match self.finish_reason.take() {
            Some(reason) => reason,
            // Some servers mark the end of a message, and give no reason.
            None if self.calls.len() == 0 => FinishReason::Stop,
            None if self.calls.are_complete() => FinishReason::ToolCalls,
            None => return Err(error::cut_off_error()),
        };
        if reason.allows_calls() {
            self.calls.check_open()?;
        }
        self.is_over = true;
        self.calls.finish(reason.allows_calls(), &mut out)?;
        out.push(Delta::Finish(reason));
        Ok(out)
    }
}

impl Decode for Decoder {
    fn decode_event(&mut self, data: &str) -> Result<Vec<Delta>, ModelError> {
        let data = data.trim_ascii();
        if self.is_over || data.is_empty() || is_end_mark(data) {
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
        match (self.is_over, &self.finish_reason) {
            (true, _) => Ok(Vec::new()),
            (false, Some(_)) => self.finish_turn(),
            (false, None) => Err(error::cut_off_error()),
        }
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

/// Reads a value, for which null and a value of another type are the empty one.
fn or_default<'de, T: Default + DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    if_fits(deserializer).map(Option::unwrap_or_default)
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        #[serde(default, deserialize_with = "or_default")]
        message: StartedMessage,
    },
    ContentBlockStart {
        index: Option<Key>,
        content_block: Value,
    },
    ContentBlockDelta {
        index: Option<Key>,
        delta: Piece,
    },
    ContentBlockStop {
        index: Option<Key>,
    },
    MessageDelta {
        #[serde(default, deserialize_with = "or_default")]
        delta: MessageEnd,
        usage: Option<Value>,
    },
    MessageStop,
    Message {
        #[serde(default, deserialize_with = "or_default")]
        content: Vec<Value>,
        #[serde(default, deserialize_with = "if_fits")]
        stop_reason: Option<String>,
        usage: Option<Value>,
    },
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
        #[serde(default, deserialize_with = "or_default")]
        name: String,
        /// The input. It is empty if the server streams it, and complete otherwise. From some servers, it is a text.
        #[serde(default)]
        input: Value,
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
    #[serde(default, deserialize_with = "if_fits")]
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
