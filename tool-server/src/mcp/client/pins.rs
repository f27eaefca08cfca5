//! The definitions of a server's tools that were accepted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tool_run::run::Digest;

use super::definition::Definition;

/// The digests of the definitions that were accepted, by the server's names. A digest covers the whole definition, texts
/// included: the model goes by the description, so a server could use it to mislead the model. To be kept with the application's
/// configuration, as JSON for example: then a server that has changed while the program was not running is found out, too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pins(BTreeMap<String, Digest>);

impl Pins {
    /// Returns pins that accept all definitions as they are.
    pub(super) fn of(offered: &[Definition]) -> Self {
        Self(offered.iter().map(|definition| (definition.remote.clone(), definition.digest)).collect())
    }

    pub(super) fn accept(&mut self, change: &Change) {
        match change.now {
            Some(digest) => drop(self.0.insert(change.tool.clone(), digest)),
            None => drop(self.0.remove(&change.tool)),
        }
    }

    pub(super) fn holds(&self, definition: &Definition) -> bool {
        self.0.get(&definition.remote) == Some(&definition.digest)
    }

    /// Returns the differences between the offered and the accepted definitions.
    pub(super) fn changes(&self, offered: &[Definition]) -> Vec<Change> {
        let changed = offered.iter().filter(|definition| !self.holds(definition)).map(|definition| Change {
            tool: definition.remote.clone(),
            is_new: !self.0.contains_key(&definition.remote),
            now: Some(definition.digest),
            definition: Some(definition.shown()),
        });
        let is_offered = |name: &String| offered.iter().any(|definition| definition.remote == *name);
        let gone = self.0.keys().filter(|name| !is_offered(name));
        let gone = gone.map(|name| Change { tool: name.clone(), is_new: false, now: None, definition: None });
        changed.chain(gone).collect()
    }
}

/// A tool whose definition is not the accepted one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The server's name for it; it may hold anything.
    pub tool: String,
    /// True if it was not there at all.
    pub is_new: bool,
    /// The digest of what it is now; `None` where it is not offered any more.
    pub now: Option<Digest>,
    /// The definition as it is now, for the person who decides: all of it, with nothing that fools the eye.
    pub definition: Option<String>,
}
