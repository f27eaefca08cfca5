//! Why a text that arrives is not JSON.

use std::fmt;

use serde_json::Value;

use super::Limits;
use crate::feedback::{Problem, ProblemKind, malformed, one_line};

/// What was expected where the text is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Value,
    ItemOrEnd,
    NameOrEnd,
    Name,
    Colon,
    CommaOrBrace,
    CommaOrBracket,
    Nothing,
    Literal,
    Digit,
    LeadingZero,
    Range,
    Control,
    Escape,
    Hexadecimal,
    Surrogates,
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

    /// How many bytes before the place are right.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Whether nothing is wrong but that the text has ended too early.
    pub fn is_cut(&self) -> bool {
        self.fault == Fault::End
    }

    /// The problem, as far as it can be told without the text.
    pub fn problem(&self) -> Problem {
        let kind = if matches!(self.fault, Fault::Depth | Fault::Bytes) {
            ProblemKind::TooLarge
        } else {
            ProblemKind::Malformed
        };
        Problem::new("", kind, self.expected()).got(self.place())
    }

    /// The problem, told with the `text` that was read: with what stands around the place, and the mistake that was made, if
    /// it is one that models make ([`malformed`]).
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
            Fault::Value => "a value".to_owned(),
            Fault::ItemOrEnd => "a value or `]`".to_owned(),
            Fault::NameOrEnd => "a name in double quotes or `}`".to_owned(),
            Fault::Name => "a name in double quotes".to_owned(),
            Fault::Colon => "a colon between name and value".to_owned(),
            Fault::CommaOrBrace => "a comma or `}`".to_owned(),
            Fault::CommaOrBracket => "a comma or `]`".to_owned(),
            Fault::Nothing => "nothing after the JSON".to_owned(),
            Fault::Literal => "one of the words true, false and null".to_owned(),
            Fault::Digit => "a digit".to_owned(),
            Fault::LeadingZero => "a number without leading zeros".to_owned(),
            Fault::Range => "a number that fits 64 bits".to_owned(),
            Fault::Control => "control characters in a text escaped".to_owned(),
            Fault::Escape => "one of the escapes of JSON".to_owned(),
            Fault::Hexadecimal => "four hexadecimal digits after `\\u`".to_owned(),
            Fault::Surrogates => "both halves of a surrogate pair".to_owned(),
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
