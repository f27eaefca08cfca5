//! What a value begins with, and scalars as a whole. Nothing here depends on the type that is read.

use std::borrow::Cow;

use serde::de::{Deserialize, Error as _, Expected, IgnoredAny, Unexpected};
use serde_json::{Deserializer, Error};

use super::{super::plain::plain, Source, number::Number};

impl<'de> Source<'de> {
    /// Skips white space and looks at the next byte.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Reads `word`, of which the first letter is here.
    pub(super) fn word(&mut self, word: &str) -> Result<(), Error> {
        if !self.text[self.at..].starts_with(word) {
            return Err(Error::custom("expected ident"));
        }
        self.at += word.len();
        Ok(())
    }

    pub(super) fn null(&mut self, expected: &dyn Expected) -> Result<(), Error> {
        if self.peek() == Some(b'n') { self.word("null") } else { Err(self.misfit(expected)) }
    }

    pub(super) fn truth(&mut self, expected: &dyn Expected) -> Result<bool, Error> {
        match self.peek() {
            Some(b't') => self.word("true").map(|()| true),
            Some(b'f') => self.word("false").map(|()| false),
            _ => Err(self.misfit(expected)),
        }
    }

    /// Goes one deeper, into a list or an object.
    pub(super) fn enter(&mut self, begin: u8, expected: &dyn Expected) -> Result<(), Error> {
        if self.peek() != Some(begin) {
            return Err(self.misfit(expected));
        }
        self.room()?;
        self.at += 1;
        self.depth += 1;
        Ok(())
    }

    /// Whether it may go one deeper; as deep as `serde_json` does.
    fn room(&self) -> Result<(), Error> {
        if self.depth == 127 { Err(Error::custom("recursion limit exceeded")) } else { Ok(()) }
    }

    /// Leaves a list or an object, which must end here. It is left even where it does not: who takes another value in place of one
    /// that cannot be read reads on behind it, or not at all.
    pub(super) fn leave(&mut self, end: u8) -> Result<(), Error> {
        self.depth -= 1;
        let next = self.peek();
        if next.is_some_and(|byte| byte == end || byte == b',') {
            self.at += 1;
        }
        if next == Some(end) { Ok(()) } else { Err(Error::custom("trailing characters")) }
    }

    /// Moves to the next entry of a list or an object; `false` when there is none.
    pub(super) fn more(&mut self, end: u8, first: bool) -> Result<bool, Error> {
        match self.peek() {
            Some(byte) if byte == end => Ok(false),
            Some(_) if first => Ok(true),
            Some(b',') => {
                self.at += 1;
                if self.peek() == Some(end) { Err(Error::custom("trailing comma")) } else { Ok(true) }
            }
            Some(_) if end == b']' => Err(Error::custom("expected `,` or `]`")),
            Some(_) => Err(Error::custom("expected `,` or `}`")),
            None => Err(Error::custom("EOF while parsing a list or an object")),
        }
    }

    /// The text here, as a whole; `None` where there is another value, or one that does not stand there as it is.
    pub(super) fn plain_text(&mut self) -> Option<&'de str> {
        if self.peek() != Some(b'"') {
            return None;
        }
        let (start, bytes) = (self.at + 1, self.text.as_bytes());
        let end = plain(bytes, start);
        if bytes.get(end) != Some(&b'"') {
            return None;
        }
        self.at = end + 1;
        Some(&self.text[start..end])
    }

    /// The text here, which is not plain.
    #[cold]
    pub(super) fn other_text(&mut self, expected: &dyn Expected) -> Result<String, Error> {
        if self.peek() == Some(b'"') { self.whole() } else { Err(self.misfit(expected)) }
    }

    /// The text here.
    pub(super) fn text(&mut self, expected: &dyn Expected) -> Result<Cow<'de, str>, Error> {
        match self.plain_text() {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => self.other_text(expected).map(Cow::Owned),
        }
    }

    /// What `serde_json` reads here.
    pub(super) fn whole<T: Deserialize<'de>>(&mut self) -> Result<T, Error> {
        let mut json = Deserializer::from_str(&self.text[self.at..]);
        let value = T::deserialize(&mut json)?;
        // Only a stream tells how far the deserializer has come; this one reads nothing more.
        self.at += json.into_iter::<IgnoredAny>().byte_offset();
        Ok(value)
    }

    /// The text of the value here, whatever it is.
    pub(super) fn raw(&mut self) -> Result<&'de str, Error> {
        self.peek();
        let start = self.at;
        self.whole::<IgnoredAny>()?;
        Ok(&self.text[start..self.at])
    }
}

impl Source<'_> {
    /// That something else than the value here was expected. A scalar is read over; what would have to be entered is not.
    #[cold]
    pub(super) fn misfit(&mut self, expected: &dyn Expected) -> Error {
        self.got(expected).unwrap_or_else(|error| error)
    }

    fn got(&mut self, expected: &dyn Expected) -> Result<Error, Error> {
        let wrong = |got: Unexpected<'_>| Ok(Error::invalid_type(got, expected));
        match self.peek() {
            Some(b'"') => {
                let text = self.text(expected)?;
                wrong(Unexpected::Str(&text))
            }
            Some(b'0'..=b'9' | b'-') => wrong(match self.number(expected)? {
                Number::Whole(number) => Unexpected::Unsigned(number),
                Number::Negative(number) => Unexpected::Signed(number),
                Number::Broken(number) => Unexpected::Float(number),
            }),
            Some(b'{') => self.room().and_then(|()| wrong(Unexpected::Map)),
            Some(b'[') => self.room().and_then(|()| wrong(Unexpected::Seq)),
            Some(b'n') => self.word("null").and_then(|()| wrong(Unexpected::Unit)),
            Some(b't') => self.word("true").and_then(|()| wrong(Unexpected::Bool(true))),
            Some(b'f') => self.word("false").and_then(|()| wrong(Unexpected::Bool(false))),
            Some(_) => Err(Error::custom("expected value")),
            None => Err(Error::custom("EOF while parsing a value")),
        }
    }
}
