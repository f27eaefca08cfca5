//! Hooks of an agent around the arguments of its calls.

use std::sync::Arc;

use super::Agent;
use crate::tool::InputHooks;

impl Agent {
    /// Tells `hooks` of the arguments of every call while the model writes them, beside the hooks that the tools have
    /// themselves. Calls of tools that are not on offer are not told.
    pub fn input_hooks(mut self, hooks: impl InputHooks + 'static) -> Self {
        self.input_hooks = Some(Arc::new(hooks));
        self
    }
}
