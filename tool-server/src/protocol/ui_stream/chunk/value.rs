//! What fields of chunks are made of.

use serde_json::Value;

/// A JSON value on its way into a chunk.
#[derive(Clone, Copy, Debug)]
pub enum Json<'a> {
    /// As its text, which must be JSON.
    Text(&'a str),
    /// As a value.
    Value(&'a Value),
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// The model said all it wanted to say.
    Stop,
    /// The model hit its size limit.
    Length,
    /// A content filter cut it.
    ContentFilter,
    /// Calls wait for somebody, or the steps are used up.
    ToolCalls,
    /// Something failed.
    Error,
    /// It was interrupted; told as `other` to clients of level 6.
    Interrupted,
    /// Anything else.
    Other,
}
