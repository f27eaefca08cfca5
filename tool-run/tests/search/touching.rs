//! What the calls of the search touch.

use std::sync::Arc;

use super::world::ARGUMENTS;
use tool_run::tool::Resources;

/// What the calls touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Touching {
    Nothing,
    /// Both write the same.
    Same,
    /// The second writes what the first does when it was edited.
    WhenEdited,
}

impl Touching {
    pub(super) fn of(self, which: usize, text: &str) -> Option<Arc<Resources>> {
        let name = match self {
            Self::Nothing => return None,
            Self::WhenEdited if which == 0 && text == ARGUMENTS => "own",
            _ => "shared",
        };
        Some(Arc::new(Resources::new().writes(name)))
    }
}
