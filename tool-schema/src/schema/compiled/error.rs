//! The reason why a schema cannot be compiled.

use std::fmt;

use crate::feedback::excerpt;

/// The reason why a schema cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError(pub(in crate::schema) String);

impl fmt::Display for CompileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the schema cannot be used: {}", self.0)
    }
}

impl std::error::Error for CompileError {}

/// The maximum number of characters of an untrusted text in an error.
const MAX_SHOWN: usize = 300;

/// Returns an untrusted text on one line, truncated.
pub fn truncate(text: &str) -> String {
    excerpt(text, MAX_SHOWN)
}
