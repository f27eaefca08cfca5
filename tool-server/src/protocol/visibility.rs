//! The part of each tool's calls that clients see.

use std::{fmt, sync::Arc};

use tool_runtime::ToolSpec;

/// The part of a tool's calls that clients see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Visibility {
    /// The call with its arguments, and its result.
    #[default]
    Shown,
    /// The call with its arguments. An empty text replaces the result, so that the client does not wait for it. For clients of
    /// the AI SDK, a general text replaces an error.
    WithoutResult,
    /// Nothing except interrupts, because a person has to decide them. The AI SDK shows an interrupt at its call, so its clients
    /// see such a call, without its result.
    Hidden,
}

/// A function that selects what clients see of each tool. A tool whose `meta` has `"hidden": true` is always
/// [`Visibility::Hidden`].
#[derive(Clone)]
pub(crate) struct VisibilityRule(Arc<dyn Fn(&ToolSpec) -> Visibility + Send + Sync>);

impl VisibilityRule {
    pub(crate) fn new(rule: impl Fn(&ToolSpec) -> Visibility + Send + Sync + 'static) -> Self {
        Self(Arc::new(rule))
    }

    pub(crate) fn of(&self, spec: &ToolSpec) -> Visibility {
        if spec.is_hidden() { Visibility::Hidden } else { (self.0)(spec) }
    }
}

impl Default for VisibilityRule {
    fn default() -> Self {
        Self::new(|_| Visibility::Shown)
    }
}

impl fmt::Debug for VisibilityRule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("VisibilityRule")
    }
}
