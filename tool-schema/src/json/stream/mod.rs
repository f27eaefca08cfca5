//! JSON that arrives piece by piece.

mod change;
mod fault;
mod input;
mod number;
mod place;
mod plain;
mod scalar;
#[cfg(test)]
mod tests;
mod text;
mod utf8;
mod walk;

use serde_json::Value;

pub use change::{Change, Path, Segment};
use change::{Listener, Nobody, Told};
use fault::Fault;
pub use fault::Malformed;
use input::Input;
use utf8::Cut;
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
/// It is what the text says if nothing more comes, and nothing is in it that has not been said:
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
    cut: Cut,
    /// How many bytes were read, up to the first that is wrong.
    read: usize,
    limits: Limits,
    failed: Option<Malformed>,
}

/// How much an [`Incremental`] takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Lists and objects are nested less than so many levels deep. At first 128, which is what `serde_json` takes, and the most
    /// that can be set.
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
    /// A text of which nothing has arrived.
    pub fn new() -> Self {
        Self::with_limits(Limits::default())
    }

    /// The same, with other limits.
    pub fn with_limits(limits: Limits) -> Self {
        // Each level that is open takes some of the thread's stack.
        let limits = Limits { depth: limits.depth.min(Limits::default().depth), ..limits };
        Self {
            document: Value::Array(Vec::new()),
            walk: Walk::new(limits.depth),
            cut: Cut::default(),
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
        self.bytes(piece, &mut Nobody)
    }

    /// Reads the next piece, which is known to be UTF-8.
    #[inline]
    pub fn feed_str(&mut self, piece: &str) -> Result<(), Malformed> {
        self.text(piece, &mut Nobody)
    }

    /// Reads the next piece and tells what it changes, in the order in which it does.
    ///
    /// ```
    /// use tool_schema::json::Incremental;
    ///
    /// let mut json = Incremental::new();
    /// let mut told = Vec::new();
    /// for piece in [r#"{"stops": ["Ber"#, r#"lin"]}"#] {
    ///     json.feed_str_with(piece, &mut |path, change| told.push(format!("{path} {change:?}")))?;
    /// }
    /// assert_eq!(
    ///     told,
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
        self.text(piece, &mut Told(tell))
    }

    /// Reads the next piece, of which nothing is known, and tells what it changes.
    pub fn feed_with(&mut self, piece: &[u8], tell: &mut dyn FnMut(Path<'_>, Change<'_>)) -> Result<(), Malformed> {
        self.bytes(piece, &mut Told(tell))
    }

    /// The value so far.
    #[inline]
    pub fn value(&self) -> Option<&Value> {
        match &self.document {
            Value::Array(list) => list.first(),
            _ => None,
        }
    }

    /// The place that the text stands at: the value there, and those around it, are not complete.
    ///
    /// `None` when the outermost value is complete. Of a number nobody knows whether it is before something follows.
    pub fn place(&self) -> Option<Path<'_>> {
        (!self.walk.is_complete()).then(|| Path(self.walk.place()))
    }

    /// Whether the outermost value is complete, so that nothing but white space may follow.
    pub fn is_complete(&self) -> bool {
        self.walk.is_complete()
    }

    /// How many bytes were right so far, but for a character that is not whole yet.
    pub fn offset(&self) -> usize {
        self.read
    }

    /// What is wrong with the text, if it is known already.
    pub fn error(&self) -> Option<&Malformed> {
        self.failed.as_ref()
    }

    /// Says that the text has ended: the value, the same that `serde_json` reads from the whole text.
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

    fn bytes<L: Listener>(&mut self, mut piece: &[u8], listener: &mut L) -> Result<(), Malformed> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        if !self.cut.is_empty() {
            match self.cut.complete(&mut piece) {
                Ok(None) => return Ok(()),
                Ok(Some(character)) => self.text(character.encode_utf8(&mut [0; 4]), listener)?,
                Err(_) => return Err(self.fail(Fault::Utf8, None)),
            }
        }
        let (text, rest) = self.cut.text(piece);
        self.whole(text, listener)?;
        rest.map_err(|_| self.fail(Fault::Utf8, None))
    }

    #[inline]
    fn text<L: Listener>(&mut self, piece: &str, listener: &mut L) -> Result<(), Malformed> {
        if self.cut.is_empty() { self.whole(piece, listener) } else { self.bytes(piece.as_bytes(), listener) }
    }

    /// Reads whole characters.
    fn whole<L: Listener>(&mut self, piece: &str, listener: &mut L) -> Result<(), Malformed> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let room = self.limits.bytes - self.read;
        let taken = if piece.len() > room { &piece[..piece.floor_char_boundary(room)] } else { piece };
        let mut input = Input::new(taken);
        let result = self.walk.go_on(&mut self.document, &mut input, listener);
        self.read += input.read();
        match result {
            Err(fault) => Err(self.fail(fault, input.character())),
            Ok(()) if piece.len() > room => Err(self.fail(Fault::Bytes, None)),
            Ok(()) => Ok(()),
        }
    }

    /// The first error stays.
    #[cold]
    fn fail(&mut self, fault: Fault, got: Option<char>) -> Malformed {
        *self.failed.get_or_insert(Malformed::new(fault, got, self.read, self.limits))
    }
}
