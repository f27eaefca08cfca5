//! Typed values from JSON text.
//!
//! `serde_json`'s deserializer is generic over where the text comes from, so each program compiles it again for its types:
//! floating point and all, which is most of what an optimised build of a few tools costs. Here only that is generic which depends
//! on the type. What is not plain (numbers with more than digits or more than 18 of them, texts with escapes) `serde_json` reads, in this crate.

mod inside;
mod token;

use std::{borrow::Cow, iter::once};

use serde::de::{
    Deserializer, Error as _, IntoDeserializer as _, Visitor,
    value::{BorrowedStrDeserializer, MapDeserializer},
};
use serde_json::Error;

use inside::{Entries, Items};
use token::{Number, Token};

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
        let value = visitor.visit_seq(Items::new(self));
        let left = self.leave(b']');
        value.and_then(|value| left.map(|()| value))
    }

    fn object<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        let value = visitor.visit_map(Entries::new(self));
        let left = self.leave(b'}');
        value.and_then(|value| left.map(|()| value))
    }
}

impl Number {
    #[inline]
    fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Plain(number) => visitor.visit_u64(number),
            Self::Written(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), ..) => visitor.visit_u64(number),
                (_, Some(number), _) => visitor.visit_i64(number),
                (.., Some(number)) => visitor.visit_f64(number),
                (.., None) => Err(Error::custom("number out of range")),
            },
        }
    }
}

#[inline]
fn visit_text<'de, V: Visitor<'de>>(text: Cow<'de, str>, visitor: V) -> Result<V::Value, Error> {
    match text {
        Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
        Cow::Owned(text) => visitor.visit_string(text),
    }
}

macro_rules! numbers {
    ($($method:ident)*) => {
        $(
            #[inline]
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
                match self.token()? {
                    Token::Number(number) => number.visit(visitor),
                    other => Err(self.misfit(&other, &visitor)),
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
                match self.token()? {
                    Token::Text(text) => visit_text(text, visitor),
                    other => Err(self.misfit(&other, &visitor)),
                }
            }
        )*
    };
}

impl<'de> Deserializer<'de> for &mut Source<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.token()? {
            Token::Null => visitor.visit_unit(),
            Token::Bool(value) => visitor.visit_bool(value),
            Token::Number(Number::Plain(number)) => visitor.visit_u64(number),
            Token::Number(Number::Written(number)) => number.deserialize_any(visitor),
            Token::Text(text) => visit_text(text, visitor),
            Token::List => self.list(visitor),
            Token::Object => self.object(visitor),
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
        match self.token()? {
            Token::Bool(value) => visitor.visit_bool(value),
            other => Err(self.misfit(&other, &visitor)),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.token()? {
            Token::Null => visitor.visit_unit(),
            other => Err(self.misfit(&other, &visitor)),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.token()? {
            Token::Text(Cow::Borrowed(text)) => visitor.visit_borrowed_bytes(text.as_bytes()),
            Token::Text(Cow::Owned(text)) => visitor.visit_byte_buf(text.into_bytes()),
            Token::List => self.list(visitor),
            other => Err(self.misfit(&other, &visitor)),
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
        self.token()?;
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
        match self.token()? {
            Token::List => self.list(visitor),
            other => Err(self.misfit(&other, &visitor)),
        }
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
        match self.token()? {
            Token::Object => self.object(visitor),
            other => Err(self.misfit(&other, &visitor)),
        }
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
        match self.token()? {
            Token::Text(text) => visitor.visit_enum(text.into_deserializer()),
            other => Err(self.misfit(&other, &visitor)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.raw()?;
        visitor.visit_unit()
    }
}

#[cfg(test)]
mod tests;
