//! What tools do that the model's provider executes: parts of the message that nobody here answers.

use serde_json::Value;

use super::{Chunk, Json, UiStream, call::Call};
use tool_runtime::message::{ProviderPart, ProviderPartKind};
use tool_runtime::run::CallId;

impl UiStream {
    /// A tool of the provider's was called, or came to something.
    pub(super) fn provided(&mut self, part: &ProviderPart, out: &mut Vec<u8>) {
        if self.settings.is_hidden(&part.name) {
            return;
        }
        let block: Value = serde_json::from_str(&part.block).unwrap_or_else(|_| Value::from(part.block.as_str()));
        self.open_step(out);
        if part.call_id.is_empty() {
            // Of no call: only pages are something that a message has a part for.
            return self.found(&block, out);
        }
        let id = CallId::from(part.call_id.as_str());
        let is_call = part.kind == ProviderPartKind::Call;
        let known = self.find(&id);
        if known.is_some_and(|at| !self.calls[at].is_provided || is_call) {
            return;
        }
        let at = known.unwrap_or_else(|| {
            let empty = Value::Object(serde_json::Map::new());
            let input = if is_call { block.get("input").unwrap_or(&block) } else { &empty };
            self.provided_call(part, input, out)
        });
        if is_call || !self.calls[at].finish() {
            return;
        }
        let id = &self.calls[at].id;
        let came = block.get("content").unwrap_or(&block);
        if part.kind == ProviderPartKind::Failure {
            let code = came.get("error_code").or_else(|| came.get("message")).and_then(Value::as_str);
            let error_text = code.unwrap_or("the tool of the provider failed");
            let (provider_metadata, tool_metadata) = (None, None);
            let (provider_executed, dynamic) = (Some(true), Some(true));
            let tool_call_id = id;
            let error = Chunk::ToolOutputError {
                tool_call_id,
                error_text,
                provider_executed,
                provider_metadata,
                tool_metadata,
                dynamic,
            };
            return self.frame(&error, out);
        }
        let output = Chunk::ToolOutputAvailable {
            tool_call_id: id,
            output: Json::Value(came),
            provider_executed: Some(true),
            provider_metadata: None,
            tool_metadata: None,
            dynamic: Some(true),
            preliminary: None,
        };
        self.frame(&output, out);
    }

    /// Tells the call; where it is in `calls`.
    fn provided_call(&mut self, part: &ProviderPart, input: &Value, out: &mut Vec<u8>) -> usize {
        self.close_text(out);
        let available = Chunk::ToolInputAvailable {
            tool_call_id: &part.call_id,
            tool_name: &part.name,
            input: Json::Value(input),
            provider_executed: Some(true),
            provider_metadata: None,
            tool_metadata: None,
            dynamic: Some(true),
            title: None,
        };
        self.frame(&available, out);
        self.calls.push(Call::provided(&part.call_id, &part.name));
        self.calls.len() - 1
    }

    /// Tells a page that was found.
    fn found(&mut self, block: &Value, out: &mut Vec<u8>) {
        let page = block.get("url_citation").unwrap_or(block);
        let text = |key: &str| page.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        if let Some(url) = text("url") {
            // One page is one source, however often it is cited.
            self.frame(&Chunk::SourceUrl { source_id: url, url, title: text("title"), provider_metadata: None }, out);
        }
    }
}
