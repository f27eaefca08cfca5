//! What comes into a run from outside while it goes on: what the model's provider executes, and what a person says.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Visibility, Writer, call::LineStage};
use crate::protocol::ag_ui::event::Event;
use crate::protocol::ag_ui::message::Content;
use tool_runtime::message::{Part, ProviderPart, ProviderPartKind};
use tool_runtime::run::{CallId, Prompt};

impl Writer {
    /// A tool of the provider's was called, or came to something: a call like another, which nobody here answers.
    pub(super) fn provided(&mut self, part: &ProviderPart, out: &mut Vec<u8>) {
        let block: Value = serde_json::from_str(&part.block).unwrap_or_else(|_| Value::from(part.block.as_str()));
        if part.call_id.is_empty() {
            let value = json!({ "provider": part.provider, "name": part.name, "block": block });
            return Event::Custom { name: "provider_result", value: &value }.write(out);
        }
        let id = CallId::from(part.call_id.as_str());
        let is_call = part.kind == ProviderPartKind::Call;
        let known = self.index.get(&id).copied();
        if known.is_some_and(|at| is_call || !self.lines[at].is_provided) {
            return;
        }
        let at = known.unwrap_or_else(|| {
            self.end_said(out);
            let mut line = self.line(&id, &part.name);
            (line.is_external, line.is_provided) = (false, true);
            let at = self.add(line);
            if self.lines[at].visibility != Visibility::Hidden {
                let input = if is_call { block.get("input").unwrap_or(&block).to_string() } else { String::new() };
                self.begin_call(at, out);
                if let LineStage::Open { waiting, since, .. } = &mut self.lines[at].stage {
                    (*waiting, *since) = (input, Duration::ZERO);
                }
                self.complete(&id, out);
            }
            at
        });
        let line = &self.lines[at];
        if is_call || !line.is_unanswered() {
            return;
        }
        let content = match line.visibility {
            Visibility::WithoutResult => String::new(),
            _ => block.get("content").unwrap_or(&block).to_string(),
        };
        self.answer(&id, &Content::Text(content), out);
    }

    /// Somebody said something to the run while it went on. It is no message of the conversation as the client has it, so that
    /// it does not come back as a new one.
    pub(super) fn steered(&mut self, said: &Prompt, out: &mut Vec<u8>) {
        self.end_said(out);
        let texts: Vec<_> = said.content.iter().filter_map(Part::as_text).collect();
        let value = json!({ "id": said.id, "text": texts.join("\n") });
        Event::Custom { name: "steering_message", value: &value }.write(out);
    }
}
