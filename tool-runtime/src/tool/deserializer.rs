//! A serde deserializer that reads JSON as JSON Schema does.
//!
//! `serde_json` accepts an array for a struct, and `{"Variant": null}` for a unit variant. The schemas of these types do not,
//! and a model never means it, so this deserializer refuses both.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
    value::StrDeserializer,
};
use tool_schema::schema::Key;

/// Wraps a deserializer, visitor, seed or access, so that the whole value below it is read exactly.
#[derive(Debug)]
pub(crate) struct Exact<T>(T, Keys);

impl<T> Exact<T> {
    /// Wraps a deserializer of JSON with these keys.
    pub(crate) fn new(json: T, keys: Keys) -> Self {
        Self(json, keys)
    }
}

/// The form of the keys in a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    Plain,
    /// Keys that are numbers have marks ([`mark_number_keys`](tool_schema::schema::mark_number_keys)).
    Marked,
    /// Keys that are numbers have marks, and each key is read as a text.
    MarkedTexts,
    /// Each key is `true` or `false`.
    PlainBools,
}

macro_rules! forward {
    ($($method:ident)*) => {
        $(
            #[inline]
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
                self.0.$method(Exact(visitor, self.1))
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
        self.0.deserialize_newtype_struct(name, Exact(visitor, self.1))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple(len, Exact(visitor, self.1))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple_struct(name, len, Exact(visitor, self.1))
    }

    // A struct is an object, never a list of its fields.
    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(Exact(visitor, self.1))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Variants(visitor, self.1))
    }

    // serde_json would skip an ignored value without a check of its depth, texts and numbers.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Exact(visitor, self.1))
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
        self.0.visit_some(Exact(deserializer, self.1))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Exact(deserializer, self.1))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Exact(seq, self.1))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Exact(map, self.1))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(data)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Exact<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Exact(deserializer, self.1))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Exact<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.0.next_element_seed(Exact(seed, self.1))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Exact<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(Name(seed, self.1))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.0.next_value_seed(Exact(seed, self.1))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

/// Reads an enum as its schema describes it: a name for a unit variant, an object of one entry for any other.
struct Variants<V>(V, Keys);

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
        self.0.visit_enum(Tagged(map, self.1))
    }
}

/// An enum in the form of an object, whose only key names the variant.
struct Tagged<A>(A, Keys);

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for Tagged<A> {
    type Error = A::Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(mut self, seed: S) -> Result<(S::Value, Self), A::Error> {
        match self.0.next_key_seed(Name(seed, self.1))? {
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
        self.0.next_value_seed(Exact(seed, self.1))
    }

    fn tuple_variant<V: Visitor<'de>>(mut self, _len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(Inside::Seq(Exact(visitor, self.1)))
    }

    fn struct_variant<V: Visitor<'de>>(
        mut self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(Inside::Map(Exact(visitor, self.1)))
    }
}

/// The content of a tuple variant or a struct variant.
enum Inside<V> {
    Seq(Exact<V>),
    Map(Exact<V>),
}

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Inside<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        match self {
            Self::Seq(visitor) => deserializer.deserialize_seq(visitor),
            Self::Map(visitor) => deserializer.deserialize_map(visitor),
        }
    }
}

/// Wraps the seed, deserializer or visitor of a key, which may have a mark.
struct Name<T>(T, Keys);

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Name<S> {
    type Value = S::Value;

    #[inline]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Name(deserializer, self.1))
    }
}

macro_rules! forward_text {
    ($($method:ident)*) => {
        $(
            #[inline]
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
                match self.1 {
                    Keys::Plain => self.0.$method(visitor),
                    _ => self.0.$method(Name(visitor, Keys::MarkedTexts)),
                }
            }
        )*
    };
}

macro_rules! forward_number {
    ($($method:ident)*) => {
        $(
            #[inline]
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
                match self.1 {
                    Keys::Plain => self.0.$method(visitor),
                    // With its mark, the key is no number to `serde_json`.
                    keys => self.0.deserialize_any(Name(visitor, keys)),
                }
            }
        )*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Name<D> {
    type Error = D::Error;

    forward_text! { deserialize_char deserialize_str deserialize_string }

    forward_number! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
    }

    // serde_json 1.0.154 panics for a key such as "é".
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let keys = if self.1 == Keys::Plain { Keys::PlainBools } else { self.1 };
        self.0.deserialize_any(Name(visitor, keys))
    }

    // A buffer reads its keys with the first of these, and a type with flattened fields with the second.
    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Name(visitor, self.1))
    }

    #[inline]
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_identifier(Name(visitor, self.1))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_option(Name(visitor, self.1))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_newtype_struct(name, Name(visitor, self.1))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_bytes(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_byte_buf(visitor)
    }

    serde::forward_to_deserialize_any! {
        unit unit_struct seq tuple tuple_struct map struct ignored_any
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Name<V> {
    type Value = V::Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(out)
    }

    #[inline]
    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<V::Value, E> {
        match self.1 {
            Keys::Plain => self.0.visit_str(key),
            keys => visit_marked(self.0, keys, key),
        }
    }

    #[inline]
    fn visit_borrowed_str<E: serde::de::Error>(self, key: &'de str) -> Result<V::Value, E> {
        match self.1 {
            Keys::Plain => self.0.visit_borrowed_str(key),
            keys => visit_marked(self.0, keys, key),
        }
    }

    #[inline]
    fn visit_string<E: serde::de::Error>(self, key: String) -> Result<V::Value, E> {
        match self.1 {
            Keys::Plain => self.0.visit_string(key),
            keys => visit_marked(self.0, keys, &key),
        }
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Name(deserializer, self.1))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Name(deserializer, self.1))
    }
}

#[cold]
fn visit_marked<'de, V: Visitor<'de>, E: serde::de::Error>(visitor: V, keys: Keys, key: &str) -> Result<V::Value, E> {
    let number = match (keys, Key::unmark(key)) {
        (Keys::PlainBools, _) => match key.parse() {
            Ok(truth) => return visitor.visit_bool(truth),
            Err(_) => return Err(E::invalid_type(Unexpected::Str(key), &visitor)),
        },
        (Keys::MarkedTexts, Key::Number(text)) | (_, Key::Text(text)) => return visitor.visit_str(text),
        (_, Key::Number(number)) => number,
    };
    if let Ok(number) = number.parse::<u64>() {
        visitor.visit_u64(number)
    } else if let Ok(number) = number.parse::<i64>() {
        visitor.visit_i64(number)
    } else if let Ok(number) = number.parse::<u128>() {
        visitor.visit_u128(number)
    } else if let Ok(number) = number.parse::<i128>() {
        visitor.visit_i128(number)
    } else if let Ok(truth) = number.parse::<bool>() {
        visitor.visit_bool(truth)
    } else {
        visitor.visit_f64(number.parse().map_err(E::custom)?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::{Exact, Keys};

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
        let value = T::deserialize(Exact::new(&mut json, Keys::Plain)).ok()?;
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

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(untagged)]
    enum Buffered {
        Maps { numbers: BTreeMap<i8, bool>, texts: BTreeMap<String, u8>, truths: BTreeMap<bool, u8> },
        Point(Point),
    }

    #[test]
    fn marked_keys_are_numbers_also_in_a_buffer() {
        let text = r#"{"^1":{"numbers":{"^-1":true},"texts":{"1":2,"^^1":3},"truths":{"^true":4}},"^2":{"x":1}}"#;
        let marked = text.replace('^', "\u{f8ff}");
        let read = BTreeMap::<u128, Buffered>::deserialize(Exact::new(
            &mut serde_json::Deserializer::from_str(&marked),
            Keys::Marked,
        ));
        let maps = Buffered::Maps {
            numbers: BTreeMap::from([(-1, true)]),
            texts: BTreeMap::from([("1".to_owned(), 2), ("\u{f8ff}1".to_owned(), 3)]),
            truths: BTreeMap::from([(true, 4)]),
        };
        assert_eq!(read.unwrap(), BTreeMap::from([(1, maps), (2, Buffered::Point(Point { x: 1, y: None }))]));
    }

    #[test]
    fn a_boolean_as_a_key_is_true_or_false() {
        assert_eq!(exact(r#"{"true":1,"fals\u0065":2}"#), Some(BTreeMap::from([(true, 1), (false, 2)])));
        for text in [r#"{"é":1}"#, r#"{"True":1}"#, r#"{"t":1}"#, r#"{"1":1}"#] {
            assert_eq!(exact::<BTreeMap<bool, u8>>(text), None, "{text}");
        }
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
