//! The settings of a stream.

use std::sync::Arc;

use serde_json::{Value, json};

use tool_runtime::run::CallResult;
use tool_runtime::tool::ToolSpec;
use tool_runtime::toolset::Toolset;

/// Which chunks and fields a client knows. The AI SDK's clients do not say their version, and give an answer up at the
/// first chunk that is new to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// Clients of the AI SDK 6, and later ones.
    V6,
    /// Clients of the AI SDK 7.
    #[default]
    V7,
}

/// The error texts that a client reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Errors {
    /// A general text.
    Masked,
    /// The text that the model reads, or of a failure of the model the text of the log.
    Full,
}

/// The settings of a stream.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// Which chunks and fields the client knows.
    pub level: Level,
    /// The tools. One whose `meta` has `"hidden": true` is hidden from clients: nothing of its calls is sent.
    pub tools: Toolset,
    /// True if the model's reasoning is sent.
    pub reasoning: bool,
    /// How calls failed.
    pub tool_errors: Errors,
    /// How the model failed.
    pub failures: Errors,
    /// True if what people see while a tool works ([`Traits::ui`](tool_runtime::tool::Traits::ui)) is sent with its calls.
    /// Clients before 6.0.231 and 7.0.32 give answers up that have it.
    pub tool_metadata: bool,
    /// True if small pieces of texts and arguments wait a moment for more. Clients read all they have of a message again with
    /// each piece of arguments, so as many pieces as a model makes cost them the square of the whole.
    pub coalesce: bool,
}

impl Settings {
    /// Settings for clients of the AI SDK 7, with `tools`: errors of tools in full, of models masked.
    pub fn new(tools: Toolset) -> Self {
        Self {
            level: Level::V7,
            tools,
            reasoning: true,
            tool_errors: Errors::Full,
            failures: Errors::Masked,
            tool_metadata: false,
            coalesce: true,
        }
    }

    /// Sets the level of the clients.
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    pub(super) fn spec(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        Some(self.tools.get(name)?.spec())
    }

    /// Returns the problems of a call's arguments and the right values, for a form: beside the text that says it in words.
    pub(super) fn feedback(&self, result: &CallResult) -> Option<Value> {
        let feedback = match result {
            CallResult::Rejected { feedback } => feedback,
            CallResult::Failed { feedback: Some(feedback), .. } => feedback,
            _ => return None,
        };
        (self.tool_errors == Errors::Full).then(|| json!({ "tool": { "feedback": feedback.to_json() } }))
    }

    pub(super) fn is_hidden(&self, name: &str) -> bool {
        self.spec(name).is_some_and(|spec| spec.is_hidden())
    }
}
