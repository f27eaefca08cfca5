//! The Vercel AI SDK's UI message stream, version 1: what its `useChat` reads and sends, as a pure mapping.
//!
//! [`UiStream`] turns what happens in a run into [`Chunk`]s, written as frames of an event stream; [`ChatRequest`] reads what
//! a client sends. A client sends its whole history every time, and all of it is a claim: [`ChatRequest`] reads from it
//! what somebody may say (messages of the user, decisions, outputs of the client's own tools), and whoever drives the run
//! asks the run whether it waits for that.

mod calls;
mod chunk;
mod request;
mod stream;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::{Value, json};
use tool_runtime::{run::CallResult, tool::ToolSpec, toolset::Toolset};

pub use chunk::{Chunk, DONE, Finish, Json, frame};
pub use request::{ChatMessage, ChatRequest, Claim, Claimed, Matched, RequestError, Trigger, match_claims};
pub use stream::{DataParts, UiStream};

pub use super::approval_id;

/// The header by which clients know the stream, and its value.
pub const HEADER: (&str, &str) = ("x-vercel-ai-ui-message-stream", "v1");

/// Where in a message's metadata the sealed run is, of a server that keeps nothing.
const SEALED: &str = "toolRun";

fn sealed_metadata(sealed: &str) -> Value {
    json!({ SEALED: sealed })
}

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
pub struct StreamSettings {
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

impl StreamSettings {
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

    fn spec(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        Some(self.tools.get(name)?.spec())
    }

    /// Returns the problems of a call's arguments and the right values, for a form: beside the text that says it in words.
    fn feedback(&self, result: &CallResult) -> Option<Value> {
        let feedback = match result {
            CallResult::Rejected { feedback } => feedback,
            CallResult::Failed { feedback: Some(feedback), .. } => feedback,
            _ => return None,
        };
        (self.tool_errors == Errors::Full).then(|| json!({ "tool": { "feedback": feedback.to_json() } }))
    }

    fn is_hidden(&self, name: &str) -> bool {
        self.spec(name).is_some_and(|spec| spec.is_hidden())
    }
}
