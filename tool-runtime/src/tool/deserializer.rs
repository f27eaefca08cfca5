//! A serde deserializer that reads JSON as JSON Schema does.
//!
//! `serde_json` accepts an array for a struct, and `{"Variant": null}` for a unit variant. The schemas of these types do not,
//! and a model never means it, so this deserializer refuses both.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
    value::StrDeserializer,
};

/// Wraps a deserializer, visitor, seed or access, so that the whole value below it is read exactly.
#[derive(Debug)]
pub(crate) struct Exact<T>(pub(crate) T);

macro_rules! forward {
    ($($method:ident)*) => {
        $(
            #[inline]
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
                self.0.$method(Exact(visitor))
            }
        )*
    };
}

/// Scalars contain nothing that could be read inexactly, so their visitors are not wrapped.
macro_rules! forward_scalar {
    ($($method:ident)*) => {
        $(
            #[inline]
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
                self.0.$method(visitor)
            }
        )*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Exact<D> {
    type Error = D::Error;

    forward_scalar! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
        deserialize_char deserialize_str deserialize_string deserialize_unit deserialize_identifier
    }

    forward! {
        deserialize_any deserialize_bytes deserialize_byte_buf deserialize_option deserialize_seq deserialize_map
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_unit_struct(name, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_newtype_struct(name, Exact(visitor))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple(len, Exact(visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple_struct(name, len, Exact(visitor))
    }

    // A struct is an object, never a list of its fields.
    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(Exact(visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Variants(visitor))
    }

    // serde_json would skip an ignored value without a check of its depth, texts and numbers.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Exact(visitor))
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

macro_rules! visit {
    ($($method:ident: $type:ty,)*) => {
        $(
            #[inline]
            fn $method<E: serde::de::Error>(self, value: $type) -> Result<V::Value, E> {
                self.0.$method(value)
            }
        )*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Exact<V> {
    type Value = V::Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(out)
    }

    visit! {
        visit_bool: bool, visit_i64: i64, visit_i128: i128, visit_u64: u64, visit_u128: u128, visit_f64: f64,
        visit_str: &str, visit_borrowed_str: &'de str, visit_string: String,
        visit_bytes: &[u8], visit_borrowed_bytes: &'de [u8], visit_byte_buf: Vec<u8>,
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Exact(deserializer))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Exact(deserializer))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Exact(seq))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Exact(map))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(data)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Exact<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Exact(deserializer))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Exact<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Exact(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Exact<A> {
    type Error = A::Error;

    // Keys are names, which cannot be read inexactly.
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Exact(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

/// Reads an enum as its schema describes it: a name for a unit variant, an object of one entry for any other.
struct Variants<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Variants<V> {
    type Value = V::Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(out)
    }

    #[inline]
    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<V::Value, E> {
        self.0.visit_enum(StrDeserializer::new(name))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(Tagged(map))
    }
}

/// An enum in the form of an object, whose only key names the variant.
struct Tagged<A>(A);

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for Tagged<A> {
    type Error = A::Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<(S::Value, Self), A::Error> {
        match self.0.next_key_seed(seed)? {
            Some(variant) => Ok((variant, self)),
            None => Err(Error::invalid_value(Unexpected::Map, &"an object with one entry")),
        }
    }
}

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for Tagged<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        Err(Error::invalid_type(Unexpected::Map, &"the variant's name as a string"))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Exact(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(mut self, _len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(Inside::Seq(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        mut self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(Inside::Map(visitor))
    }
}

/// The content of a tuple variant or a struct variant.
enum Inside<V> {
    Seq(V),
    Map(V),
}

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Inside<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        match self {
            Self::Seq(visitor) => deserializer.deserialize_seq(Exact(visitor)),
            Self::Map(visitor) => deserializer.deserialize_map(Exact(visitor)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::Exact;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Point {
        x: i32,
        y: Option<i32>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Shape {
        Dot,
        Circle(f64),
        Line(Point, Point),
        Rect { at: Point, size: u8 },
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct All {
        shapes: Vec<Shape>,
        names: BTreeMap<String, Point>,
        pair: (u8, char),
        nothing: (),
    }

    fn exact<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
        let mut json = serde_json::Deserializer::from_str(text);
        let value = T::deserialize(Exact(&mut json)).ok()?;
        json.end().ok().map(|()| value)
    }

    #[test]
    fn reads_what_the_schema_allows() {
        let text = r#"{"shapes":["dot",{"circle":1.5},{"line":[{"x":1},{"x":2,"y":null}]},{"rect":{"at":{"x":1,"y":2},"size":3}}],
            "names":{"a":{"x":-1}},"pair":[1,"c"],"nothing":null}"#;
        assert_eq!(exact::<All>(text), serde_json::from_str(text).ok());
        assert!(exact::<All>(text).is_some());
        assert_eq!(exact::<Shape>(r#""\u0064ot""#), Some(Shape::Dot));
        assert_eq!(exact::<&str>(r#""borrowed""#), Some("borrowed"));
    }

    #[test]
    fn refuses_what_only_serde_allows() {
        assert!(serde_json::from_str::<Point>("[1,2]").is_ok());
        assert_eq!(exact::<Point>("[1,2]"), None);
        assert_eq!(exact::<Vec<Point>>("[[1,2]]"), None);
        assert_eq!(exact::<Option<Point>>("[1,2]"), None);
        assert!(serde_json::from_str::<Shape>(r#"{"dot":null}"#).is_ok());
        assert_eq!(exact::<Shape>(r#"{"dot":null}"#), None);
        assert_eq!(exact::<Shape>(r#"{"rect":[{"x":1},3]}"#), None);
    }

    #[test]
    fn refuses_what_serde_refuses() {
        for text in
            ["1", "null", "{}", r#"{"circle":1,"dot":2}"#, r#"{"line":[{"x":1}]}"#, r#""circle""#, r#"{"round":1}"#]
        {
            assert!(serde_json::from_str::<Shape>(text).is_err(), "{text}");
            assert_eq!(exact::<Shape>(text), None, "{text}");
        }
    }
}
