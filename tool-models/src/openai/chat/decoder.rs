//! The decoder of chat completion streams: it turns events into deltas.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::{Value, value::RawValue};

use super::signatures::{self, Details};
use crate::{
    calls::{Calls, push_signature},
    error::{self, protocol_error, unreadable_error},
    http::response::Decode,
    lenient::{Key, if_fits, is_end_mark, list_of, read_object, read_objects},
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
    /// The signature of the turn so far.
    details: Details,
    /// The key of the choice that counts, once a chunk had one.
    choice: Option<Key>,
    is_over: bool,
}

/// The identity that the server gives to a call. Its position in `server_calls` is the index of the call in `calls`.
#[derive(Debug)]
struct ServerCall {
    index: Option<Key>,
    id: String,
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
            details: Details::default(),
            choice: None,
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
        let (choices, first) = (chunk.choices.unwrap_or_default(), Key::from(0));
        let key = |choice: &Choice<'_>| choice.index.clone().unwrap_or_else(|| first.clone());
        if self.choice.is_none() {
            // The request asks for one choice. If a server sends several, the first counts.
            self.choice = choices.iter().map(key).min_by_key(|key| *key != first);
        }
        for choice in choices {
            if self.choice != Some(key(&choice)) {
                continue;
            }
            if let Some(error) = error::read_error_member(choice.error) {
                return Err(error);
            }
            if let Some(piece) = choice.delta.or(choice.message) {
                self.apply_piece(piece, out)?;
            }
            // OpenRouter gives a harmless reason beside that of a provider that failed.
            for reason in [&choice.finish_reason, &choice.native_finish_reason].into_iter().flatten() {
                error::find_failed_reason(reason).map_or(Ok(()), Err)?;
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
        read_objects(piece.reasoning_details)?.into_iter().for_each(|detail| self.details.push(detail));
        let google = piece.extra_content.and_then(|extra| serde_json::from_str(extra.get()).ok()).unwrap_or_default();
        let ExtraContent { google: Google { thought, thought_signature } } = google;
        if let Some(content) = piece.content {
            let before = out.len();
            push_content(content, out)?;
            if thought {
                out[before..].iter_mut().for_each(turn_to_reasoning);
            }
        }
        if let Some(text) = piece.refusal.filter(|text| !text.is_empty()) {
            self.has_refused = true;
            out.push(Delta::Text(text));
        }
        out.extend(read_objects::<&RawValue>(piece.annotations)?.into_iter().filter_map(convert_annotation));
        for call in read_objects(piece.tool_calls)? {
            self.apply_call_piece(&call, out)?;
        }
        for function in read_objects(piece.function_call)? {
            let piece = CallPiece { index: Some(Key::from(0)), function: Some(function), ..CallPiece::default() };
            self.apply_call_piece(&piece, out)?;
        }
        // Some gateways send the signature of a call beside its pieces.
        if let (Some(extra), Some(last), true) =
            (piece.extra_content, self.calls.len().checked_sub(1), thought_signature)
        {
            self.sign(last, extra.get(), out);
        }
        Ok(())
    }

    fn sign(&mut self, index: usize, signature: &str, out: &mut Vec<Delta>) {
        let place = |signature: Signature, places| {
            Signature::new(signature.origin, signatures::mark_late(signature.value, places))
        };
        self.calls.sign(index, Signature::new(&self.origin, signature), place, out);
    }

    fn apply_call_piece(&mut self, piece: &CallPiece<'_>, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let id = piece.id.as_ref().map_or("", Key::as_str);
        let name = piece.function.as_ref().and_then(|function| function.name.as_deref()).unwrap_or_default();
        let name = self.calls.clean_name(name).to_owned();
        let name = name.as_str();
        let text = piece.function.as_ref().map(Function::arguments).unwrap_or_default();
        let signature = piece.extra_content.map(RawValue::get).filter(|signature| signature.starts_with('{'));
        let index = match self.find_call(piece.index.as_ref(), id, name, &text) {
            Some(index) => index,
            // It says nothing about a call.
            None if [id, name, &text].iter().all(|member| member.is_empty()) && signature.is_none() => return Ok(()),
            None => {
                // A new call ends each earlier call whose arguments are complete. The other calls stay open, because some
                // servers interleave calls.
                for earlier in 0..self.calls.len() {
                    if self.calls.has_complete_arguments(earlier) {
                        self.calls.end(earlier, out);
                    }
                }
                self.server_calls.push(ServerCall { index: piece.index.clone(), id: id.to_owned() });
                self.calls.start(id, "", out)
            }
        };
        if !id.is_empty() && self.server_calls[index].id.is_empty() {
            id.clone_into(&mut self.server_calls[index].id);
            self.calls.identify(index, id);
        }
        if let Some(signature) = signature {
            self.sign(index, signature, out);
        }
        self.calls.push_name(index, name, out);
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
    fn find_call(&self, index: Option<&Key>, id: &str, name: &str, text: &str) -> Option<usize> {
        let find = |is_meant: &dyn Fn(&ServerCall) -> bool| self.server_calls.iter().rposition(is_meant);
        let last = self.server_calls.len().checked_sub(1);
        let position = match index {
            Some(_) => find(&|known| known.index.as_ref() == index),
            // LM Studio gives each piece of a call an id of its own.
            None if !id.is_empty() => {
                find(&|known| known.id == id).or_else(|| last.filter(|last| self.lacks(*last, name)))
            }
            None => last.filter(|last| name.is_empty() || self.calls.takes_name(*last, name)),
        }?;
        let known = &self.server_calls[position];
        let has_other_id = !id.is_empty() && !known.id.is_empty() && known.id != id;
        if name.is_empty() || (!has_other_id && self.calls.takes_name(position, name)) {
            return Some(position);
        }
        // Some servers send each call as a whole, and use one index or one id for several calls, or no id. Others repeat the
        // name or change the id within a call.
        let is_complete = self.calls.has_complete_arguments(position);
        let has_other_name = self.calls.name(position) != name;
        let is_new = if known.id == id || id.is_empty() {
            (index.is_none() || id.is_empty()) && (has_other_name || (!text.trim_ascii().is_empty() && is_complete))
        } else {
            has_other_name || is_complete
        };
        (!is_new).then_some(position)
    }

    /// Returns whether a call lacks what a piece with this name brings: the name, or more arguments.
    fn lacks(&self, position: usize, name: &str) -> bool {
        match name {
            "" => !self.calls.name(position).is_empty() && !self.calls.has_complete_arguments(position),
            name => self.server_calls[position].id.is_empty() && self.calls.takes_name(position, name),
        }
    }

    fn finish_turn(&mut self) -> Result<Vec<Delta>, ModelError> {
        let mut out = Vec::new();
        self.is_over = true;
        let reason = match self.finish_reason.take() {
            Some(reason) => reason,
            // Some servers mark the end of a response, and give no reason.
            None if self.calls.len() == 0 => FinishReason::Stop,
            None if self.calls.are_complete() => FinishReason::ToolCalls,
            None => return Err(error::cut_off_error()),
        };
        // The server says `stop` after a refusal, too.
        let reason = if self.has_refused && reason.allows_calls() { FinishReason::ContentFilter } else { reason };
        self.calls.finish(reason.allows_calls(), &mut out)?;
        if let Some(signature) = self.details.to_signature() {
            push_signature(Signature::new(&self.origin, signature), &mut out);
        }
        out.push(Delta::Finish(reason));
        Ok(out)
    }
}

impl Decode for Decoder {
    fn decode_event(&mut self, data: &str) -> Result<Vec<Delta>, ModelError> {
        let data = data.trim_ascii();
        if self.is_over || data.is_empty() {
            return Ok(Vec::new());
        }
        if is_end_mark(data) {
            return self.finish_turn();
        }
        let chunk: Chunk<'_> = error::read_event(data, "a chunk of a chat completion")?;
        if let Some(error) = error::read_error_member(chunk.error) {
            return Err(error);
        }
        if chunk.choices.as_ref().is_none_or(Vec::is_empty) && chunk.usage.is_none() {
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
        self.finish_turn()
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

/// Adds the deltas of a member `content`: its text and its reasoning. It is a text, a part, or a list of these.
fn push_content(content: &RawValue, out: &mut Vec<Delta>) -> Result<(), ModelError> {
    for part in list_of(content) {
        let Part { thinking, text } = if part.get().starts_with('{') {
            read_object(part)?
        } else {
            let unreadable = |error| {
                unreadable_error("`content` is neither a text nor a list of parts", content.get()).with_source(error)
            };
            let text: Option<String> = serde_json::from_str(part.get()).map_err(unreadable)?;
            Part { text: text.unwrap_or_default(), ..Part::default() }
        };
        let reasoning: String = thinking.into_iter().map(|reasoning| reasoning.text).collect();
        if !reasoning.is_empty() {
            out.push(Delta::Reasoning(reasoning));
        }
        if !text.is_empty() {
            out.push(Delta::Text(text));
        }
    }
    Ok(())
}

fn turn_to_reasoning(delta: &mut Delta) {
    if let Delta::Text(text) = delta {
        *delta = Delta::Reasoning(std::mem::take(text));
    }
}

fn read_finish_reason(reason: String) -> FinishReason {
    match reason.to_ascii_lowercase().as_str() {
        "stop" | "eos" | "eos_token" | "stop_sequence" | "end_turn" => FinishReason::Stop,
        "tool_calls" | "function_call" | "tool_use" => FinishReason::ToolCalls,
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "content_filter" | "sensitive" | "safety" | "recitation" | "blocklist" | "prohibited_content" | "spii" => {
            FinishReason::ContentFilter
        }
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
    index: Option<Key>,
    #[serde(borrow)]
    delta: Option<Piece<'a>>,
    /// The whole message, from servers that do not stream. Some servers send it beside each `delta`.
    #[serde(borrow)]
    message: Option<Piece<'a>>,
    #[serde(default, deserialize_with = "if_fits")]
    finish_reason: Option<String>,
    /// The reason of the provider behind OpenRouter.
    #[serde(default, deserialize_with = "if_fits")]
    native_finish_reason: Option<String>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    /// The number of tokens, which Moonshot sends here.
    usage: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Piece<'a> {
    /// A string, or a list of parts (Mistral).
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "if_fits")]
    refusal: Option<String>,
    /// The reasoning of DeepSeek, xAI, Moonshot, vLLM and llama.cpp.
    #[serde(default, deserialize_with = "if_fits")]
    reasoning_content: Option<String>,
    /// The reasoning of Groq, OpenRouter, Ollama and newer vLLM.
    #[serde(default, deserialize_with = "if_fits")]
    reasoning: Option<String>,
    /// Marks of Gemini: an [`ExtraContent`].
    #[serde(borrow)]
    extra_content: Option<&'a RawValue>,
    /// OpenRouter's signatures of the reasoning. Later requests to the same origin must send them back.
    #[serde(borrow)]
    reasoning_details: Option<&'a RawValue>,
    /// The results of the provider's own tools: web search of OpenAI and OpenRouter.
    #[serde(borrow)]
    annotations: Option<&'a RawValue>,
    /// A list of [`CallPiece`].
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
    /// The older form of `tool_calls`, for one call: a [`Function`].
    #[serde(borrow)]
    function_call: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ExtraContent {
    google: Google,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Google {
    /// Set if the content is a thought.
    thought: bool,
    /// Set if there is a signature.
    #[serde(deserialize_with = "is_there")]
    thought_signature: bool,
}

fn is_there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(!Value::deserialize(deserializer)?.is_null())
}

#[derive(Debug, Default, Deserialize)]
struct CallPiece<'a> {
    index: Option<Key>,
    id: Option<Key>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
    /// Gemini's signature of its reasoning. Later requests to the same origin must send it back with the call.
    #[serde(borrow)]
    extra_content: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Function<'a> {
    #[serde(default, deserialize_with = "if_fits")]
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
#[derive(Debug, Default, Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
    #[serde(default)]
    thinking: Vec<Part>,
}
