//! One thing that is wrong with the arguments of a call.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::excerpt;
use crate::schema::pointer;

/// How much of a path is shown, in characters.
const LONGEST_PATH: usize = 300;

/// One thing that is wrong with the arguments of a call: where, what was expected, what came, and what may have been meant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Problem {
    /// Where: a JSON Pointer (RFC 6901) into the arguments, such as `/unit` or `/stops/2/city`; empty for the arguments
    /// as a whole.
    pub path: String,
    /// Which kind of mistake it is.
    pub kind: ProblemKind,
    /// The expectation, as a phrase that follows "expected"; for [`ProblemKind::Told`] a sentence.
    pub expected: String,
    /// The given value, shortened where it is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub got: Option<String>,
    /// The known name or value that is nearest to what came. A guess: it is offered, never used in place of what came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// All values that are allowed here, where they are few enough to list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<Value>,
}

/// The kind of a [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProblemKind {
    /// The text is not JSON.
    Malformed,
    /// The arguments are larger or nested deeper than is accepted.
    TooLarge,
    /// A required parameter or field was not given.
    Missing,
    /// A name that the tool does not know.
    Unknown,
    /// A name that was given twice.
    Duplicate,
    /// A value of the wrong JSON type.
    WrongType,
    /// A number outside its declared range.
    OutOfRange,
    /// A text or list that is too short or too long.
    WrongLength,
    /// A text that does not match its declared pattern or format.
    NoMatch,
    /// A value that is not among the allowed ones.
    NotAllowed,
    /// Anything else that the parameter's type refused.
    Invalid,
    /// A sentence of the tool or of one of its checks, in place of an expectation.
    Told,
}

impl Problem {
    /// Returns a problem at `path`, with what was expected there.
    pub fn new(path: impl Into<String>, kind: ProblemKind, expected: impl Into<String>) -> Self {
        Self { path: path.into(), kind, expected: expected.into(), got: None, suggestion: None, allowed: Vec::new() }
    }

    /// Adds what came instead.
    pub fn got(mut self, got: impl Into<String>) -> Self {
        self.got = Some(got.into());
        self
    }

    /// Adds what may have been meant.
    pub fn suggest(mut self, suggestion: Option<String>) -> Self {
        self.suggestion = suggestion;
        self
    }

    /// Adds the values that are allowed.
    pub fn allowed(mut self, allowed: Vec<Value>) -> Self {
        self.allowed = allowed;
        self
    }

    /// Returns the name of the parameter that the problem is in; `None` for the arguments as a whole.
    pub fn parameter(&self) -> Option<String> {
        let first = self.path.strip_prefix('/')?.split('/').next()?;
        Some(pointer::last(first))
    }

    /// Returns the parameter that the problem belongs to; `None` for the call as a whole, as with an unknown name.
    pub fn about(&self) -> Option<String> {
        self.parameter().filter(|_| self.kind != ProblemKind::Unknown || self.is_nested())
    }

    /// Returns `true` for a problem inside the parameter's value.
    pub fn is_nested(&self) -> bool {
        self.path.matches('/').count() > 1
    }

    /// Returns the problem moved below `place`, a JSON Pointer.
    pub fn below(&self, place: &str) -> Cow<'_, Self> {
        if place.is_empty() {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self { path: format!("{place}{}", self.path), ..self.clone() })
    }

    /// Returns the problem without its place, as one sentence.
    pub fn sentence(&self) -> String {
        let mut text = match self.kind {
            ProblemKind::Told => self.expected.clone(),
            ProblemKind::Missing => format!("missing: expected {}", self.expected),
            ProblemKind::Unknown => format!("unknown name: expected {}", self.expected),
            ProblemKind::Duplicate => format!("given more than once: expected {}", self.expected),
            _ => format!("expected {}", self.expected),
        };
        if let Some(got) = &self.got {
            text.push_str(", got ");
            text.push_str(got);
        }
        if let Some(suggestion) = &self.suggestion {
            text.push_str("; did you mean ");
            text.push_str(suggestion);
            text.push('?');
        }
        text
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            out.write_str(&self.sentence())
        } else {
            let path = self.path.trim_start_matches('/').replace('/', ".");
            write!(out, "`{}`: {}", excerpt(&path, LONGEST_PATH), self.sentence())
        }
    }
}
