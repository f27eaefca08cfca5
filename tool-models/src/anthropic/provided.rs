//! Blocks of tools that the provider runs itself.

use serde_json::Value;

use tool_runtime::message::{ProviderPart, ProviderPartKind};

/// Whose words the blocks are in.
pub(super) const PROVIDER: &str = "anthropic";

/// A block that is open.
#[derive(Debug)]
pub(super) struct Provided {
    block: Value,
    /// The input of a call, as far as it came.
    input: String,
    kind: ProviderPartKind,
}

impl Provided {
    /// A block that tells of such a tool; `None` for any other.
    pub(super) fn new(block: Value) -> Option<Self> {
        let name = block["type"].as_str()?;
        let kind = if name.ends_with("_tool_use") {
            ProviderPartKind::Call
        } else if name.ends_with("_tool_result") {
            let failed = block["is_error"] == true
                || block["content"]["type"].as_str().is_some_and(|content| content.ends_with("_error"));
            if failed { ProviderPartKind::Failure } else { ProviderPartKind::Result }
        } else {
            return None;
        };
        Some(Self { block, input: String::new(), kind })
    }

    pub(super) fn push(&mut self, json: &str) {
        self.input.push_str(json);
    }

    /// The block when it is whole. `before` are those of the turn before it: a result does not name its tool.
    pub(super) fn whole(mut self, before: &[ProviderPart]) -> ProviderPart {
        if let Ok(input @ Value::Object(_)) = serde_json::from_str(&self.input) {
            self.block["input"] = input;
        }
        let text = |member: &str| self.block[member].as_str().unwrap_or_default();
        let (id, name) = match self.kind {
            ProviderPartKind::Call => (text("id"), text("name")),
            _ => {
                let id = text("tool_use_id");
                let called = before.iter().find(|part| part.call_id == id).map(|part| part.name.as_str());
                let of_type = text("type");
                (id, called.unwrap_or_else(|| of_type.strip_suffix("_tool_result").unwrap_or(of_type)))
            }
        };
        ProviderPart::new(PROVIDER, id, name, self.kind, self.block.to_string())
    }
}
