//! Typed values from JSON text.
//!
//! `serde_json`'s deserializer is generic over where the text comes from, so each program compiles it again for its types:
//! floating point and all, which is most of what an optimised build of a few tools costs. Here only that is generic which depends
//! on the type. What is not plain (numbers with an exponent or many digits, texts with escapes) `serde_json` reads, in this crate.

mod inside;
mod number;
mod token;

use std::iter::once;

use serde::de::{
    Deserializer, Error as _, IntoDeserializer as _, Visitor,
    value::{BorrowedStrDeserializer, MapDeserializer},
};
use serde_json::Error;

use inside::{Entries, Items};
use number::Number;

/// How `serde_json::value::RawValue` asks for a value as it is written.
const RAW: &str = "$serde_json::private::RawValue";

/// A JSON text of which a value is read.
///
/// It is read as the schema of its type has it by `Exact` around this, which takes structs for objects and reads enums by
/// itself.
#[derive(Debug)]
pub(crate) struct Source<'de> {
    text: &'de str,
    at: usize,
    depth: u8,
}

impl<'de> Source<'de> {
    pub(crate) fn new(text: &'de str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    /// How many bytes were read.
    pub(crate) fn read(&self) -> usize {
        self.at
    }

    fn list<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        self.enter(b'[', &visitor)?;
        let value = visitor.visit_seq(Items::new(self));
        let left = self.leave(b']');
        value.and_then(|value| left.map(|()| value))
    }

    fn object<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        self.enter(b'{', &visitor)?;
        let value = visitor.visit_map(Entries::new(self));
        let left = self.leave(b'}');
        value.and_then(|value| left.map(|()| value))
    }

    #[inline]
    fn visit_text<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        match self.plain_text() {
            Some(text) => visitor.visit_borrowed_str(text),
            None => {
                let text = self.other_text(&visitor)?;
                visitor.visit_string(text)
            }
        }
    }
}

macro_rules! numbers {
    ($($method:ident)*) => {
        $(
            #[inline]
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
                match self.number(&visitor)? {
                    Number::Whole(number) => visitor.visit_u64(number),
                    Number::Negative(number) => visitor.visit_i64(number),
                    Number::Broken(number) => visitor.visit_f64(number),
                }
            }
        )*
    };
}

macro_rules! texts {
    ($($method:ident)*) => {
        $(
            #[inline]
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
                self.visit_text(visitor)
            }
        )*
    };
}

impl<'de> Deserializer<'de> for &mut Source<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek() {
            Some(b'"') => self.visit_text(visitor),
            Some(b'{') => self.object(visitor),
            Some(b'[') => self.list(visitor),
            Some(b'n') => self.word("null").and_then(|()| visitor.visit_unit()),
            Some(b't') => self.word("true").and_then(|()| visitor.visit_bool(true)),
            Some(b'f') => self.word("false").and_then(|()| visitor.visit_bool(false)),
            // With the digits that it was written with, where a program asks `serde_json` to keep them.
            Some(b'0'..=b'9' | b'-') => match self.plain_number() {
                Some(number) => visitor.visit_u64(number),
                None => self.written()?.deserialize_any(visitor),
            },
            _ => Err(self.misfit(&visitor)),
        }
    }

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_f64
    }

    texts! { deserialize_char deserialize_str deserialize_string deserialize_identifier }

    // The nearest number of single precision may be another one than that next to the nearest of double precision.
    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.parsed::<f32>(&visitor)? {
            Some(number) if number.is_finite() => visitor.visit_f32(number),
            _ => Err(Error::custom("number out of range")),
        }
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.parsed(&visitor)? {
            Some(number) => visitor.visit_i128(number),
            None => Err(Error::custom("number out of range")),
        }
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.parsed(&visitor)? {
            Some(number) => visitor.visit_u128(number),
            None => Err(Error::custom("number out of range")),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let value = self.truth(&visitor)?;
        visitor.visit_bool(value)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.null(&visitor)?;
        visitor.visit_unit()
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.peek() == Some(b'[') {
            return self.list(visitor);
        }
        match self.plain_text() {
            Some(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
            None => {
                let text = self.other_text(&visitor)?;
                visitor.visit_byte_buf(text.into_bytes())
            }
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_bytes(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.peek() != Some(b'n') {
            return visitor.visit_some(self);
        }
        self.word("null")?;
        visitor.visit_none()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        if name != RAW {
            return visitor.visit_newtype_struct(self);
        }
        let raw = BorrowedStrDeserializer::<Error>::new(self.raw()?);
        visitor.visit_map(MapDeserializer::new(once((RAW, raw))))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.list(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.object(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_map(visitor)
    }

    /// Only a name, as a key is; `Exact` reads what else an enum may be.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let name = self.text(&visitor)?;
        visitor.visit_enum(name.into_deserializer())
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.raw()?;
        visitor.visit_unit()
    }
}

#[cfg(test)]
mod tests;
