//! The conversation that a single call stands in: what the agent is told, and that somebody asks for the call.

use std::sync::{Arc, OnceLock};

use crate::agent::{Agent, direct};
use crate::message::Message;
use crate::toolset::Toolset;

/// What is said before a call of each tool, in the order of the tools. It is the same for all calls of a tool, so it is made
/// once.
#[derive(Clone, Default)]
pub(in crate::agent) struct Openings(Arc<[OnceLock<Arc<Vec<Message>>>]>);

impl Openings {
    /// Nothing is said yet.
    pub(in crate::agent) fn of(tools: &Toolset) -> Self {
        Self(tools.iter().map(|_| OnceLock::new()).collect())
    }
}

impl Agent {
    /// What is said before a call of the tool `name`, which is the one at `at`.
    pub(super) fn opening(&self, at: usize, name: &str) -> Arc<Vec<Message>> {
        let said = || {
            let system = self.instructions.as_deref().map(Message::system);
            Arc::new(system.into_iter().chain([Message::User { content: direct::said(name) }]).collect())
        };
        self.openings.0.get(at).map_or_else(said, |made| Arc::clone(made.get_or_init(said)))
    }
}
