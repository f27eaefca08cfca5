//! What lowering could not keep.

use std::collections::HashSet;

/// Something that a dialect cannot say.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// Where in the neutral schema: a JSON Pointer.
    pub path: String,
    /// The keyword that was left out or changed.
    pub keyword: String,
    /// How much it matters.
    pub severity: Severity,
    /// What became of it.
    pub note: String,
}

/// How much a [`Loss`] matters, from little to much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Only words for the reader went, such as a default or an example. What is valid is the same.
    Annotation,
    /// The lowered schema accepts more. Our decoder still refuses what the neutral schema refuses.
    Weakened,
    /// The lowered schema accepts less: some valid arguments cannot be sent by a model that keeps to it.
    Narrowed,
    /// The lowered schema has only a stand-in here. A provider must not be asked to keep to it strictly.
    Inexpressible,
}

/// The losses of one lowering, each place and keyword once.
#[derive(Debug, Default)]
pub(super) struct Losses {
    seen: HashSet<(String, String, Severity)>,
    list: Vec<Loss>,
}

/// A schema made by a stranger could lose a lot: the list ends here.
const MOST: usize = 1_000;

impl Losses {
    pub(super) fn add(&mut self, path: &str, keyword: &str, severity: Severity, note: impl Into<String>) {
        if self.list.len() < MOST && self.seen.insert((path.to_owned(), keyword.to_owned(), severity)) {
            let (path, keyword, note) = (path.to_owned(), keyword.to_owned(), note.into());
            self.list.push(Loss { path, keyword, severity, note });
        }
    }

    pub(super) fn into_vec(self) -> Vec<Loss> {
        self.list
    }
}
