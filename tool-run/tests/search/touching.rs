//! The resources of the calls in the search.

use std::sync::Arc;

use super::world::ARGUMENTS;
use tool_run::tool::TouchedResources;

/// The relation between the resources of the two calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Touching {
    /// The calls touch no resources.
    Nothing,
    /// Both calls write the same resource.
    Same,
    /// The first call writes a resource of its own, until an edit makes it write the resource of the second call.
    WhenEdited,
}

impl Touching {
    /// Returns the resources of the call at `which` with these arguments.
    pub(super) fn of(self, which: usize, text: &str) -> Option<Arc<TouchedResources>> {
        let name = match self {
            Self::Nothing => return None,
            Self::WhenEdited if which == 0 && text == ARGUMENTS => "own",
            _ => "shared",
        };
        Some(Arc::new(TouchedResources::new().writes(name)))
    }
}
