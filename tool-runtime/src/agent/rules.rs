//! Who may call what, and who decides about it.

use std::sync::Arc;

use super::Agent;
use crate::run::{Inspector, Pattern};
use crate::tool::ToolSpec;
use crate::toolset::Policy;

impl Agent {
    /// Puts the calls under `policy`, beside what the tools say themselves and other policies: none can weaken another.
    pub fn policy(mut self, policy: impl Policy) -> Self {
        self.inspector = self.inspector.policy(Arc::new(policy));
        self
    }

    /// Sets which calls a person may allow for the rest of a run, and which others are like them: those with the same
    /// values for the parameters of the pattern. A pattern that does not cover the call itself ([`Pattern::covers`]) is not
    /// offered.
    pub fn offer(
        mut self,
        offer: impl Fn(&ToolSpec, &serde_json::Value) -> Option<Pattern> + Send + Sync + 'static,
    ) -> Self {
        self.inspector = self.inspector.offer(Arc::new(offer));
        self
    }

    /// Sets who may approve or execute a call in place of the run's owner: from the tool and the arguments. Where nobody is
    /// named, it is the owner. A front that attends is asked only about what the owner may decide; the others use
    /// [`Agent::decide`], and [`Waiting`](crate::store::Waiting) lists what waits for them.
    pub fn deciders(
        mut self,
        deciders: impl Fn(&ToolSpec, &serde_json::Value) -> Vec<crate::run::Principal> + Send + Sync + 'static,
    ) -> Self {
        self.inspector = self.inspector.deciders(Arc::new(deciders));
        self
    }

    /// `inspector` with the policies of this agent.
    pub(super) fn inspect_with(&self, inspector: Inspector) -> Inspector {
        inspector.rules_of(&self.inspector)
    }
}
