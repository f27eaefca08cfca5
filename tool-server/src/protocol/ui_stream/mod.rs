//! The Vercel AI SDK's UI message stream, version 1: what its `useChat` reads and sends, as a pure mapping.
//!
//! [`UiStream`] turns what happens in a run into [`Chunk`]s, written as frames of an event stream; [`ChatRequest`] reads what
//! a client sends. A client sends its whole history every time, and all of it is a claim: [`ChatRequest`] reads from it
//! what somebody may say (messages of the user, decisions, outputs of the client's own tools), and whoever drives the run
//! asks the run whether it waits for that.

mod calls;
mod chunk;
mod data;
mod request;
mod settings;
mod stream;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

pub use chunk::{Chunk, DONE, Finish, Json, frame};
pub use data::DataParts;
pub use request::{ChatMessage, ChatRequest, Claim, Claimed, Matched, RequestError, Trigger, match_claims};
pub use settings::{Errors, Level, Settings};
pub use stream::UiStream;

pub use super::approval_id;

/// The header by which clients know the stream, and its value.
pub const HEADER: (&str, &str) = ("x-vercel-ai-ui-message-stream", "v1");

/// Where in a message's metadata the sealed run is, of a server that keeps nothing.
const SEALED: &str = "toolRun";

fn sealed_metadata(sealed: &str) -> Value {
    json!({ SEALED: sealed })
}
