//! Incremental reading of JSON that arrives piece by piece.

mod scalar;
#[cfg(test)]
mod tests;
mod walk;

use std::fmt;

use serde_json::Value;

use crate::feedback::{Problem, ProblemKind, explain_syntax_error, one_line};
use scalar::Input;
use walk::{Notify, Walk};
pub use walk::{Path, Segment, ValueChange};

/// The maximum depth of a value, including the list around the outermost value. `serde_json` has the same maximum.
const MAX_DEPTH: usize = 128;

/// The maximum size of a text, in bytes. A value can take many times the memory of its text: 72 bytes for each `0,`.
const MAX_BYTES: usize = 16 << 20;

/// A JSON text of at most 16 MiB that arrives piece by piece, and the value so far.
///
/// The text may be cut anywhere: in a number, in an escape, between the halves of a surrogate pair, or inside a UTF-8 character.
/// Each piece is read once, and updates the value in place. Its cost depends on its length and depth, not on earlier pieces.
/// Wherever a text is cut, the final value equals the value that `serde_json` reads from the whole text. Within the maximum
/// size, a text is an error here if and only if `serde_json` rejects it.
///
/// # The value so far
///
/// [`IncrementalJson::value`] is the value of the text so far, and contains nothing that has not arrived:
///
/// - An entry of an object is present as soon as its value has begun; a name alone is not.
/// - A string is present up to its last complete character, a number up to its last digit (at most 308 characters).
/// - `true`, `false` and `null` are present from their first letter on.
/// - Half a surrogate pair is not present before the other half.
/// - Before anything has begun, there is no value.
///
/// Only the latest value and the values around it may be incomplete. [`ValueChange::Closed`] reports that a value is complete.
///
/// ```
/// use serde_json::json;
/// use tool_schema::json::IncrementalJson;
///
/// let mut json = IncrementalJson::new();
/// json.feed_str(r#"{"city": "Ber"#)?;
/// assert_eq!(json.value(), Some(&json!({"city": "Ber"})));
/// json.feed_str(r#"lin", "days": 1"#)?;
/// assert_eq!(json.value(), Some(&json!({"city": "Berlin", "days": 1})));
/// json.feed_str("2}")?;
/// assert_eq!(json.finish()?, json!({"city": "Berlin", "days": 12}));
/// # Ok::<(), tool_schema::json::SyntaxError>(())
/// ```
#[derive(Debug)]
pub struct IncrementalJson {
    /// A list that is empty or contains the outermost value. So this value is read like any item.
    document: Value,
    walk: Walk,
    /// The first bytes of an incomplete character.
    cut: Vec<u8>,
    /// The number of bytes that were read, up to the first wrong one.
    offset: usize,
    error: Option<SyntaxError>,
}

impl Default for IncrementalJson {
    fn default() -> Self {
        Self::new()
    }
}

impl IncrementalJson {
    /// Creates a reader of a text of which nothing has arrived.
    pub fn new() -> Self {
        let document = Value::Array(Vec::new());
        Self { document, walk: Walk::new(), cut: Vec::new(), offset: 0, error: None }
    }

    /// Reads the next piece.
    ///
    /// Fails as soon as the text cannot become JSON, or exceeds a limit. The range of a number is checked when the number ends.
    /// The value keeps everything before the error. After an error, nothing more is read: each further piece and
    /// [`IncrementalJson::finish`] return the same error.
    #[inline]
    pub fn feed(&mut self, piece: &[u8]) -> Result<(), SyntaxError> {
        self.read_bytes(piece, None)
    }

    /// Reads the next piece, which is UTF-8. Fails like [`feed`](Self::feed).
    #[inline]
    pub fn feed_str(&mut self, piece: &str) -> Result<(), SyntaxError> {
        self.read_text(piece, None)
    }

    /// Reads the next piece and reports its changes in order. Fails like [`feed`](Self::feed).
    ///
    /// ```
    /// use tool_schema::json::IncrementalJson;
    ///
    /// let mut json = IncrementalJson::new();
    /// let mut changes = Vec::new();
    /// for piece in [r#"{"stops": ["Ber"#, r#"lin"]}"#] {
    ///     json.feed_str_with(piece, &mut |path, change| changes.push(format!("{path} {change:?}")))?;
    /// }
    /// assert_eq!(
    ///     changes,
    ///     [
    ///         r#" Set(Object {})"#,
    ///         r#"/stops Set(Array [])"#,
    ///         r#"/stops/0 Set(String("Ber"))"#,
    ///         r#"/stops/0 Append("lin")"#,
    ///         r#"/stops/0 Closed"#,
    ///         r#"/stops Closed"#,
    ///         r#" Closed"#,
    ///     ]
    /// );
    /// # Ok::<(), tool_schema::json::SyntaxError>(())
    /// ```
    pub fn feed_str_with(
        &mut self,
        piece: &str,
        notify: &mut dyn FnMut(Path<'_>, ValueChange<'_>),
    ) -> Result<(), SyntaxError> {
        self.read_text(piece, Some(notify))
    }

    /// Reads the next piece, which may end inside a character, and reports its changes. Fails like [`feed`](Self::feed).
    pub fn feed_with(
        &mut self,
        piece: &[u8],
        notify: &mut dyn FnMut(Path<'_>, ValueChange<'_>),
    ) -> Result<(), SyntaxError> {
        self.read_bytes(piece, Some(notify))
    }

    /// Returns the value so far, or `None` if no value has begun.
    #[inline]
    pub fn value(&self) -> Option<&Value> {
        match &self.document {
            Value::Array(list) => list.first(),
            _ => None,
        }
    }

    /// Returns the place of the latest value. That value and those around it are not complete.
    ///
    /// Returns `None` if the outermost value is complete. A number is complete when something follows it.
    pub fn place(&self) -> Option<Path<'_>> {
        (!self.walk.is_complete()).then(|| Path(self.walk.place()))
    }

    /// Returns whether the outermost value is complete, so that only white space may follow.
    pub fn is_complete(&self) -> bool {
        self.walk.is_complete()
    }

    /// Returns the number of valid bytes so far, without an incomplete character.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the error of the text, if it has one already.
    pub fn error(&self) -> Option<&SyntaxError> {
        self.error.as_ref()
    }

    /// Ends the text, and returns its value. Fails if the text is not complete, or has an error already.
    pub fn finish(mut self) -> Result<Value, SyntaxError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if !self.cut.is_empty() {
            return Err(self.fail(Fault::End, None));
        }
        if let Err(fault) = self.walk.end(&mut self.document) {
            return Err(self.fail(fault, None));
        }
        match self.document {
            Value::Array(mut list) => Ok(list.pop().unwrap_or_default()),
            _ => unreachable!("the document is a list"),
        }
    }

    fn read_bytes(&mut self, piece: &[u8], notify: Notify<'_>) -> Result<(), SyntaxError> {
        let joined = (!self.cut.is_empty()).then(|| [&std::mem::take(&mut self.cut), piece].concat());
        let piece = joined.as_deref().unwrap_or(piece);
        match str::from_utf8(piece) {
            Ok(text) => self.read_str(text, notify),
            Err(error) => {
                let (text, rest) = piece.split_at(error.valid_up_to());
                self.read_str(str::from_utf8(text).unwrap_or_default(), notify)?;
                if error.error_len().is_some() {
                    return Err(self.fail(Fault::Utf8, None));
                }
                self.cut = rest.to_vec();
                Ok(())
            }
        }
    }

    #[inline]
    fn read_text(&mut self, piece: &str, notify: Notify<'_>) -> Result<(), SyntaxError> {
        if self.cut.is_empty() { self.read_str(piece, notify) } else { self.read_bytes(piece.as_bytes(), notify) }
    }

    /// Reads complete characters.
    fn read_str(&mut self, piece: &str, mut notify: Notify<'_>) -> Result<(), SyntaxError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let room = MAX_BYTES - self.offset;
        let fitting = if piece.len() > room { &piece[..piece.floor_char_boundary(room)] } else { piece };
        let mut input = Input::new(fitting);
        let result = self.walk.read(&mut self.document, &mut input, &mut notify);
        self.offset += input.offset();
        match result {
            Err(fault) => Err(self.fail(fault, input.character())),
            Ok(()) if piece.len() > room => Err(self.fail(Fault::Bytes, None)),
            Ok(()) => Ok(()),
        }
    }

    /// Keeps the first error, and returns it.
    #[cold]
    fn fail(&mut self, fault: Fault, got: Option<char>) -> SyntaxError {
        *self.error.get_or_insert(SyntaxError { fault, got, offset: self.offset })
    }
}

/// The reason why a text is not JSON.
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

/// The error for a text that is not JSON, too large or nested too deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    fault: Fault,
    got: Option<char>,
    offset: usize,
}

impl SyntaxError {
    /// Returns the number of valid bytes before the error.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns whether the text is valid so far, but ended too early.
    pub fn is_cut(&self) -> bool {
        self.fault == Fault::End
    }

    /// Returns the problem without the details that need the text.
    pub fn problem(&self) -> Problem {
        let kind = if matches!(self.fault, Fault::Depth | Fault::Bytes) {
            ProblemKind::TooLarge
        } else {
            ProblemKind::Malformed
        };
        Problem::new("", kind, self.expected()).got(self.describe_got())
    }

    /// Returns the problem with details from `text`, which must be the text that was read. The details are the text around the
    /// place and, if recognized, the typical mistake of models ([`explain_syntax_error`]).
    ///
    /// ```
    /// use tool_schema::json::IncrementalJson;
    ///
    /// let text = r#"{"metric": True}"#;
    /// let mut json = IncrementalJson::new();
    /// let error = json.feed_str(text).unwrap_err();
    /// assert_eq!(error.to_string(), "expected a value, got `T` at byte 11");
    /// assert_eq!(error.explain(text).suggestion.as_deref(), Some("true"));
    /// ```
    pub fn explain(&self, text: &str) -> Problem {
        match serde_json::from_str::<Value>(text) {
            Err(error) if !matches!(self.fault, Fault::Depth | Fault::Bytes) => explain_syntax_error(text, &error),
            _ => self.problem(),
        }
    }

    fn expected(&self) -> String {
        match self.fault {
            Fault::Expected(text) => text.to_owned(),
            Fault::Range => "a number that fits 64 bits".to_owned(),
            Fault::Utf8 => "UTF-8".to_owned(),
            Fault::Depth => format!("values that are nested less than {MAX_DEPTH} levels deep"),
            Fault::Bytes => format!("at most {MAX_BYTES} bytes"),
            Fault::End => "the rest of the JSON".to_owned(),
        }
    }

    fn describe_got(&self) -> String {
        match (self.fault, self.got) {
            (Fault::Utf8, _) => format!("other bytes at byte {}", self.offset),
            (Fault::Bytes, _) => "more".to_owned(),
            (_, Some(got)) => format!("`{}` at byte {}", one_line(got.encode_utf8(&mut [0; 4])), self.offset),
            (_, None) => format!("the end at byte {}", self.offset),
        }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "expected {}, got {}", self.expected(), self.describe_got())
    }
}

impl std::error::Error for SyntaxError {}
