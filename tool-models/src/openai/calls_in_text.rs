//! Support for small models that write calls as text.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{calls::Calls, http::response::Decode};
use tool_runtime::{
    message::Message,
    model::{Delta, FinishReason, ModelError},
    toolset::{ListFormat, ToolList},
};

/// The maximum length, in bytes, of a buffered text that may still be a call.
const MAX_BUFFERED_BYTES: usize = 64 << 10;

/// The pairs of delimiters that may surround a call.
const DELIMITERS: [(&str, &str); 3] = [("```json", "```"), ("```", "```"), ("<tool_call>", "</tool_call>")];

/// A decoder like `D` that turns a text into a call if the text is exactly one JSON call of an offered tool.
pub struct CallsInTextDecoder<D> {
    inner: D,
    tools: ToolList,
    calls: Calls,
    /// The buffered text that may be a call. `None` means that text passes through.
    buffered: Option<String>,
}

/// The JSON of a call, in the form that chat templates show to models.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonCall<'a> {
    name: String,
    #[serde(borrow, alias = "parameters")]
    arguments: &'a RawValue,
}

impl<D: Decode> CallsInTextDecoder<D> {
    /// Creates a decoder of the response to a request with these messages and tools.
    pub fn new(inner: D, messages: &[Message], tools: &ToolList) -> Self {
        let calls = Calls::new(tools, ListFormat::OpenAi, messages);
        let buffered = (!tools.is_empty()).then(String::new);
        Self { inner, tools: tools.clone(), calls, buffered }
    }

    fn convert_text(&mut self, deltas: Vec<Delta>) -> Vec<Delta> {
        if self.buffered.is_none() {
            return deltas;
        }
        let mut out = Vec::new();
        for delta in deltas {
            match (delta, &mut self.buffered) {
                (Delta::Text(text), Some(buffered)) => {
                    buffered.push_str(&text);
                    if !may_be_call(buffered) {
                        self.flush(&mut out);
                    }
                }
                (Delta::Finish(reason), Some(_)) => {
                    let reason = if reason.allows_calls() && self.emit_call(&mut out) {
                        FinishReason::ToolCalls
                    } else {
                        reason
                    };
                    self.flush(&mut out);
                    out.push(Delta::Finish(reason));
                }
                (delta @ (Delta::Usage(_) | Delta::Reasoning(_)), _) => out.push(delta),
                (delta, _) => {
                    self.flush(&mut out);
                    out.push(delta);
                }
            }
        }
        out
    }

    /// Emits the buffered text as a call. Returns `false` if it is not one.
    fn emit_call(&mut self, out: &mut Vec<Delta>) -> bool {
        let Some(buffered) = &self.buffered else { return false };
        let Ok(call) = serde_json::from_str::<JsonCall<'_>>(strip_delimiters(buffered)) else { return false };
        let arguments = call.arguments.get();
        if self.tools.get(&call.name).is_none() || !arguments.starts_with('{') {
            return false;
        }
        let index = self.calls.start("", &call.name, out);
        self.calls.push(index, arguments.to_owned(), out);
        self.calls.end(index, out);
        self.buffered = None;
        true
    }

    fn flush(&mut self, out: &mut Vec<Delta>) {
        out.extend(self.buffered.take().filter(|text| !text.is_empty()).map(Delta::Text));
    }
}

impl<D: Decode> Decode for CallsInTextDecoder<D> {
    fn decode_event(&mut self, data: &str) -> Result<Vec<Delta>, ModelError> {
        let deltas = self.inner.decode_event(data)?;
        Ok(self.convert_text(deltas))
    }

    fn finish(&mut self) -> Result<Vec<Delta>, ModelError> {
        let deltas = self.inner.finish()?;
        Ok(self.convert_text(deltas))
    }
}

/// Returns whether a text that begins with `text` may be a call.
fn may_be_call(text: &str) -> bool {
    let start = text.trim_ascii_start();
    let may_begin = |delimiter: &str| start.starts_with(delimiter) || delimiter.starts_with(start);
    text.len() <= MAX_BUFFERED_BYTES && (may_begin("{") || DELIMITERS.iter().any(|(open, _)| may_begin(open)))
}

fn strip_delimiters(text: &str) -> &str {
    let text = text.trim_ascii();
    let strip = |(open, close): &(&str, &str)| text.strip_prefix(*open)?.strip_suffix(*close);
    DELIMITERS.iter().find_map(strip).unwrap_or(text).trim_ascii()
}
