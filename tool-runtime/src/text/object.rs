//! Walks the entries of one JSON object, leaving each value as text for whoever knows its type.

use std::borrow::Cow;

use serde_json::Deserializer;

/// A cursor over the entries of a JSON object.
///
/// [`Object::enter`] and [`Object::key`] lead to a value; the caller reads it from [`Object::value`] and tells with
/// [`Object::advance`] how long it was; [`Object::more`] leads to the next key. So every value is read once, by the code that
/// knows its type. Who expects a certain key takes [`Object::skip_key`] first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<'a> {
    text: &'a str,
    at: usize,
}

/// The text is not a JSON object; `serde_json` says it better.
#[derive(Debug)]
pub(crate) struct ScanError;

impl<'a> Object<'a> {
    /// Enters the object that `text` consists of, up to its first key; `None` if it has none. Blank text is an empty object.
    #[inline]
    pub(crate) fn enter(text: &'a str) -> Result<Option<Self>, ScanError> {
        let mut object = Self { text, at: 0 };
        match object.peek() {
            Some(b'{') => object.at += 1,
            None => return Ok(None),
            Some(_) => return Err(ScanError),
        }
        match object.peek() {
            Some(b'"') => Ok(Some(object)),
            Some(b'}') => object.leave().map(|_| None),
            _ => Err(ScanError),
        }
    }

    /// Moves from behind a value to the next key; `false` after the last entry and nothing but white space behind the object.
    #[inline]
    pub(crate) fn more(&mut self) -> Result<bool, ScanError> {
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                if self.peek() == Some(b'"') { Ok(true) } else { Err(ScanError) }
            }
            Some(b'}') => self.leave(),
            _ => Err(ScanError),
        }
    }

    /// Moves behind the object, which must be the end.
    #[inline]
    fn leave(&mut self) -> Result<bool, ScanError> {
        self.at += 1;
        if self.peek().is_none() { Ok(false) } else { Err(ScanError) }
    }

    /// Moves behind the key if it is `name`, written without escapes. `name` has nothing that JSON must escape.
    #[inline]
    pub(crate) fn skip_key(&mut self, name: &str) -> bool {
        let start = self.at + 1;
        let end = start + name.len();
        let bytes = self.text.as_bytes();
        let found = bytes.get(end) == Some(&b'"') && &bytes[start..end] == name.as_bytes();
        if found {
            self.at = end + 1;
        }
        found
    }

    /// Moves from behind a key to its value: the text from there on.
    #[inline]
    pub(crate) fn value(&mut self) -> Result<&'a str, ScanError> {
        if self.peek() != Some(b':') {
            return Err(ScanError);
        }
        self.at += 1;
        self.peek();
        Ok(&self.text[self.at..])
    }

    /// Moves behind a value of `length` bytes.
    #[inline]
    pub(crate) fn advance(&mut self, length: usize) {
        self.at += length;
    }

    /// Skips white space and looks at the next byte.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Reads a key; the cursor is at its opening quote.
    #[inline(never)]
    pub(crate) fn key(&mut self) -> Result<Cow<'a, str>, ScanError> {
        let start = self.at + 1;
        for (offset, &byte) in self.text.as_bytes()[start..].iter().enumerate() {
            match byte {
                b'"' => {
                    self.at = start + offset + 1;
                    return Ok(Cow::Borrowed(&self.text[start..start + offset]));
                }
                b'\\' => return self.escaped_key(),
                0..=0x1f => return Err(ScanError),
                _ => {}
            }
        }
        Err(ScanError)
    }

    #[cold]
    fn escaped_key(&mut self) -> Result<Cow<'a, str>, ScanError> {
        let mut values = Deserializer::from_str(&self.text[self.at..]).into_iter::<String>();
        let key = values.next().and_then(Result::ok).ok_or(ScanError)?;
        self.at += values.byte_offset();
        Ok(Cow::Owned(key))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Deserializer, Map, Value};

    use super::Object;

    fn read(text: &str) -> Option<Map<String, Value>> {
        let mut map = Map::new();
        let Some(mut object) = Object::enter(text).ok()? else { return Some(map) };
        loop {
            let key = object.key().ok()?;
            let mut values = Deserializer::from_str(object.value().ok()?).into_iter::<Value>();
            map.insert(key.into_owned(), values.next()?.ok()?);
            object.advance(values.byte_offset());
            if !object.more().ok()? {
                return Some(map);
            }
        }
    }

    #[test]
    fn reads_what_serde_json_reads() {
        for text in
            ["{}", " { } ", r#"{"a":1}"#, r#"{ "a" : [1, {"b": "}"}] , "c\u0041" : null }"#, r#"{"a":-1.5e3,"b":"x"}"#]
        {
            assert_eq!(read(text), serde_json::from_str(text).ok(), "{text}");
        }
        assert_eq!(read("  "), Some(Map::new()), "blank text means no arguments");
    }

    #[test]
    fn refuses_what_serde_json_refuses() {
        for text in [
            "[",
            "{",
            "[]",
            "1",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            r#"{,"a":1}"#,
            r#"{"a":1{"b":2}"#,
            "{,}",
            r#"{"a":1 "b":2}"#,
            "{} {}",
            r#"{"a":1}}"#,
            "{\"a\n\":1}",
        ] {
            assert!(serde_json::from_str::<Map<String, Value>>(text).is_err());
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(text in r#"[{}\[\]",:0-9a-c\\u \-.e]{0,24}"#) {
            if !text.trim().is_empty() {
                prop_assert_eq!(read(&text), serde_json::from_str(&text).ok());
            }
        }
    }
}
