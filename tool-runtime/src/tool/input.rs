//! The requirements on the type of a parameter.

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor, value::Error};

/// A type that a parameter of a tool can have: any `Send` type with serde's `Deserialize` and schemars' `JsonSchema`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a tool",
    label = "lacks `Deserialize`, `JsonSchema` or `Send`",
    note = "add `#[derive(serde::Deserialize, schemars::JsonSchema)]` to `{Self}`"
)]
pub trait ToolInput: DeserializeOwned + JsonSchema + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send + 'static> ToolInput for T {}

/// A type that a secret can have: any `Send` type with serde's `Deserialize`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a secret of a tool",
    label = "cannot be decoded from JSON, or sent to another thread",
    note = "a `String` can, and so can a type with `#[derive(serde::Deserialize)]` that is read from a string"
)]
pub trait ToolSecret: DeserializeOwned + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + Send + 'static> ToolSecret for T {}

/// A deserializer of nothing. Only an `Option`, or a wrapper of one, can be read from it.
enum Nothing {
    /// A missing value.
    Absent,
    /// The value null, if its meaning is not that of a missing value.
    Null,
}

impl<'de> Deserializer<'de> for Nothing {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(serde::de::Error::custom("not given"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Absent => visitor.visit_none(),
            // Only another option can be read from inside.
            Self::Null => visitor.visit_some(Self::Absent),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Returns the value for a missing parameter, if the type has one.
pub fn absent<T: DeserializeOwned>() -> Option<T> {
    T::deserialize(Nothing::Absent).ok()
}

/// Returns `Some(None)` for null, if the type is an `Option` of an `Option`. serde itself reads it as `None`, like a missing value.
pub fn null<T: DeserializeOwned>() -> Option<T> {
    T::deserialize(Nothing::Null).ok()
}

pub fn read_secret<T: DeserializeOwned>(text: &str) -> Option<T> {
    T::deserialize(Secret(text)).ok()
}

/// A deserializer of a secret's text. An `Option` reads it as `Some`.
struct Secret<'a>(&'a str);

impl<'de> Deserializer<'de> for Secret<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(self.0.into_deserializer())
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}
