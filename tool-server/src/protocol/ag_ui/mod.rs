//! AG-UI, as clients of 1.0 and of 0.x speak it: what happens in a run as events, and what clients ask for.
//!
//! A [`RunInput`] is read from a request, a [`Plan`] holds the part of it that the server accepts, and a [`Writer`] writes the
//! run's events as frames. All of it is pure.

mod event;
mod frontend;
mod input;
mod plan;
mod stream;
mod tools;

pub use event::Object;
pub use frontend::{Frontend, StateError};
pub use input::{
    ClientTool, Content, ContentPart, ContextEntry, InputMessage, Malformed, MessageCall, ResumeEntry, ResumeStatus,
    RunInput, Source,
};
pub use plan::{Base, NewPrompt, Plan};
pub use stream::{Visibility, Writer};
pub use tools::{Check, ClientToolError, ClientTools};

/// The version of the protocol that is spoken here.
pub const VERSION: &str = "1.0";

/// The versions of the protocol, by the features that a client knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// Clients before 1.0. They do not say which version they speak, and refuse what came with 1.0.
    #[default]
    V0,
    /// Clients of 1.0 and later.
    V1,
}

impl Level {
    /// Returns the level of a client that speaks this version.
    pub fn of(version: Option<&str>) -> Self {
        let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
        if major.is_some_and(|major| major >= 1) { Self::V1 } else { Self::V0 }
    }

    /// Returns `true` if results may be lists of parts.
    fn has_parts(self) -> bool {
        self >= Self::V1
    }

    /// Returns `true` if the client accepts a run that ends like this.
    fn takes(self, outcome: &event::Outcome) -> bool {
        self >= Self::V1 || matches!(outcome, event::Outcome::Interrupt { .. })
    }
}
