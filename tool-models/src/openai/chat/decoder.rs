//! The decoder of chat completion streams: it turns events into deltas.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use crate::{
    calls::Calls,
    error::{self, protocol_error, shorten},
    http::response::Decode,
    openai::tokens::read_usage,
};
use tool_runtime::{
    message::{Message, ProviderPart, ProviderPartKind, Signature},
    model::{Delta, FinishReason, ModelError, Usage},
    toolset::{ListFormat, ToolList},
};

/// A decoder of the stream of one chat completion, for OpenAI and servers with a similar protocol.
///
/// The decoder returns the arguments of a call as they arrive, unless its tool is strict and has optional parameters. In
/// OpenAI's strict mode, the model writes `null` for each parameter that it leaves out. So the decoder waits for the whole text
/// of such arguments, and removes these nulls.
#[derive(Debug)]
pub struct Decoder {
    calls: Calls,
    /// The origin of signatures.
    origin: String,
    server_calls: Vec<ServerCall>,
    usage: Usage,
    finish_reason: Option<FinishReason>,
    has_refused: bool,
    /// Set if the response has a part of a turn.
    has_begun: bool,
    is_over: bool,
}

/// The identity that the server gives to a call. Its position in `server_calls` is the index of the call in `calls`.
#[derive(Debug)]
struct ServerCall {
    index: Option<usize>,
    id: String,
    name: String,
}

impl Decoder {
    /// Creates a decoder of the response to a request with these messages and tools.
    pub fn new(messages: &[Message], tools: &ToolList) -> Self {
        let calls = Calls::new(tools, ListFormat::OpenAi, messages);
        Self {
            calls,
            origin: String::new(),
            server_calls: Vec::new(),
            usage: Usage::default(),
            finish_reason: None,
            has_refused: false,
            has_begun: false,
            is_over: false,
        }
    }

    /// Sets the origin of the server's signatures ([`Signature::origin`]). The default is empty.
    pub fn with_origin(mut self, origin: impl Into<String>) -> Self {
        self.origin = origin.into();
        self
    }

    fn apply_chunk(&mut self, chunk: Chunk<'_>, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let mut usage = chunk.usage;
        // The request asks for one choice. If a server sends several, the first counts.
        for choice in chunk.choices.into_iter().flatten().filter(|choice| choice.index.unwrap_or(0) == 0) {
            self.has_begun = true;
            if let Some(piece) = choice.delta.or(choice.message) {
                self.apply_piece(piece, out)?;
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.finish_reason = Some(read_finish_reason(reason));
            }
            usage = usage.or(choice.usage);
        }
        if let Some(usage) = usage.map(|usage| read_usage(&usage)).filter(|usage| *usage != self.usage) {
            self.usage = usage;
            out.push(Delta::Usage(usage));
        }
        Ok(())
    }

    fn apply_piece(&mut self, piece: Piece<'_>, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let reasoning = piece.reasoning_content.filter(|text| !text.is_empty()).or(piece.reasoning);
        if let Some(text) = reasoning.filter(|text| !text.is_empty()) {
            out.push(Delta::Reasoning(text));
        }
        if let Some(content) = piece.content {
            push_content(content, out)?;
        }
        if let Some(text) = piece.refusal.filter(|text| !text.is_empty()) {
            self.has_refused = true;
            out.push(Delta::Text(text));
        }
        out.extend(piece.annotations.into_iter().flatten().filter_map(convert_annotation));
        for call in piece.tool_calls.into_iter().flatten() {
            self.apply_call_piece(&call, out)?;
        }
        if let Some(function) = piece.function_call {
            let piece = CallPiece { index: Some(0), id: None, function: Some(function), extra_content: None };
            self.apply_call_piece(&piece, out)?;
        }
        Ok(())
    }

    fn apply_call_piece(&mut self, piece: &CallPiece<'_>, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let id = piece.id.as_deref().unwrap_or_default();
        let name = piece.function.as_ref().and_then(|function| function.name.as_deref()).unwrap_or_default();
        let text = piece.function.as_ref().map(Function::arguments).unwrap_or_default();
        let index = match self.find_call(piece.index, id, name, &text) {
            Some(index) => index,
            None if name.is_empty() => return Err(protocol_error("a call began without the name of a tool")),
            None => {
                // A new call ends each earlier call whose arguments are complete. The other calls stay open, because some
                // servers interleave calls.
                for earlier in 0..self.calls.len() {
                    if self.calls.has_complete_arguments(earlier) {
                        self.calls.end(earlier, out);
                    }
                }
                if let Some(signature) =
                    piece.extra_content.map(RawValue::get).filter(|signature| signature.starts_with('{'))
                {
                    out.push(Delta::ReasoningSignature(Signature::new(&self.origin, signature)));
                }
                self.server_calls.push(ServerCall { index: piece.index, id: id.to_owned(), name: name.to_owned() });
                self.calls.start(id, name, out)
            }
        };
        if self.calls.is_repetition(index, &text) {
            // Some servers repeat a whole call at the end.
            return Ok(());
        }
        if self.calls.is_ended(index) {
            return if text.trim_ascii().is_empty() {
                Ok(())
            } else {
                Err(protocol_error("a call continued after it was complete"))
            };
        }
        self.calls.push(index, text.into_owned(), out);
        Ok(())
    }

    /// Returns the index of the call that a piece continues, or `None` if the piece begins a new call.
    fn find_call(&self, index: Option<usize>, id: &str, name: &str, text: &str) -> Option<usize> {
        let position = match index {
            Some(_) => self.server_calls.iter().rposition(|known| known.index == index),
            None if !id.is_empty() => self.server_calls.iter().rposition(|known| known.id == id),
            None if name.is_empty() => self.server_calls.len().checked_sub(1),
            None => None,
        }?;
        let known = &self.server_calls[position];
        if name.is_empty() {
            return Some(position);
        }
        // Some servers send each call as a whole, and use one index or one id for several calls, or no id. Others repeat the
        // name or change the id within a call.
        let is_new = if known.id == id || id.is_empty() {
            (index.is_none() || id.is_empty())
                && !text.trim_ascii().is_empty()
                && self.calls.has_complete_arguments(position)
        } else {
            known.name != name || self.calls.has_complete_arguments(position)
        };
        (!is_new).then_some(position)
    }

    fn finish_turn(&mut self) -> Vec<Delta> {
        let mut out = Vec::new();
        self.is_over = true;
        let reason = self.finish_reason.take().unwrap_or_else(|| {
            if self.calls.len() == 0 { FinishReason::Stop } else { FinishReason::Other("not given".to_owned()) }
        });
        // The server says `stop` after a refusal, too.
        let reason = if self.has_refused && reason.allows_calls() { FinishReason::ContentFilter } else { reason };
        self.calls.finish(reason.allows_calls(), &mut out);
        out.push(Delta::Finish(reason));
        out
    }
}

impl Decode for Decoder {
    fn decode_event(&mut self, data: &str) -> Result<Vec<Delta>, ModelError> {
        let data = data.trim_ascii();
        if self.is_over || data.is_empty() {
            return Ok(Vec::new());
        }
        if data == "[DONE]" {
            return if self.has_begun { Ok(self.finish_turn()) } else { Err(error::cut_off_error()) };
        }
        let chunk: Chunk<'_> = error::read_event(data, "a chunk of a chat completion")?;
        if chunk.error.is_some() || (chunk.choices.is_none() && chunk.usage.is_none()) {
            return error::find_stream_error(data).map_or(Ok(Vec::new()), Err);
        }
        let mut out = Vec::new();
        self.apply_chunk(chunk, &mut out)?;
        Ok(out)
    }

    fn finish(&mut self) -> Result<Vec<Delta>, ModelError> {
        if self.is_over {
            return Ok(Vec::new());
        }
        if self.finish_reason.is_none() {
            return Err(error::cut_off_error());
        }
        Ok(self.finish_turn())
    }
}

/// Returns the result of a provider's tool, such as a web page, as a delta. The protocol does not state the call of a result.
fn convert_annotation(annotation: &RawValue) -> Option<Delta> {
    #[derive(Deserialize)]
    struct Annotation {
        r#type: String,
    }
    let Annotation { r#type } = serde_json::from_str(annotation.get()).ok()?;
    let part = ProviderPart::new("openai", "", r#type, ProviderPartKind::Result, annotation.get());
    Some(Delta::Provider(part))
}

/// Adds the deltas of a member `content`: its text and its reasoning.
fn push_content(content: &RawValue, out: &mut Vec<Delta>) -> Result<(), ModelError> {
    let json = content.get();
    let unreadable = |error| {
        protocol_error(&format!("`content` is neither a text nor a list of parts: {}", shorten(json)))
            .with_source(error)
    };
    if json.starts_with('[') {
        for part in serde_json::from_str::<Vec<Part>>(json).map_err(unreadable)? {
            let reasoning: String = part.thinking.into_iter().map(|reasoning| reasoning.text).collect();
            if !reasoning.is_empty() {
                out.push(Delta::Reasoning(reasoning));
            }
            if !part.text.is_empty() {
                out.push(Delta::Text(part.text));
            }
        }
        return Ok(());
    }
    let text: String = serde_json::from_str(json).map_err(unreadable)?;
    if !text.is_empty() {
        out.push(Delta::Text(text));
    }
    Ok(())
}

fn read_finish_reason(reason: String) -> FinishReason {
    match reason.to_ascii_lowercase().as_str() {
        "stop" | "eos" | "eos_token" | "stop_sequence" | "end_turn" => FinishReason::Stop,
        "tool_calls" | "function_call" | "tool_use" => FinishReason::ToolCalls,
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        _ => FinishReason::Other(reason),
    }
}

// The events, in the forms that servers use. All members are optional, and null counts as missing.

#[derive(Debug, Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<Value>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Choice<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Piece<'a>>,
    /// The whole message, from servers that do not stream. Some servers send it beside each `delta`.
    #[serde(borrow)]
    message: Option<Piece<'a>>,
    finish_reason: Option<String>,
    /// The number of tokens, which Moonshot sends here.
    usage: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Piece<'a> {
    /// A string, or a list of parts (Mistral).
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    refusal: Option<String>,
    /// The reasoning of DeepSeek, xAI, Moonshot, vLLM and llama.cpp.
    reasoning_content: Option<String>,
    /// The reasoning of Groq, OpenRouter, Ollama and newer vLLM.
    reasoning: Option<String>,
    /// The results of the provider's own tools: web search of OpenAI and OpenRouter.
    #[serde(borrow)]
    annotations: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallPiece<'a>>>,
    /// The older form of `tool_calls`, for one call.
    #[serde(borrow)]
    function_call: Option<Function<'a>>,
}

#[derive(Debug, Deserialize)]
struct CallPiece<'a> {
    index: Option<usize>,
    id: Option<String>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
    /// Gemini's signature of its reasoning. Later requests to the same origin must send it back with the call.
    #[serde(borrow)]
    extra_content: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Function<'a> {
    name: Option<String>,
    /// A string with the JSON of the arguments; from some servers, the JSON itself.
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl Function<'_> {
    /// Returns the argument text of this piece, unescaped.
    fn arguments(&self) -> Cow<'_, str> {
        match self.arguments.map(RawValue::get) {
            None | Some("null") => Cow::Borrowed(""),
            Some(text) if text.starts_with('"') => serde_json::from_str(text).map_or(Cow::Borrowed(""), Cow::Owned),
            Some(json) => Cow::Borrowed(json),
        }
    }
}

/// A part of a `content` that is a list.
#[derive(Debug, Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
    #[serde(default)]
    thinking: Vec<Part>,
}
