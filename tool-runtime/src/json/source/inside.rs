//! The entries of a list or an object.

use std::borrow::Cow;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IntoDeserializer as _, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde_json::Error;

use super::{RAW, Source};

/// What is wrong with a key that should be a number.
const IN_KEY: &str = "invalid value: expected key to be a number in quotes";

/// The items of a list that was entered.
pub(super) struct Items<'a, 'de> {
    source: &'a mut Source<'de>,
    first: bool,
}

/// The entries of an object that was entered.
pub(super) struct Entries<'a, 'de> {
    source: &'a mut Source<'de>,
    first: bool,
}

impl<'a, 'de> Items<'a, 'de> {
    pub(super) fn new(source: &'a mut Source<'de>) -> Self {
        Self { source, first: true }
    }
}

impl<'a, 'de> Entries<'a, 'de> {
    pub(super) fn new(source: &'a mut Source<'de>) -> Self {
        Self { source, first: true }
    }
}

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        if !self.source.more(b']', self.first)? {
            return Ok(None);
        }
        self.first = false;
        seed.deserialize(&mut *self.source).map(Some)
    }
}

impl<'de> MapAccess<'de> for Entries<'_, 'de> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        if !self.source.key(self.first)? {
            return Ok(None);
        }
        self.first = false;
        seed.deserialize(Key(self.source)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        self.source.colon()?;
        seed.deserialize(&mut *self.source)
    }
}

impl Source<'_> {
    /// Moves to the key of the next entry; `false` when there is none.
    fn key(&mut self, first: bool) -> Result<bool, Error> {
        if !self.more(b'}', first)? {
            return Ok(false);
        }
        if self.peek() == Some(b'"') { Ok(true) } else { Err(Error::custom("key must be a string")) }
    }

    /// What stands in the text here, which has no escapes.
    fn inside(&mut self) -> Result<Self, Error> {
        match self.text(&IN_KEY)? {
            Cow::Borrowed(text) if text.starts_with(|first: char| first.is_ascii_digit() || first == '-') => {
                Ok(Self::new(text))
            }
            _ => Err(Error::custom(IN_KEY)),
        }
    }

    fn is_over(&self) -> Result<(), Error> {
        if self.at == self.text.len() { Ok(()) } else { Err(Error::custom(IN_KEY)) }
    }

    fn colon(&mut self) -> Result<(), Error> {
        if self.peek() != Some(b':') {
            return Err(Error::custom("expected `:`"));
        }
        self.at += 1;
        Ok(())
    }
}

/// The key of an entry: a text, in which `serde_json` reads numbers and truth values too.
struct Key<'a, 'de>(&'a mut Source<'de>);

macro_rules! inside {
    ($($method:ident)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
                let mut inside = self.0.inside()?;
                let value = (&mut inside).$method(visitor)?;
                inside.is_over().map(|()| value)
            }
        )*
    };
}

impl<'de> Deserializer<'de> for Key<'_, 'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.0.visit_text(visitor)
    }

    inside! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &*self.0.text(&visitor)? {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            text => Err(Error::invalid_type(Unexpected::Str(text), &visitor)),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.0.deserialize_bytes(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.0.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        // No key stands for nothing.
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        if name == RAW { self.0.deserialize_newtype_struct(name, visitor) } else { visitor.visit_newtype_struct(self) }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let name = self.0.text(&visitor)?;
        visitor.visit_enum(name.into_deserializer())
    }

    serde::forward_to_deserialize_any! {
        char str string unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
