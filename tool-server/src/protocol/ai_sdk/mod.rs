//! The Vercel AI SDK's UI message stream, version 1: a pure mapping for the messages that its `useChat` reads and sends.
//!
//! [`AiSdkEncoder`] turns a run's events into [`Chunk`]s, written as frames of an event stream. [`ChatRequest`] reads a client's
//! request. A client sends its whole history each time, and all of it is an unverified claim. [`ChatRequest`] reads the claims
//! that may have an effect: messages of the user, decisions, and outputs of the client's own tools. [`match_claims`] then finds
//! the claims that the run waits for.

mod calls;
mod chunk;
mod history;
mod request;
mod stream;

use std::sync::Arc;

use serde_json::{Value, json};
use tool_runtime::{
    Agent,
    run::{Call, CallResult, Interrupt, Principal},
    tool::ToolSpec,
    toolset::Toolset,
};

pub use chunk::{Chunk, DONE_FRAME, FinishReason, Json, write_frame};
pub use history::{UiMessage, history};
pub(crate) use history::{answer_id, last_assistant_id, messages};
pub use request::{ChatMessage, ChatRequest, Claim, ClaimKind, InvalidRequest, MatchedClaims, Trigger, match_claims};
pub(crate) use stream::message_position;
pub use stream::{AiSdkEncoder, DataParts};

pub use super::approval_id;
use super::{Visibility, VisibilityRule};

/// The header by which clients recognize the stream, and its value.
pub const STREAM_HEADER: (&str, &str) = ("x-vercel-ai-ui-message-stream", "v1");

/// The key of the sealed run in a message's metadata, for stateless servers.
const SEALED: &str = "toolRun";

fn sealed_metadata(sealed: &str) -> Value {
    json!({ SEALED: sealed })
}

/// The major version of the AI SDK that a client uses. It determines the chunks and fields that the client accepts. The AI SDK's
/// clients do not send their version, and abandon a response at the first unknown chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SdkVersion {
    /// Clients of the AI SDK 6, and later ones.
    V6,
    /// Clients of the AI SDK 7.
    #[default]
    V7,
}

/// The kind of error texts that a client receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorDetail {
    /// A general text.
    Masked,
    /// The error in words; for a failure of the model, the text of the log.
    Full,
}

/// The settings of a stream.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StreamSettings {
    /// The client's version, which determines the chunks and fields that the client knows.
    pub client_version: SdkVersion,
    /// The tools.
    pub tools: Toolset,
    /// The part of each tool's calls that clients see.
    visibility: VisibilityRule,
    /// The principal that reads the stream, if it is known.
    viewer: Option<Principal>,
    /// The agent, which names the files of prompts that none of its models reads.
    agent: Option<Agent>,
    /// Set if the model's reasoning is sent.
    pub reasoning: bool,
    /// The error texts of failed calls.
    pub tool_errors: ErrorDetail,
    /// The error texts of failures of the model.
    pub failures: ErrorDetail,
    /// Set if the texts that people see while a tool works ([`ToolOptions::ui`](tool_runtime::tool::ToolOptions::ui)) are sent
    /// with its calls. Clients before 6.0.231 and 7.0.32 abandon responses that contain them.
    pub tool_metadata: bool,
    /// Set if small deltas of text and arguments are combined before they are sent. Clients parse all arguments again with each
    /// delta, so sending every delta of the model costs them quadratic time.
    pub coalesce: bool,
}

impl StreamSettings {
    /// Creates settings for clients of the AI SDK 7 and these `tools`. Errors of tools are sent in full, errors of models are
    /// masked.
    pub fn new(tools: Toolset) -> Self {
        Self {
            client_version: SdkVersion::V7,
            tools,
            visibility: VisibilityRule::default(),
            viewer: None,
            agent: None,
            reasoning: true,
            tool_errors: ErrorDetail::Full,
            failures: ErrorDetail::Masked,
            tool_metadata: false,
            coalesce: true,
        }
    }

    /// Sets the version of the clients.
    pub fn client_version(mut self, version: SdkVersion) -> Self {
        self.client_version = version;
        self
    }

    /// Sets the part of each tool's calls that the client sees. A tool whose `meta` has `"hidden": true` is always
    /// [`Visibility::Hidden`].
    pub fn visibility(self, rule: impl Fn(&ToolSpec) -> Visibility + Send + Sync + 'static) -> Self {
        self.visibility_rule(VisibilityRule::new(rule))
    }

    pub(crate) fn visibility_rule(mut self, visibility: VisibilityRule) -> Self {
        self.visibility = visibility;
        self
    }

    /// Sets the principal that reads the stream. If others decide about a call, the stream says whom it waits for
    /// (`data-waiting`). By default, every request is one that the reader may answer.
    pub fn viewer(mut self, viewer: impl Into<Principal>) -> Self {
        self.viewer = Some(viewer.into());
        self
    }

    pub(crate) fn agent(mut self, agent: Agent) -> Self {
        self.agent = Some(agent);
        self
    }

    /// Returns the principals that decide `open`, if the reader of the stream is not one of them.
    fn other_deciders<'a>(&self, open: &'a Interrupt) -> Option<&'a [Principal]> {
        let viewer = self.viewer.as_ref()?;
        (!open.deciders.is_empty() && !open.deciders.contains(viewer)).then_some(&open.deciders)
    }

    fn spec(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        Some(self.tools.get(name)?.spec())
    }

    /// Returns the feedback on a call's arguments as data, from which a frontend can build a form. The error text has the same
    /// content in words.
    fn feedback(&self, result: &CallResult) -> Option<Value> {
        let feedback = result.rejection()?;
        (self.tool_errors == ErrorDetail::Full).then(|| json!({ "tool": { "feedback": feedback.to_json() } }))
    }

    fn visibility_of(&self, name: &str) -> Visibility {
        self.spec(name).map_or(Visibility::Shown, |spec| self.visibility.of(spec))
    }

    fn is_hidden(&self, name: &str) -> bool {
        self.visibility_of(name) == Visibility::Hidden
    }

    /// Returns whether the client sees the call. The client sees a call of a hidden tool once a person is asked about the call.
    fn is_seen(&self, call: &Call) -> bool {
        !self.is_hidden(&call.name) || call.interrupt().is_some() || call.decisions().next().is_some()
    }
}
