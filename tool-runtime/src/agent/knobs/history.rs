//! How much of a long conversation a model gets to see.

use super::super::Agent;
use crate::message::Prune;

impl Agent {
    /// Sets what of the conversation is left out when a model is asked. The run keeps all of it.
    ///
    /// Every change to what was sent before costs the provider's cache of it, so a conversation is best pruned rarely and
    /// much: see [`Prune`].
    pub fn prune(mut self, prune: Prune) -> Self {
        self.knobs.prune = Some(prune);
        self
    }
}
