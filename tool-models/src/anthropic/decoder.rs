//! The decoder of Anthropic's streams: it turns events into deltas.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    calls::Calls,
    fault::{self, protocol},
    http::reading::Decode,
};
use tool_runtime::{
    message::{Message, ProviderPart, ProviderPartKind},
    model::{Delta, FinishReason, ModelError, Usage},
    toolset::{ListFormat, ToolList},
};

/// The prefix of a signature that holds the data of a redacted thinking block.
pub const REDACTED: &str = "redacted_thinking:";

/// The provider whose format the blocks have.
pub const PROVIDER: &str = "anthropic";

/// A decoder of streams of Anthropic's messages protocol.
#[derive(Debug)]
pub struct Decoder {
    calls: Calls,
    message: Option<String>,
    begun: bool,
    /// The index of the open block, and the treatment of its deltas.
    block: Option<(u64, Kind)>,
    /// The open block of a provider's tool, if there is one. Completed ones are in `provided`.
    open: Option<Provided>,
    provided: Vec<ProviderPart>,
    tokens: Tokens,
    finish: Option<FinishReason>,
    over: bool,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    Thinking,
    Call(usize),
    /// The block of a provider's tool.
    Provided,
    Skipped,
}

impl Decoder {
    /// Creates a decoder of the answer to `messages`, with `tools` on offer.
    pub fn new(messages: &[Message], tools: &ToolList) -> Self {
        Self {
            calls: Calls::new(tools, ListFormat::Anthropic, messages),
            message: None,
            begun: false,
            block: None,
            open: None,
            provided: Vec::new(),
            tokens: Tokens::default(),
            finish: None,
            over: false,
        }
    }

    fn take(&mut self, event: Event, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        match event {
            Event::MessageStart { message } => self.start(message, out)?,
            Event::ContentBlockStart { index, content_block } => self.open(index, content_block, out)?,
            Event::ContentBlockDelta { index, delta } => self.piece(index, delta, out)?,
            Event::ContentBlockStop { index } => {
                if let Kind::Call(call) = self.kind(index)? {
                    self.calls.end(call, out);
                }
                if let Some(provided) = self.open.take() {
                    let part = provided.whole(&self.provided);
                    self.provided.push(part.clone());
                    out.push(Delta::Provider(part));
                }
                self.block = None;
            }
            Event::MessageDelta { delta, usage } => {
                if let Some(reason) = delta.stop_reason {
                    self.finish = Some(finish_reason(reason));
                }
                self.count(usage, out);
            }
            Event::MessageStop => out.append(&mut self.finish()?),
            Event::Error | Event::Other => {}
        }
        Ok(())
    }

    /// Handles the beginning of the message. Some proxies send it twice, which is harmless before the first block. After it, the
    /// proxy has sent a second request, and two answers cannot be one turn.
    fn start(&mut self, message: Begin, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        if self.begun {
            let first = self.message.as_deref().unwrap_or_default();
            return Err(protocol(&format!("a second message ({}) began within the message {first}", message.id)));
        }
        self.message = Some(message.id);
        self.count(message.usage, out);
        Ok(())
    }

    fn open(&mut self, index: u64, begun: Value, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        if let Some((open, _)) = self.block {
            return Err(protocol(&format!("block {index} began before block {open} ended")));
        }
        self.begun = true;
        let block = Block::deserialize(&begun)
            .map_err(|error| protocol(&format!("block {index} is not one of a message")).with_source(error))?;
        let kind = match block {
            Block::Text { text } => {
                say(Delta::Text, text, out);
                Kind::Text
            }
            Block::Thinking { thinking, signature } => {
                // An empty delta, so that this block's signature is not added to the previous block's.
                out.push(Delta::Reasoning(thinking));
                say(Delta::ReasoningSignature, signature, out);
                Kind::Thinking
            }
            Block::RedactedThinking { data } => {
                out.push(Delta::Reasoning(String::new()));
                out.push(Delta::ReasoningSignature(format!("{REDACTED}{data}")));
                Kind::Skipped
            }
            Block::ToolUse { id, name, input } => {
                let call = self.calls.start(&id, &name, out);
                if !input.is_empty() {
                    self.calls.push(call, &Value::Object(input).to_string(), out);
                }
                Kind::Call(call)
            }
            Block::Other => {
                self.open = Provided::new(begun);
                Kind::Provided
            }
        };
        self.block = Some((index, kind));
        Ok(())
    }

    fn piece(&mut self, index: u64, piece: Piece, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        match (self.kind(index)?, piece) {
            (Kind::Text, Piece::TextDelta { text }) => say(Delta::Text, text, out),
            (Kind::Thinking, Piece::ThinkingDelta { thinking }) => say(Delta::Reasoning, thinking, out),
            (Kind::Thinking, Piece::SignatureDelta { signature }) => say(Delta::ReasoningSignature, signature, out),
            (Kind::Call(call), Piece::InputJsonDelta { partial_json }) => self.calls.push(call, &partial_json, out),
            (Kind::Provided, Piece::InputJsonDelta { partial_json }) => {
                if let Some(provided) = &mut self.open {
                    provided.push(&partial_json);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn kind(&self, index: u64) -> Result<Kind, ModelError> {
        match self.block {
            Some((open, kind)) if open == index => Ok(kind),
            _ => Err(protocol(&format!("an event belongs to block {index}, which is not open"))),
        }
    }

    fn count(&mut self, tokens: Option<Tokens>, out: &mut Vec<Delta>) {
        if let Some(tokens) = tokens {
            let before = Usage::from(self.tokens);
            self.tokens.update(tokens);
            let usage = Usage::from(self.tokens);
            if usage != before {
                out.push(Delta::Usage(usage));
            }
        }
    }

    fn finish(&mut self) -> Result<Vec<Delta>, ModelError> {
        let reason = self.finish.take().ok_or_else(fault::cut_off)?;
        let mut out = Vec::new();
        self.over = true;
        self.calls.finish(reason.is_safe(), &mut out);
        out.push(Delta::Finish(reason));
        Ok(out)
    }
}

impl Decode for Decoder {
    fn event(&mut self, data: &str) -> Result<Vec<Delta>, ModelError> {
        let data = data.trim_ascii();
        if self.over || data.is_empty() || data == "[DONE]" {
            return Ok(Vec::new());
        }
        let event: Event = fault::read_event(data, "one of a message")?;
        if matches!(event, Event::Error) {
            let unknown = || protocol("the provider reported an error without saying which");
            return Err(fault::in_stream(data).unwrap_or_else(unknown));
        }
        let mut out = Vec::new();
        self.take(event, &mut out)?;
        Ok(out)
    }

    fn end(&mut self) -> Result<Vec<Delta>, ModelError> {
        if self.over { Ok(Vec::new()) } else { self.finish() }
    }
}

fn say(delta: fn(String) -> Delta, text: String, out: &mut Vec<Delta>) {
    if !text.is_empty() {
        out.push(delta(text));
    }
}

fn finish_reason(reason: String) -> FinishReason {
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
struct Provided {
    block: Value,
    /// The part of a call's input that has arrived.
    input: String,
    kind: ProviderPartKind,
}

impl Provided {
    /// Creates the state of a provider's block. Returns `None` for any other block.
    fn new(block: Value) -> Option<Self> {
        let name = block["type"].as_str()?;
        let kind = if name.ends_with("_tool_use") {
            ProviderPartKind::Call
        } else if name.ends_with("_tool_result") {
            let failed = block["is_error"] == true
                || block["content"]["type"].as_str().is_some_and(|content| content.ends_with("_error"));
            if failed { ProviderPartKind::Failure } else { ProviderPartKind::Result }
        } else {
            return None;
        };
        Some(Self { block, input: String::new(), kind })
    }

    fn push(&mut self, json: &str) {
        self.input.push_str(json);
    }

    /// Returns the complete block. `before` are the turn's earlier blocks, which are needed because a result does not name its
    /// tool.
    fn whole(mut self, before: &[ProviderPart]) -> ProviderPart {
        if let Ok(input @ Value::Object(_)) = serde_json::from_str(&self.input) {
            self.block["input"] = input;
        }
        let text = |member: &str| self.block[member].as_str().unwrap_or_default();
        let (id, name) = match self.kind {
            ProviderPartKind::Call => (text("id"), text("name")),
            _ => {
                let id = text("tool_use_id");
                let called = before.iter().find(|part| part.call_id == id).map(|part| part.name.as_str());
                let of_type = text("type");
                (id, called.unwrap_or_else(|| of_type.strip_suffix("_tool_result").unwrap_or(of_type)))
            }
        };
        ProviderPart::new(PROVIDER, id, name, self.kind, self.block.to_string())
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Begin,
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
        delta: End,
        usage: Option<Tokens>,
    },
    MessageStop,
    Error,
    /// `ping`, and future events.
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct Begin {
    #[serde(default)]
    id: String,
    usage: Option<Tokens>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: String,
        name: String,
        /// The input. It is empty if the server streams it, and complete otherwise.
        #[serde(default)]
        input: Map<String, Value>,
    },
    /// Blocks of provider's tools ([`Provided`]), and future blocks.
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece {
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    /// Citations, and future deltas.
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct End {
    stop_reason: Option<String>,
}

/// The tokens so far. A later count replaces an earlier one, member by member.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Tokens {
    #[serde(rename = "input_tokens")]
    input: Option<u64>,
    #[serde(rename = "cache_creation_input_tokens")]
    written: Option<u64>,
    #[serde(rename = "cache_read_input_tokens")]
    read: Option<u64>,
    #[serde(rename = "output_tokens")]
    output: Option<u64>,
}

impl Tokens {
    fn update(&mut self, later: Self) {
        self.input = later.input.or(self.input);
        self.written = later.written.or(self.written);
        self.read = later.read.or(self.read);
        self.output = later.output.or(self.output);
    }
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let read = tokens.read.unwrap_or_default();
        let written = tokens.written.unwrap_or_default();
        Self {
            // The provider counts cached tokens separately.
            input_tokens: tokens.input.unwrap_or_default() + read + written,
            output_tokens: tokens.output.unwrap_or_default(),
            cached_tokens: read,
            reasoning_tokens: 0,
        }
    }
}
