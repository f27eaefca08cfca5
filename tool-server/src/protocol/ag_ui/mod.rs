//! The AG-UI protocol, for clients of 1.0 and 0.x: the events of a run, and the requests of clients.
//!
//! A [`RunInput`] is a client's request, and a [`Plan`] holds the part of it that the server accepts. A [`AgUiEncoder`] writes
//! the run's events as frames. All of this is free of I/O.

mod content;
mod event;
mod frontend;
mod input;
mod plan;
mod stream;
mod tools;

pub use content::{Content, ContentPart, Source};
pub use event::Object;
pub use frontend::{Frontend, StateError};
pub use input::{
    ClientTool, ContextEntry, InputMessage, InvalidRequest, MessageCall, ResumeEntry, ResumeStatus, RunInput,
};
pub use plan::{History, NewPrompt, Plan};
pub(crate) use plan::{last_content, last_prompt};
pub use stream::AgUiEncoder;
pub use tools::{ArgumentCheck, ClientToolError, ClientTools};

/// The version of the protocol that the server speaks.
pub const VERSION: &str = "1.0";

/// The major version of the protocol that a client speaks. It determines the features that the client knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ProtocolVersion {
    /// Clients before 1.0. They do not send their version, and refuse the features of 1.0.
    #[default]
    V0,
    /// Clients of 1.0 and later.
    V1,
}

impl ProtocolVersion {
    /// Returns the major version of a client that sent `version`. It is `V0` without a version, or if the text is invalid.
    pub fn of(version: Option<&str>) -> Self {
        let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
        if major.is_some_and(|major| major >= 1) { Self::V1 } else { Self::V0 }
    }

    /// Returns whether the content of a result or message may be a list of parts.
    fn has_parts(self) -> bool {
        self >= Self::V1
    }

    /// Returns whether an interrupt about a call may have the reason `tool_call`. `CopilotKit`, a client before 1.0, writes its
    /// answer to such an interrupt into the conversation as the result of the call. It then does not show the real result.
    fn has_tool_call_reason(self) -> bool {
        self >= Self::V1
    }

    /// Returns whether a `CUSTOM` event announces each call that the client has to execute. Clients of 1.0 find these calls in
    /// `pendingToolCallIds`, which clients before 1.0 refuse.
    fn needs_input_events(self) -> bool {
        self < Self::V1
    }

    /// Returns whether the client accepts a run that ends with `outcome`.
    fn accepts(self, outcome: &event::Outcome) -> bool {
        self >= Self::V1 || matches!(outcome, event::Outcome::Interrupt { .. })
    }
}
