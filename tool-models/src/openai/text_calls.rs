//! Calls that a small model writes as text.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Decoder;
use crate::{calls::Calls, http::reading::Decode};
use tool_runtime::{
    message::Message,
    model::{Delta, FinishReason, ModelError},
    toolset::{ListFormat, ToolList},
};

/// The most bytes of a text that are held back until it is known what it is.
const MOST: usize = 64 << 10;

/// The pairs of marks that such a text can stand between.
const WRAPS: [(&str, &str); 3] = [("```json", "```"), ("```", "```"), ("<tool_call>", "</tool_call>")];

/// A decoder that reads a text as a call when all of it is the JSON of one, of a tool on offer.
pub struct TextCalls {
    inner: Decoder,
    tools: ToolList,
    calls: Calls,
    /// Text that may be a call; `None` once that is decided.
    held: Option<String>,
}

/// The JSON of a call: as models are shown it in their prompts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written<'a> {
    name: String,
    #[serde(borrow, alias = "parameters")]
    arguments: &'a RawValue,
}

impl TextCalls {
    /// `on` says whether there is anything to do.
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

    /// Makes a call of the text, if it is one.
    fn call(&mut self, out: &mut Vec<Delta>) -> bool {
        let Some(held) = &self.held else { return false };
        let Ok(written) = serde_json::from_str::<Written<'_>>(unwrapped(held)) else { return false };
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

/// Returns whether a text that begins like this may be a call.
fn may_be_call(text: &str) -> bool {
    let start = text.trim_ascii_start();
    let begins = |wrap: &str| start.starts_with(wrap) || wrap.starts_with(start);
    text.len() <= MOST && (begins("{") || WRAPS.iter().any(|(open, _)| begins(open)))
}

fn unwrapped(text: &str) -> &str {
    let text = text.trim_ascii();
    let inside = |(open, close): &(&str, &str)| text.strip_prefix(*open)?.strip_suffix(*close);
    WRAPS.iter().find_map(inside).unwrap_or(text).trim_ascii()
}
