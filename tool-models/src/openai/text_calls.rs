//! Support for small models that write calls as text.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Decoder;
use crate::{calls::Calls, http::reading::Decode};
use tool_runtime::{
    message::Message,
    model::{Delta, FinishReason, ModelError},
    toolset::{ListFormat, ToolList},
};

/// The maximum length, in bytes, of a buffered text that may still be a call.
const MAX_BUFFERED: usize = 64 << 10;

/// The delimiters that may surround a call.
const WRAPS: [(&str, &str); 3] = [("```json", "```"), ("```", "```"), ("<tool_call>", "</tool_call>")];

/// A decoder that turns a text into a call if the text is exactly one JSON call of an offered tool.
pub struct TextCalls {
    inner: Decoder,
    tools: ToolList,
    calls: Calls,
    /// The text that may be a call; `None` after the decision, or if the decoder does not look for calls.
    held: Option<String>,
}

/// The JSON of a call, in the form that models see in their prompts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written<'a> {
    name: String,
    #[serde(borrow, alias = "parameters")]
    arguments: &'a RawValue,
}

impl TextCalls {
    /// Creates the decoder. If `on` is not set, it does not look for calls in text.
    pub fn new(messages: &[Message], tools: &ToolList, on: bool) -> Self {
        let calls = Calls::new(tools, ListFormat::OpenAi, messages);
        let held = (on && !tools.is_empty()).then(String::new);
        Self { inner: Decoder::new(messages, tools), tools: tools.clone(), calls, held }
    }

    fn sift(&mut self, deltas: Vec<Delta>) -> Vec<Delta> {
        if self.held.is_none() {
            return deltas;
        }
        let mut out = Vec::new();
        for delta in deltas {
            match (delta, &mut self.held) {
                (Delta::Text(text), Some(held)) => {
                    held.push_str(&text);
                    if !may_be_call(held) {
                        self.release(&mut out);
                    }
                }
                (Delta::Finish(reason), Some(_)) => {
                    let reason = if reason.is_safe() && self.call(&mut out) { FinishReason::ToolCalls } else { reason };
                    self.release(&mut out);
                    out.push(Delta::Finish(reason));
                }
                (delta @ (Delta::Usage(_) | Delta::Reasoning(_)), _) => out.push(delta),
                (delta, _) => {
                    self.release(&mut out);
                    out.push(delta);
                }
            }
        }
        out
    }

    /// Turns the text into a call, if it is one. Returns whether it was.
    fn call(&mut self, out: &mut Vec<Delta>) -> bool {
        let Some(held) = &self.held else { return false };
        let Ok(written) = serde_json::from_str::<Written<'_>>(without_wrap(held)) else { return false };
        let arguments = written.arguments.get();
        if self.tools.get(&written.name).is_none() || !arguments.starts_with('{') {
            return false;
        }
        let index = self.calls.start("", &written.name, out);
        self.calls.push(index, arguments, out);
        self.calls.end(index, out);
        self.held = None;
        true
    }

    fn release(&mut self, out: &mut Vec<Delta>) {
        out.extend(self.held.take().filter(|text| !text.is_empty()).map(Delta::Text));
    }
}

impl Decode for TextCalls {
    fn event(&mut self, data: &str) -> Result<Vec<Delta>, ModelError> {
        let deltas = self.inner.event(data)?;
        Ok(self.sift(deltas))
    }

    fn end(&mut self) -> Result<Vec<Delta>, ModelError> {
        let deltas = self.inner.end()?;
        Ok(self.sift(deltas))
    }
}

/// Returns whether a text with this beginning may be a call.
fn may_be_call(text: &str) -> bool {
    let start = text.trim_ascii_start();
    let begins = |wrap: &str| start.starts_with(wrap) || wrap.starts_with(start);
    text.len() <= MAX_BUFFERED && (begins("{") || WRAPS.iter().any(|(open, _)| begins(open)))
}

fn without_wrap(text: &str) -> &str {
    let text = text.trim_ascii();
    let inside = |(open, close): &(&str, &str)| text.strip_prefix(*open)?.strip_suffix(*close);
    WRAPS.iter().find_map(inside).unwrap_or(text).trim_ascii()
}
