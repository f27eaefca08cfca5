//! What a value begins with, and scalars as a whole. Nothing here depends on the type that is read.

use std::borrow::Cow;

use serde::de::{Deserialize, Error as _, Expected, IgnoredAny, Unexpected};
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

#[derive(Debug)]
pub(super) enum Number {
    /// Digits and nothing else.
    Plain(u64),
    /// As `serde_json` has it: with the digits that it was written with, where a program asks it to keep them.
    Written(serde_json::Number),
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
        if self.depth == 127 {
            return Err(Error::custom("recursion limit exceeded"));
        }
        self.at += 1;
        self.depth += 1;
        Ok(())
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
            return Ok(Number::Plain(number));
        }
        self.whole().map(Number::Written).inspect_err(|_| {
            // One that is too large is a number all the same: who takes another value in its place reads on behind it.
            let _ = self.raw();
        })
    }

    /// The number here, as the type that its text is parsed to; `None` where that does not hold it.
    pub(super) fn parsed<T: std::str::FromStr>(&mut self, expected: &dyn Expected) -> Result<Option<T>, Error> {
        let start = (self.peek(), self.at).1;
        match self.token()? {
            Token::Number(_) => Ok(self.text[start..self.at].parse().ok()),
            other => Err(self.misfit(&other, expected)),
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

impl Source<'_> {
    /// That something else than `token` was expected. What was entered is not.
    #[cold]
    pub(super) fn misfit(&mut self, token: &Token<'_>, expected: &dyn Expected) -> Error {
        let got = match token {
            Token::Null => Unexpected::Unit,
            Token::Bool(value) => Unexpected::Bool(*value),
            Token::Number(Number::Plain(number)) => Unexpected::Unsigned(*number),
            Token::Number(Number::Written(number)) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), ..) => Unexpected::Unsigned(number),
                (_, Some(number), _) => Unexpected::Signed(number),
                (.., number) => Unexpected::Float(number.unwrap_or(f64::INFINITY)),
            },
            Token::Text(text) => Unexpected::Str(text),
            Token::List | Token::Object => {
                self.at -= 1;
                self.depth -= 1;
                if matches!(token, Token::List) { Unexpected::Seq } else { Unexpected::Map }
            }
        };
        Error::invalid_type(got, expected)
    }
}
