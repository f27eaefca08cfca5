//! How an agent appears to those who watch many.

use std::sync::Arc;

use super::Agent;

/// What traces say of an agent.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    pub(super) name: Option<Arc<str>>,
    #[cfg(feature = "tracing")]
    pub(super) content: bool,
}

impl Agent {
    /// Sets the agent's name, for traces and logs.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.observed.name = Some(name.into().into());
        self
    }

    /// Sets whether traces hold what was said: instructions, messages, the tools' definitions, arguments and outputs. No at
    /// first. Parameters marked `#[arg(secret)]` are in none of these.
    #[cfg(feature = "tracing")]
    pub fn trace_content(mut self, on: bool) -> Self {
        self.observed.content = on;
        self
    }
}
