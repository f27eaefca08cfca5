//! JSON that arrives piece by piece.

mod change;
mod fault;
mod number;
#[cfg(test)]
mod tests;
mod text;
mod walk;

use serde_json::Value;

use change::Tell;
pub use change::{Change, Path, Segment};
use fault::Fault;
pub use fault::Malformed;
use text::Input;
use walk::Walk;

/// A JSON text that arrives piece by piece, and the value so far.
///
/// The pieces may be cut anywhere: in a number, an escape, between the halves of a surrogate pair, in the middle of a UTF-8
/// character. Each is read once, and the value is kept up to date in place: what a piece costs depends on its own length
/// and on how deep it stands, not on what came before. However a text is cut, the value in the end is what `serde_json`
/// reads from the whole, and an error is one there too.
///
/// # The value so far
///
/// It is what the text says if nothing more comes, and nothing is in it that has not arrived:
///
/// - An entry of an object is there as soon as its value has begun; a name alone is not.
/// - A text is there up to its last whole character, a number up to its last digit.
/// - `true`, `false` and `null` are there from their first letter on.
/// - Half a surrogate pair is not there before the other half.
/// - Before anything has begun, there is no value.
///
/// So it is a whole `Value` at any time; what is not complete in it is on the way to what came last ([`Change::Closed`]).
///
/// ```
/// use serde_json::json;
/// use tool_schema::json::Incremental;
///
/// let mut json = Incremental::new();
/// json.feed_str(r#"{"city": "Ber"#)?;
/// assert_eq!(json.value(), Some(&json!({"city": "Ber"})));
/// json.feed_str(r#"lin", "days": 1"#)?;
/// assert_eq!(json.value(), Some(&json!({"city": "Berlin", "days": 1})));
/// json.feed_str("2}")?;
/// assert_eq!(json.finish()?, json!({"city": "Berlin", "days": 12}));
/// # Ok::<(), tool_schema::json::Malformed>(())
/// ```
#[derive(Debug)]
pub struct Incremental {
    /// A list: empty, or of the outermost value. So the outermost value is read like any item.
    document: Value,
    walk: Walk,
    /// The first bytes of a character whose others are still to come.
    cut: Vec<u8>,
    /// How many bytes were read, up to the first that is wrong.
    read: usize,
    limits: Limits,
    failed: Option<Malformed>,
}

/// How much an [`Incremental`] takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Lists and objects are nested less than so many levels deep. At first 128, which is what `serde_json` takes, and
    /// the most that can be set.
    pub depth: usize,
    /// The most bytes of text. At first 16 MiB. A value can take many times the memory of its text: 72 bytes for each `0,`.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 128, bytes: 16 << 20 }
    }
}

impl Default for Incremental {
    fn default() -> Self {
        Self::new()
    }
}

impl Incremental {
    /// Returns a text of which nothing has arrived.
    pub fn new() -> Self {
        Self::with_limits(Limits::default())
    }

    /// Returns an empty text with these limits.
    pub fn with_limits(limits: Limits) -> Self {
        // Each level that is open takes some of the thread's stack.
        let limits = Limits { depth: limits.depth.min(Limits::default().depth), ..limits };
        Self {
            document: Value::Array(Vec::new()),
            walk: Walk::new(limits.depth),
            cut: Vec::new(),
            read: 0,
            limits,
            failed: None,
        }
    }

    /// Reads the next piece.
    ///
    /// It is an error as soon as the text cannot become JSON any more, whatever follows, or is more than the limits allow;
    /// whether a number is in range is known when it ends. What was right before that place stays in the value. The error
    /// stays: whatever else comes is not read, and each further piece and [`Incremental::finish`] give it again.
    #[inline]
    pub fn feed(&mut self, piece: &[u8]) -> Result<(), Malformed> {
        self.bytes(piece, None)
    }

    /// Reads the next piece, which is known to be UTF-8.
    #[inline]
    pub fn feed_str(&mut self, piece: &str) -> Result<(), Malformed> {
        self.text(piece, None)
    }

    /// Reads the next piece and reports its changes in order.
    ///
    /// ```
    /// use tool_schema::json::Incremental;
    ///
    /// let mut json = Incremental::new();
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
    /// # Ok::<(), tool_schema::json::Malformed>(())
    /// ```
    pub fn feed_str_with(&mut self, piece: &str, tell: &mut dyn FnMut(Path<'_>, Change<'_>)) -> Result<(), Malformed> {
        self.text(piece, Some(tell))
    }

    /// Reads the next piece, which need not be UTF-8, and reports its changes.
    pub fn feed_with(&mut self, piece: &[u8], tell: &mut dyn FnMut(Path<'_>, Change<'_>)) -> Result<(), Malformed> {
        self.bytes(piece, Some(tell))
    }

    /// Returns the value so far.
    #[inline]
    pub fn value(&self) -> Option<&Value> {
        match &self.document {
            Value::Array(list) => list.first(),
            _ => None,
        }
    }

    /// Returns the place that the text stands at: the value there, and those around it, are not complete.
    ///
    /// `None` when the outermost value is complete. A number is complete when something follows.
    pub fn place(&self) -> Option<Path<'_>> {
        (!self.walk.is_complete()).then(|| Path(self.walk.place()))
    }

    /// Returns whether the outermost value is complete, so that nothing but white space may follow.
    pub fn is_complete(&self) -> bool {
        self.walk.is_complete()
    }

    /// Returns how many bytes were right so far, but for a character that is not whole yet.
    pub fn offset(&self) -> usize {
        self.read
    }

    /// Returns the error of the text, if it has one already.
    pub fn error(&self) -> Option<&Malformed> {
        self.failed.as_ref()
    }

    /// Ends the text. Returns the value that `serde_json` reads from the whole of it.
    pub fn finish(mut self) -> Result<Value, Malformed> {
        if let Some(failed) = self.failed {
            return Err(failed);
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

    fn bytes(&mut self, piece: &[u8], tell: Tell<'_>) -> Result<(), Malformed> {
        let joined = (!self.cut.is_empty()).then(|| [&std::mem::take(&mut self.cut), piece].concat());
        let piece = joined.as_deref().unwrap_or(piece);
        match str::from_utf8(piece) {
            Ok(text) => self.whole(text, tell),
            Err(error) => {
                let (text, rest) = piece.split_at(error.valid_up_to());
                self.whole(str::from_utf8(text).unwrap_or_default(), tell)?;
                if error.error_len().is_some() {
                    return Err(self.fail(Fault::Utf8, None));
                }
                self.cut = rest.to_vec();
                Ok(())
            }
        }
    }

    #[inline]
    fn text(&mut self, piece: &str, tell: Tell<'_>) -> Result<(), Malformed> {
        if self.cut.is_empty() { self.whole(piece, tell) } else { self.bytes(piece.as_bytes(), tell) }
    }

    /// Reads whole characters.
    fn whole(&mut self, piece: &str, mut tell: Tell<'_>) -> Result<(), Malformed> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let room = self.limits.bytes - self.read;
        let taken = if piece.len() > room { &piece[..piece.floor_char_boundary(room)] } else { piece };
        let mut input = Input::new(taken);
        let result = self.walk.go_on(&mut self.document, &mut input, &mut tell);
        self.read += input.read();
        match result {
            Err(fault) => Err(self.fail(fault, input.character())),
            Ok(()) if piece.len() > room => Err(self.fail(Fault::Bytes, None)),
            Ok(()) => Ok(()),
        }
    }

    /// Returns the error, which is the first one.
    #[cold]
    fn fail(&mut self, fault: Fault, got: Option<char>) -> Malformed {
        *self.failed.get_or_insert(Malformed::new(fault, got, self.read, self.limits))
    }
}
