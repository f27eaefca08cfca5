//! Where an order goes, or a user lives.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The lines of an address, by name.
///
/// They keep the order in which they were written: the database has the country before the state, an address that came
/// through a tool the state before the country, and results show each as it is.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Address(IndexMap<String, String>);

impl Address {
    /// An address of lines in the order given.
    pub(crate) fn new(lines: [(&str, String); 6]) -> Self {
        Self(lines.into_iter().map(|(name, line)| (name.to_owned(), line)).collect())
    }

    pub(crate) fn zip(&self) -> Option<&str> {
        self.0.get("zip").map(String::as_str)
    }
}
