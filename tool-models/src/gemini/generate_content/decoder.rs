//! The decoder of streams of `streamGenerateContent`: it turns events into deltas.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value, value::RawValue};

use super::super::{Signed, Tokens, read_part};
use crate::{
    calls::Calls,
    error::{self, protocol_error, shorten},
    http::response::Decode,
};
use tool_runtime::{
    message::{Message, ProviderPart, ProviderPartKind},
    model::{Delta, FinishReason, ModelError, ModelErrorKind, Usage},
    toolset::{ListFormat, ToolList},
};

/// A decoder of the stream that `streamGenerateContent` sends for one request.
///
/// Each call arrives at once, often without an id. Two calls of one tool are two calls. A turn ends with its stream, which must have
/// given a reason with or after the last content. A call whose arguments come in pieces (`partialArgs`, at Vertex AI) fails the turn.
#[derive(Debug)]
pub struct Decoder {
    calls: Calls,
    origin: String,
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
        // The request asks for one candidate. If a server sends several, the first counts.
        for candidate in event.candidates.into_iter().flatten().filter(|candidate| candidate.index.unwrap_or(0) == 0) {
            let before = out.len();
            for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
                self.apply_part(part, out)?;
            }
            if out[before..].iter().any(|delta| !matches!(delta, Delta::Reasoning(_) | Delta::ReasoningSignature(_))) {
                self.finish_reason = None;
            }
            if let Some(reason) = candidate.finish_reason.filter(|reason| !reason.is_empty()) {
                if ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"].contains(&&*reason) {
                    let message = candidate.finish_message.as_deref();
                    return Err(refusal("the provider ended the turn because of a call", &reason, message));
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

    fn push_call(&mut self, call: FunctionCall<'_>, out: &mut Vec<Delta>) -> Result<(), ModelError> {
        if call.partial_args.is_some() || call.will_continue == Some(true) {
            let message = "a call arrives in pieces (`partialArgs`), which this API of the model does not support: \
                           leave out `streamFunctionCallArguments`, or use the Interactions API";
            return Err(protocol_error(message));
        }
        let name = call.name.filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| protocol_error("a call has no name of a tool"))?;
        let index = self.calls.start(&call.id.unwrap_or_default(), &name, out);
        self.calls.push(index, call.args.map_or("{}", RawValue::get).to_owned(), out);
        self.calls.end(index, out);
        Ok(())
    }
}

impl Decode for Decoder {
    fn decode_event(&mut self, data: &str) -> Result<Vec<Delta>, ModelError> {
        let data = data.trim_ascii();
        if self.is_over || data.is_empty() || data == "[DONE]" {
            return Ok(Vec::new());
        }
        let event: Event<'_> = error::read_event(data, "a response of `generateContent`")?;
        if event.error.is_some() {
            return Err(error::read_stream_error(data));
        }
        let mut out = Vec::new();
        self.apply_event(event, &mut out)?;
        Ok(out)
    }

    fn finish(&mut self) -> Result<Vec<Delta>, ModelError> {
        if self.is_over {
            return Ok(Vec::new());
        }
        let reason = self.finish_reason.take().ok_or_else(error::cut_off_error)?;
        self.is_over = true;
        Ok(vec![Delta::Finish(read_finish_reason(reason, self.calls.len() > 0))])
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
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Option<Content<'a>>,
    finish_reason: Option<String>,
    finish_message: Option<String>,
    index: Option<u64>,
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
    text: Option<String>,
    thought: Option<bool>,
    thought_signature: Option<String>,
    #[serde(borrow)]
    function_call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FunctionCall<'a> {
    id: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    partial_args: Option<IgnoredAny>,
    will_continue: Option<bool>,
}
