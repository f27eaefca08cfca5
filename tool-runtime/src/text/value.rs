//! A JSON text as a value, and the names in it that are given more than once.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::schema::pointer::segment;

/// How many names that are given more than once are told.
const MOST: usize = 8;

/// A value, and where in it an object has a name more than once.
#[derive(Debug)]
pub(crate) struct Read {
    /// The value, with what came last for such a name.
    pub(crate) value: Value,
    /// JSON Pointers, each once; of many only the first ones.
    pub(crate) twice: Vec<String>,
}

/// Reads `text`, which consists of one JSON value.
pub(crate) fn read(text: &str) -> Result<Read, serde_json::Error> {
    let mut place = Place::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Seed(&mut place).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(Read { value, twice: place.twice })
}

#[derive(Default)]
struct Place {
    at: String,
    twice: Vec<String>,
}

impl Place {
    /// Does `work` one level deeper.
    fn within<T>(&mut self, name: impl fmt::Display, work: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.at.len();
        self.at.push('/');
        self.at.push_str(&name.to_string());
        let done = work(self);
        self.at.truncate(length);
        done
    }

    fn note(&mut self, name: &str) {
        let place = format!("{}/{}", self.at, segment(name));
        if self.twice.len() < MOST && !self.twice.contains(&place) {
            self.twice.push(place);
        }
    }
}

struct Seed<'a>(&'a mut Place);

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = self.0.within(all.len(), |place| items.next_element_seed(Seed(place)))? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            if all.contains_key(&name) {
                self.0.note(&name);
            }
            let value = self.0.within(segment(&name), |place| entries.next_value_seed(Seed(place)))?;
            all.insert(name, value);
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::read;

    #[test]
    fn finds_what_is_given_twice() {
        let twice = |text: &str| read(text).expect(text).twice;
        assert_eq!(twice(r#"{"a":{"b":1},"c":[{"b":1},{"b":2}]}"#), [""; 0]);
        assert_eq!(twice(r#"{"a":1,"\u0061":2,"a":3}"#), ["/a"]);
        assert_eq!(twice(r#"[0,{"a/b":[{"~":1,"~":2}]}]"#), ["/1/a~1b/0/~0"]);
        assert_eq!(twice(&format!("[{}]", vec![r#"{"a":1,"a":1}"#; 100].join(","))).len(), super::MOST);
    }

    proptest! {
        #[test]
        fn reads_what_serde_json_reads(text in r#"[{}\[\]",:0-9a-c\\u \-.e]{0,24}"#) {
            let (ours, theirs) = (read(&text), serde_json::from_str::<Value>(&text));
            prop_assert_eq!(ours.as_ref().ok().map(|read| &read.value), theirs.as_ref().ok());
            if let (Err(ours), Err(theirs)) = (ours, theirs) {
                prop_assert_eq!(ours.to_string(), theirs.to_string());
            }
        }
    }
}
