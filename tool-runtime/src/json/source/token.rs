//! What a value begins with, and scalars as a whole. Nothing here depends on the type that is read.

use std::borrow::Cow;

use serde::de::{Deserialize, Error as _, Expected, IgnoredAny, Unexpected, Visitor};
use serde_json::{Deserializer, Error};

use super::{super::plain::plain, Source};

/// A scalar, or the beginning of a list or an object.
#[derive(Debug)]
pub(super) enum Token<'de> {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'de, str>),
    List,
    Object,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

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

    /// Reads a scalar, or enters a list or an object.
    pub(super) fn token(&mut self) -> Result<Token<'de>, Error> {
        match self.peek() {
            Some(b'"') => self.text().map(Token::Text),
            Some(b'0'..=b'9' | b'-') => self.number().map(Token::Number),
            Some(b'{') => self.enter().map(|()| Token::Object),
            Some(b'[') => self.enter().map(|()| Token::List),
            Some(b'n') => self.word("null", Token::Null),
            Some(b't') => self.word("true", Token::Bool(true)),
            Some(b'f') => self.word("false", Token::Bool(false)),
            Some(_) => Err(Error::custom("expected value")),
            None => Err(Error::custom("EOF while parsing a value")),
        }
    }

    fn word(&mut self, word: &str, token: Token<'de>) -> Result<Token<'de>, Error> {
        if !self.text[self.at..].starts_with(word) {
            return Err(Error::custom("expected ident"));
        }
        self.at += word.len();
        Ok(token)
    }

    /// Goes one deeper; as deep as `serde_json` does.
    fn enter(&mut self) -> Result<(), Error> {
        self.at += 1;
        self.depth += 1;
        if self.depth < 128 { Ok(()) } else { Err(Error::custom("recursion limit exceeded")) }
    }

    /// Leaves a list or an object, which must end here.
    pub(super) fn leave(&mut self, end: u8) -> Result<(), Error> {
        if self.peek() != Some(end) {
            return Err(Error::custom("trailing characters"));
        }
        self.at += 1;
        self.depth -= 1;
        Ok(())
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

    /// The text here, as a whole.
    pub(super) fn text(&mut self) -> Result<Cow<'de, str>, Error> {
        let (start, bytes) = (self.at + 1, self.text.as_bytes());
        let end = plain(bytes, start);
        if bytes.get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(Cow::Borrowed(&self.text[start..end]));
        }
        self.whole::<String>().map(Cow::Owned)
    }

    /// The number here.
    fn number(&mut self) -> Result<Number, Error> {
        let digits = &self.text.as_bytes()[self.at..];
        let (mut number, mut length) = (0_u64, 0);
        // So many digits fit; most numbers are such.
        while let Some(digit @ b'0'..=b'9') = digits.get(length).filter(|_| length < 18) {
            number = number * 10 + u64::from(digit - b'0');
            length += 1;
        }
        let ends = !matches!(digits.get(length), Some(b'0'..=b'9' | b'.' | b'e' | b'E'));
        if length > 0 && ends && (digits[0] != b'0' || length == 1) {
            self.at += length;
            return Ok(Number::Unsigned(number));
        }
        self.whole()
    }

    /// The number here, as the type that its text is parsed to; `None` where that does not hold it.
    pub(super) fn parsed<T: std::str::FromStr>(&mut self, expected: &dyn Expected) -> Result<Option<T>, Error> {
        let start = (self.peek(), self.at).1;
        match self.token()? {
            Token::Number(_) => Ok(self.text[start..self.at].parse().ok()),
            other => Err(other.unfit(expected)),
        }
    }

    /// What `serde_json` reads here.
    #[cold]
    fn whole<T: Deserialize<'de>>(&mut self) -> Result<T, Error> {
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

impl Token<'_> {
    /// That something else was expected.
    pub(super) fn unfit(&self, expected: &dyn Expected) -> Error {
        let got = match self {
            Self::Null => Unexpected::Unit,
            Self::Bool(value) => Unexpected::Bool(*value),
            Self::Number(Number::Unsigned(number)) => Unexpected::Unsigned(*number),
            Self::Number(Number::Signed(number)) => Unexpected::Signed(*number),
            Self::Number(Number::Float(number)) => Unexpected::Float(*number),
            Self::Text(text) => Unexpected::Str(text),
            Self::List => Unexpected::Seq,
            Self::Object => Unexpected::Map,
        };
        Error::invalid_type(got, expected)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl Visitor<'_> for Any {
            type Value = Number;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a number")
            }

            fn visit_u64<E>(self, number: u64) -> Result<Number, E> {
                Ok(Number::Unsigned(number))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Number, E> {
                Ok(Number::Signed(number))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Number, E> {
                Ok(Number::Float(number))
            }
        }

        deserializer.deserialize_u64(Any)
    }
}
