//! The decoder of streams of `streamGenerateContent`: it turns events into deltas.

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::{
    super::{Signed, Tokens, read_part},
    partial_args::{self, PartialArg},
};
use crate::{
    calls::Calls,
    error::{self, protocol_error, shorten, unreadable_error},
    http::response::Decode,
    lenient::{Key, if_fits, is_end_mark},
};
use tool_runtime::{
    message::{Message, ProviderPart, ProviderPartKind},
    model::{Delta, FinishReason, ModelError, ModelErrorKind, Usage},
    toolset::{ListFormat, ToolList},
};

/// A decoder of the stream that `streamGenerateContent` sends for one request.
///
/// Most calls arrive at once, often without an id. Two calls of one tool are two calls. At Vertex AI, arguments may come in pieces
/// (`partialArgs`); a delta has them when they are complete. A turn ends with its stream, which must have given a reason with or after
/// the last content.
#[derive(Debug)]
pub struct Decoder {
    calls: Calls,
    origin: String,
    /// The call whose arguments arrive in pieces, with the arguments so far.
    open_call: Option<(usize, Value)>,
    /// The key of the candidate that counts, once an event had one.
    candidate: Option<Key>,
    /// Set if the last text has a signature.
    is_text_signed: bool,
    tokens: Tokens,
    /// The reason of the end, as long as no text and no call follows it.
    finish_reason: Option<String>,
    is_over: bool,
}

impl Decoder {
    /// Creates a decoder of the response to a request with these messages and tools.
    pub fn new(messages: &[Message], tools: &ToolList) -> Self {
        Self {
            calls: Calls::new(tools, ListFormat::Gemini, messages),
            origin: String::new(),
            open_call: None,
            candidate: None,
            is_text_signed: false,
            tokens: Tokens::default(),
            finish_reason: None,
            is_over: false,
        }
    }

    /// Sets the origin of the response's signatures and of the parts of Google's tools
    /// ([`Signature::origin`](tool_runtime::message::Signature::origin)). The default is empty.
    pub fn with_origin(mut self, origin: impl Into<String>) -> Self {
        self.origin = origin.into();
        self
    }

    fn apply_event(&mut self, event: Event<'_>, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        if let Some(Feedback { block_reason: Some(reason), block_reason_message }) = event.prompt_feedback {
            return Err(refusal("the provider blocked the prompt", &reason, block_reason_message.as_deref()));
        }
        for candidate in event.candidates.into_iter().flatten() {
            // The request asks for one candidate. If a server sends several, the first counts.
            let key = candidate.index.unwrap_or_else(|| Key::from(0));
            if *self.candidate.get_or_insert_with(|| key.clone()) != key {
                continue;
            }
            let before = out.len();
            for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
                self.apply_part(part, out)?;
            }
            if out[before..].iter().any(|delta| !matches!(delta, Delta::Reasoning(_) | Delta::ReasoningSignature(_))) {
                self.finish_reason = None;
            }
            if let Some(reason) = candidate.finish_reason.filter(|reason| !reason.is_empty()) {
                if let Some(error) = error::find_failed_reason(&reason) {
                    let message = candidate.finish_message.map(|message| format!(": {}", shorten(&message)));
                    return Err(ModelError::new(error.kind(), format!("{error}{}", message.unwrap_or_default())));
                }
                self.finish_reason = Some(reason);
            }
        }
        if let Some(usage) = event.usage_metadata {
            let before = Usage::from(self.tokens);
            self.tokens.update(Tokens::read(&usage));
            let usage = Usage::from(self.tokens);
            if usage != before {
                out.push(Delta::Usage(usage));
            }
        }
        Ok(())
    }

    fn apply_part(&mut self, json: &RawValue, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let part: Part<'_> = read_part(json, "part")?;
        let signature = part.thought_signature.filter(|signature| !signature.is_empty());
        // The signature of a part is before it, in a part of reasoning without a text.
        let sign = |signed: Signed, out: &mut Vec<Delta>| {
            if let Some(signature) = &signature {
                out.push(Delta::Reasoning(String::new()));
                out.push(signed.mark(&self.origin, signature));
            }
        };
        match (part.function_call, part.text) {
            (Some(call), _) => {
                sign(Signed::Call, out);
                self.push_call(call, out)?;
            }
            (None, Some(text)) if part.thought == Some(true) => {
                if !text.is_empty() || signature.is_some() {
                    out.push(Delta::Reasoning(text));
                }
                out.extend(signature.map(|signature| Signed::Thought.mark(&self.origin, &signature)));
            }
            (None, Some(text)) if text.is_empty() => sign(Signed::Empty, out),
            (None, Some(text)) => {
                sign(Signed::Text, out);
                if self.is_text_signed && signature.is_none() {
                    // It begins a new text, which the signature of the last one does not cover.
                    out.push(Delta::Reasoning(String::new()));
                }
                self.is_text_signed = signature.is_some();
                out.push(Delta::Text(text));
            }
            (None, None) => match convert_provider_part(json, &self.origin) {
                Some(part) => out.push(Delta::Provider(part)),
                None => sign(Signed::Empty, out),
            },
        }
        Ok(())
    }

    /// Adds a call, or a piece of one. A piece without a name continues the open call.
    fn push_call(&mut self, call: FunctionCall<'_>, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let name = call.name.unwrap_or_default();
        let (index, mut arguments) = match self.open_call.take() {
            Some(open) if name.is_empty() => open,
            before => {
                self.open_call = before;
                self.end_open_call(out);
                if name.is_empty() {
                    return Err(protocol_error("a call has no name of a tool"));
                }
                (self.calls.start(call.id.as_ref().map_or("", Key::as_str), &name, out), Value::Null)
            }
        };
        for piece in call.partial_args.unwrap_or_default() {
            let place = piece.json_path().to_owned();
            if partial_args::apply(&mut arguments, piece).is_none() {
                return Err(unreadable_error("a piece of a call has no place in its arguments", &place));
            }
        }
        match call.args.map(RawValue::get).filter(|args| *args != "null") {
            // From some gateways, the arguments are a text with their JSON.
            Some(args) if args.starts_with('"') => {
                self.calls.push(index, serde_json::from_str(args).unwrap_or_default(), out);
            }
            Some(args) => self.calls.push(index, args.to_owned(), out),
            None => {}
        }
        self.open_call = Some((index, arguments));
        if call.will_continue != Some(true) {
            self.end_open_call(out);
        }
        Ok(())
    }

    fn end_open_call(&mut self, out: &mut Vec<Delta>) {
        let Some((index, arguments)) = self.open_call.take() else { return };
        if !arguments.is_null() {
            self.calls.push(index, arguments.to_string(), out);
        } else if self.calls.is_blank(index) {
            self.calls.push(index, "{}".to_owned(), out);
        }
        self.calls.end(index, out);
    }

    fn apply_json(&mut self, data: &str, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        let event: Event<'_> = error::read_event(data, "a response of `generateContent`")?;
        if let Some(error) = error::read_error_member(event.error) {
            return Err(error);
        }
        if event.candidates.is_none() && event.prompt_feedback.is_none() && event.usage_metadata.is_none() {
            return error::find_stream_error(data).map_or(Ok(()), Err);
        }
        self.apply_event(event, out)
    }
}

impl Decode for Decoder {
    fn decode_event(&mut self, data: &str) -> Result<Vec<Delta>, ModelError> {
        let data = data.trim_ascii();
        if self.is_over || data.is_empty() || is_end_mark(data) {
            return Ok(Vec::new());
        }
        let mut out = Vec::new();
        // Without `alt=sse`, the response is one list.
        match serde_json::from_str::<Vec<&RawValue>>(data) {
            Ok(events) => events.into_iter().try_for_each(|event| self.apply_json(event.get(), &mut out))?,
            Err(_) => self.apply_json(data, &mut out)?,
        }
        Ok(out)
    }

    fn finish(&mut self) -> Result<Vec<Delta>, ModelError> {
        if self.is_over {
            return Ok(Vec::new());
        }
        let reason = self.finish_reason.take().ok_or_else(error::cut_off_error)?;
        self.is_over = true;
        let mut out = Vec::new();
        let reason = read_finish_reason(reason, self.calls.len() > 0);
        // Some streams end without the mark of the last call's end.
        if reason.allows_calls() {
            self.end_open_call(&mut out);
        }
        self.calls.finish(reason.allows_calls(), &mut out)?;
        out.push(Delta::Finish(reason));
        Ok(out)
    }
}

fn read_finish_reason(reason: String, has_calls: bool) -> FinishReason {
    match reason.as_str() {
        // The reason is the same beside a call and without one.
        "STOP" if has_calls => FinishReason::ToolCalls,
        "STOP" => FinishReason::Stop,
        "MAX_TOKENS" | "CONTINUATION" => FinishReason::Length,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => FinishReason::ContentFilter,
        _ => FinishReason::Other(reason),
    }
}

fn refusal(what: &str, reason: &str, message: Option<&str>) -> ModelError {
    let message = message.map(|message| format!(": {}", shorten(message))).unwrap_or_default();
    ModelError::new(ModelErrorKind::Refused, format!("{what} ({reason}){message}"))
}

/// Returns a part that is neither text nor a call, such as code that Google runs, or a picture. Returns `None` for an empty part.
fn convert_provider_part(json: &RawValue, origin: &str) -> Option<ProviderPart> {
    let part: Map<String, Value> = serde_json::from_str(json.get()).ok()?;
    let (name, content) = part.iter().find(|(member, value)| !member.starts_with("thought") && value.is_object())?;
    let text = |member: &str| content[member].as_str().unwrap_or_default();
    let kind = match name.as_str() {
        "executableCode" | "toolCall" => ProviderPartKind::Call,
        "codeExecutionResult" if text("outcome") != "OUTCOME_OK" => ProviderPartKind::Failure,
        _ => ProviderPartKind::Result,
    };
    let name = match name.as_str() {
        "executableCode" | "codeExecutionResult" => "code_execution",
        "toolCall" | "toolResponse" if !text("toolType").is_empty() => text("toolType"),
        other => other,
    };
    Some(ProviderPart::new(origin, text("id"), name, kind, json.get()))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<Value>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Option<Content<'a>>,
    #[serde(default, deserialize_with = "if_fits")]
    finish_reason: Option<String>,
    #[serde(default, deserialize_with = "if_fits")]
    finish_message: Option<String>,
    index: Option<Key>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    parts: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
    block_reason_message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(default, deserialize_with = "if_fits")]
    text: Option<String>,
    #[serde(default, deserialize_with = "if_fits")]
    thought: Option<bool>,
    #[serde(default, deserialize_with = "if_fits")]
    thought_signature: Option<String>,
    #[serde(borrow)]
    function_call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FunctionCall<'a> {
    id: Option<Key>,
    #[serde(default, deserialize_with = "if_fits")]
    name: Option<String>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    partial_args: Option<Vec<PartialArg>>,
    #[serde(default, deserialize_with = "if_fits")]
    will_continue: Option<bool>,
}
