//! From the events of a chat completion stream to deltas.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::chunk::{CallPiece, Chunk, Function, Part, Piece};
use crate::{
    Decode,
    calls::Calls,
    fault::{Fault, shortened},
};
use tool_runtime::{
    message::{Message, ProviderPart, ProviderPartKind},
    model::{Delta, FinishReason, ModelError, ModelErrorKind, Usage},
    toolset::{ListFormat, ToolList},
};

/// Decodes chat completion streams of OpenAI and of the many servers that speak its protocol more or less.
///
/// The argument text of a call is handed out as it comes. Only the calls of a strict tool with optional parameters are
/// held back until they are complete, because OpenAI's strict mode makes the model write `null` for what it leaves out,
/// and those are taken out of the whole text.
#[derive(Debug)]
pub struct Decoder {
    calls: Calls,
    known: Vec<Known>,
    usage: Usage,
    finish: Option<FinishReason>,
    over: bool,
}

/// A call as the server names it. Its place is the call's index.
#[derive(Debug)]
struct Known {
    index: Option<usize>,
    id: String,
    name: String,
}

impl Decoder {
    /// A decoder of the answer to `messages`, with `tools` on offer.
    pub fn new(messages: &[Message], tools: &ToolList) -> Self {
        let calls = Calls::new(tools, ListFormat::OpenAi, messages);
        Self { calls, known: Vec::new(), usage: Usage::default(), finish: None, over: false }
    }

    fn chunk(&mut self, chunk: Chunk<'_>, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let mut usage = chunk.usage;
        // Of several answers only the first was asked for.
        for choice in chunk.choices.into_iter().flatten().filter(|choice| choice.index.unwrap_or(0) == 0) {
            if let Some(piece) = choice.delta.or(choice.message) {
                self.piece(piece, out)?;
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.finish = Some(finish_reason(reason));
            }
            usage = usage.or(choice.usage);
        }
        if let Some(usage) = usage.map(Usage::from).filter(|usage| *usage != self.usage) {
            self.usage = usage;
            out.push(Delta::Usage(usage));
        }
        Ok(())
    }

    fn piece(&mut self, piece: Piece<'_>, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let reasoning = piece.reasoning_content.filter(|text| !text.is_empty()).or(piece.reasoning);
        if let Some(text) = reasoning.filter(|text| !text.is_empty()) {
            out.push(Delta::Reasoning(text));
        }
        if let Some(content) = piece.content {
            text_of(content, out)?;
        }
        if let Some(text) = piece.refusal.filter(|text| !text.is_empty()) {
            out.push(Delta::Text(text));
        }
        out.extend(piece.annotations.into_iter().flatten().filter_map(found));
        for call in piece.tool_calls.into_iter().flatten() {
            self.call(&call, out)?;
        }
        if let Some(function) = piece.function_call {
            let piece = CallPiece { index: Some(0), id: None, function: Some(function), extra_content: None };
            self.call(&piece, out)?;
        }
        Ok(())
    }

    fn call(&mut self, piece: &CallPiece<'_>, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let id = piece.id.as_deref().unwrap_or_default();
        let name = piece.function.as_ref().and_then(|function| function.name.as_deref()).unwrap_or_default();
        let text = piece.function.as_ref().map(Function::arguments).unwrap_or_default();
        let index = match self.place(piece.index, id, name, &text) {
            Some(index) => index,
            None if name.is_empty() => return Err(protocol("a call began without the name of a tool")),
            None => {
                // What came before is complete if it is a whole object; calls that take turns are not yet.
                for earlier in 0..self.calls.len() {
                    if self.calls.is_whole(earlier) {
                        self.calls.end(earlier, out);
                    }
                }
                if let Some(seal) = piece.extra_content.map(RawValue::get).filter(|seal| seal.starts_with('{')) {
                    out.push(Delta::ReasoningSignature(seal.to_owned()));
                }
                self.known.push(Known { index: piece.index, id: id.to_owned(), name: name.to_owned() });
                self.calls.start(id, name, out)
            }
        };
        if self.calls.repeats(index, &text) {
            // Some servers say a whole call again at the end.
            return Ok(());
        }
        if self.calls.is_ended(index) {
            return if text.trim_ascii().is_empty() { Ok(()) } else { Err(protocol("a complete call went on")) };
        }
        self.calls.push(index, &text, out);
        Ok(())
    }

    /// Which of the known calls a piece goes on with; `None` if it begins a new one.
    fn place(&self, index: Option<usize>, id: &str, name: &str, text: &str) -> Option<usize> {
        let place = match index {
            Some(_) => self.known.iter().rposition(|known| known.index == index),
            None if !id.is_empty() => self.known.iter().rposition(|known| known.id == id),
            None if name.is_empty() => self.known.len().checked_sub(1),
            None => None,
        }?;
        let known = &self.known[place];
        if name.is_empty() {
            return Some(place);
        }
        // Servers that give one number, or one id or none, to several calls send each of them whole. Others repeat the name,
        // or change the id, within one call.
        let is_new = if known.id == id || id.is_empty() {
            (index.is_none() || id.is_empty()) && !text.trim_ascii().is_empty() && self.calls.is_whole(place)
        } else {
            known.name != name || self.calls.is_whole(place)
        };
        (!is_new).then_some(place)
    }

    fn finish(&mut self) -> Vec<Delta> {
        let mut out = Vec::new();
        self.over = true;
        let reason = self.finish.take().unwrap_or_else(|| {
            if self.calls.len() == 0 { FinishReason::Stop } else { FinishReason::Other("not given".to_owned()) }
        });
        self.calls.finish(reason.is_safe(), &mut out);
        out.push(Delta::Finish(reason));
        out
    }
}

impl Decode for Decoder {
    fn event(&mut self, data: &str) -> Result<Vec<Delta>, ModelError> {
        let data = data.trim_ascii();
        if self.over || data.is_empty() {
            return Ok(Vec::new());
        }
        if data == "[DONE]" {
            return Ok(self.finish());
        }
        let chunk: Chunk<'_> = serde_json::from_str(data).map_err(|error| {
            let message = format!("an event is not a chunk of a chat completion: {}", shortened(data));
            fault(data).unwrap_or_else(|| protocol(&message).because(error))
        })?;
        if chunk.error.is_some() || (chunk.choices.is_none() && chunk.usage.is_none()) {
            return fault(data).map_or(Ok(Vec::new()), Err);
        }
        let mut out = Vec::new();
        self.chunk(chunk, &mut out)?;
        Ok(out)
    }

    fn end(&mut self) -> Result<Vec<Delta>, ModelError> {
        if self.over {
            return Ok(Vec::new());
        }
        if self.finish.is_none() {
            let message = "the provider's answer ended before the model had finished";
            return Err(ModelError::new(ModelErrorKind::Unavailable, message));
        }
        Ok(self.finish())
    }
}

/// What a tool of the provider found, such as a page. The protocol does not say by which call.
fn found(annotation: &RawValue) -> Option<Delta> {
    #[derive(Deserialize)]
    struct Named {
        r#type: String,
    }
    let Named { r#type } = serde_json::from_str(annotation.get()).ok()?;
    let part = ProviderPart::new("openai", "", r#type, ProviderPartKind::Result, annotation.get());
    Some(Delta::Provider(part))
}

/// The text and the reasoning in a content.
fn text_of(content: &RawValue, out: &mut Vec<Delta>) -> Result<(), ModelError> {
    let json = content.get();
    let unread = |error| protocol(&format!("a content is neither text nor parts: {}", shortened(json))).because(error);
    if json.starts_with('[') {
        for part in serde_json::from_str::<Vec<Part>>(json).map_err(unread)? {
            let thought: String = part.thinking.into_iter().map(|thought| thought.text).collect();
            if !thought.is_empty() {
                out.push(Delta::Reasoning(thought));
            }
            if !part.text.is_empty() {
                out.push(Delta::Text(part.text));
            }
        }
        return Ok(());
    }
    let text: String = serde_json::from_str(json).map_err(unread)?;
    if !text.is_empty() {
        out.push(Delta::Text(text));
    }
    Ok(())
}

fn finish_reason(reason: String) -> FinishReason {
    match reason.to_ascii_lowercase().as_str() {
        "stop" | "eos" | "eos_token" | "stop_sequence" | "end_turn" => FinishReason::Stop,
        "tool_calls" | "function_call" | "tool_use" => FinishReason::ToolCalls,
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        _ => FinishReason::Other(reason),
    }
}

fn fault(data: &str) -> Option<ModelError> {
    let value: Value = serde_json::from_str(data).ok()?;
    Fault::find(&value).map(Fault::in_stream)
}

fn protocol(message: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Protocol, message)
}
