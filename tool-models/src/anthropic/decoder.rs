//! From the events of a message stream to deltas.

use serde::Deserialize;
use serde_json::Value;

use super::event::{Block, Event, Piece, Tokens};
use super::provided::Provided;
use crate::{
    Decode,
    calls::Calls,
    fault::{Fault, shortened},
};
use tool_runtime::{
    message::{Message, ProviderPart},
    model::{Delta, FinishReason, ModelError, ModelErrorKind, Usage},
    toolset::{ListFormat, ToolList},
};

/// Marks the data of a block of hidden thinking among the signatures.
pub(super) const REDACTED: &str = "redacted_thinking:";

/// Decodes the streams of Anthropic's messages protocol.
#[derive(Debug)]
pub struct Decoder {
    calls: Calls,
    message: Option<String>,
    /// Whether a block has begun.
    begun: bool,
    /// The block that is open, and what is done with its deltas.
    block: Option<(u64, Kind)>,
    /// The block of a tool that the provider runs, if that is open; and those before it.
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
    /// Of a tool that the provider runs, or of no meaning here.
    Provided,
    Skipped,
}

impl Decoder {
    /// A decoder of the answer to `messages`, with `tools` on offer.
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

    /// Some proxies begin the message twice. That is harmless before the first block; after it the proxy asked a second
    /// time, and two answers cannot be one turn.
    fn start(&mut self, message: super::event::Message, out: &mut Vec<Delta>) -> Result<(), ModelError> {
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
            .map_err(|error| protocol(&format!("block {index} is not one of a message")).because(error))?;
        let kind = match block {
            Block::Text { text } => {
                say(Delta::Text, text, out);
                Kind::Text
            }
            Block::Thinking { thinking, signature } => {
                // Empty, so that this block's signature is not added to that of the block before.
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
        let Some(reason) = self.finish.take() else {
            let message = "the provider's answer ended before the model had finished";
            return Err(ModelError::new(ModelErrorKind::Unavailable, message));
        };
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
        let fault = |data: &str| {
            let value: Value = serde_json::from_str(data).ok()?;
            Fault::find(&value).map(Fault::in_stream)
        };
        let event: Event = serde_json::from_str(data).map_err(|error| {
            let message = format!("an event is not one of a message: {}", shortened(data));
            fault(data).unwrap_or_else(|| protocol(&message).because(error))
        })?;
        if matches!(event, Event::Error) {
            return Err(fault(data).unwrap_or_else(|| protocol("the provider told an error without saying which")));
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

fn protocol(message: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Protocol, message)
}
