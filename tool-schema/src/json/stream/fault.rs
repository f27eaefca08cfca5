//! Why a text that arrives is not JSON.

use std::fmt;

use serde_json::Value;

use super::Limits;
use crate::feedback::{Problem, ProblemKind, malformed, one_line};

/// Why a text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Something else was expected.
    Expected(&'static str),
    Range,
    Utf8,
    Depth,
    Bytes,
    End,
}

/// A text that is not JSON, or larger or deeper than is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    fault: Fault,
    got: Option<char>,
    offset: usize,
    limits: Limits,
}

impl Malformed {
    pub(super) fn new(fault: Fault, got: Option<char>, offset: usize, limits: Limits) -> Self {
        Self { fault, got, offset, limits }
    }

    /// Returns how many bytes before the place are right.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns whether the text is right so far and has ended too early.
    pub fn is_cut(&self) -> bool {
        self.fault == Fault::End
    }

    /// Returns the problem, as far as it is known without the text.
    pub fn problem(&self) -> Problem {
        let kind = if matches!(self.fault, Fault::Depth | Fault::Bytes) {
            ProblemKind::TooLarge
        } else {
            ProblemKind::Malformed
        };
        Problem::new("", kind, self.expected()).got(self.place())
    }

    /// Returns the problem with the `text` that was read: with what stands around the place, and the mistake that was
    /// made, if it is one that models make ([`malformed`]).
    ///
    /// ```
    /// use tool_schema::json::Incremental;
    ///
    /// let text = r#"{"metric": True}"#;
    /// let mut json = Incremental::new();
    /// let error = json.feed_str(text).unwrap_err();
    /// assert_eq!(error.to_string(), "expected a value, got `T` at byte 11");
    /// assert_eq!(error.explain(text).suggestion.as_deref(), Some("true"));
    /// ```
    pub fn explain(&self, text: &str) -> Problem {
        match serde_json::from_str::<Value>(text) {
            Err(error) if !matches!(self.fault, Fault::Depth | Fault::Bytes) => malformed(text, &error),
            _ => self.problem(),
        }
    }

    fn expected(&self) -> String {
        match self.fault {
            Fault::Expected(text) => text.to_owned(),
            Fault::Range => "a number that fits 64 bits".to_owned(),
            Fault::Utf8 => "UTF-8".to_owned(),
            Fault::Depth => format!("values that are nested less than {} levels deep", self.limits.depth),
            Fault::Bytes => format!("at most {} bytes", self.limits.bytes),
            Fault::End => "the rest of the JSON".to_owned(),
        }
    }

    fn place(&self) -> String {
        match (self.fault, self.got) {
            (Fault::Utf8, _) => format!("other bytes at byte {}", self.offset),
            (Fault::Bytes, _) => "more".to_owned(),
            (_, Some(got)) => format!("`{}` at byte {}", one_line(got.encode_utf8(&mut [0; 4])), self.offset),
            (_, None) => format!("the end at byte {}", self.offset),
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "expected {}, got {}", self.expected(), self.place())
    }
}

impl std::error::Error for Malformed {}
