//! What is known about an agent.

use std::sync::Arc;

use super::Agent;
use crate::run::OnTaint;
use crate::store::Store;
use crate::toolset::Toolset;

impl Agent {
    /// The model's name.
    pub fn model_name(&self) -> &str {
        self.model.name()
    }

    /// The tools on offer.
    pub fn toolset(&self) -> &Toolset {
        &self.tools
    }

    /// Where the runs are kept.
    pub fn stored_in(&self) -> Option<&Arc<dyn Store>> {
        self.store.as_ref()
    }

    /// Whether policies of the agent itself may refuse calls, or ask about them.
    pub fn is_guarded(&self) -> bool {
        self.inspector.has_policies() || self.options.on_taint == OnTaint::Ask
    }
}
