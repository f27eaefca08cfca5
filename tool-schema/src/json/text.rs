//! Reading of JSON texts: the entries of an object without a [`Value`], a value with its repeated names, and the depth.

use std::{borrow::Cow, collections::HashMap, fmt, sync::LazyLock};

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Deserializer, Map, Number, Value};

use super::split_decimal;
use crate::schema::pointer::escape_token;

/// The white space of JSON.
pub(crate) const WHITE_SPACE: [char; 4] = [' ', '\n', '\r', '\t'];

/// Returns whether a text has only JSON white space. Blank arguments mean `{}`.
pub fn is_blank(text: &str) -> bool {
    text.bytes().all(is_space)
}

/// Returns a blank text for `null`, which some models write as the arguments of a tool without parameters.
pub fn without_null(text: &str) -> &str {
    if text.trim_matches(WHITE_SPACE) == "null" { "" } else { text }
}

#[inline]
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// A cursor over the entries of a JSON object.
///
/// [`Object::enter`] moves to the first key, and [`Object::key`] past it. The caller reads the value from [`Object::value`] and
/// passes its length to [`Object::advance`]. [`Object::more`] moves to the next key. So a caller that knows the value's type
/// reads the value only once. A caller that expects a certain key calls [`Object::skip_key`] first.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a> {
    text: &'a str,
    at: usize,
}

/// An error: the text is not a JSON object. To get the reason, parse the text with `serde_json`.
#[derive(Debug)]
pub struct ScanError;

impl<'a> Object<'a> {
    /// Enters the object `text`, and moves to its first key. Returns `None` for `{}` and a blank text. Fails for other texts.
    #[inline]
    pub fn enter(text: &'a str) -> Result<Option<Self>, ScanError> {
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

    /// Moves from the end of a value to the next key. Returns `false` if the object and then the text ends. Fails otherwise.
    #[inline]
    pub fn more(&mut self) -> Result<bool, ScanError> {
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                if self.peek() == Some(b'"') { Ok(true) } else { Err(ScanError) }
            }
            Some(b'}') => self.leave(),
            _ => Err(ScanError),
        }
    }

    /// Moves past the object, which must end the text.
    #[inline]
    fn leave(&mut self) -> Result<bool, ScanError> {
        self.at += 1;
        if self.peek().is_none() { Ok(false) } else { Err(ScanError) }
    }

    /// Moves past the key if it is `name`, written without escapes. Returns whether it is. `name` must need no escapes.
    #[inline]
    pub fn skip_key(&mut self, name: &str) -> bool {
        let start = self.at + 1;
        let end = start + name.len();
        let bytes = self.text.as_bytes();
        let found = bytes.get(end) == Some(&b'"') && &bytes[start..end] == name.as_bytes();
        if found {
            self.at = end + 1;
        }
        found
    }

    /// Moves from the end of a key to its value, and returns the text from there on. Fails without a colon.
    #[inline]
    pub fn value(&mut self) -> Result<&'a str, ScanError> {
        if self.peek() != Some(b':') {
            return Err(ScanError);
        }
        self.at += 1;
        self.peek();
        Ok(&self.text[self.at..])
    }

    /// Moves past a value of `length` bytes.
    #[inline]
    pub fn advance(&mut self, length: usize) {
        self.at += length;
    }

    /// Skips white space, and returns the next byte without moving past it.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            if !is_space(byte) {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    /// Reads the key at the cursor, which is at the key's opening quote. Fails if the key is not valid.
    #[inline(never)]
    pub fn key(&mut self) -> Result<Cow<'a, str>, ScanError> {
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

/// Returns the entries of the object `text` with compact values, up to the first entry that is not JSON.
pub fn entries(text: &str) -> Vec<(String, String)> {
    raw_entries(text).map(|(name, value)| (name.into_owned(), compact(value))).collect()
}

/// Returns the last entry for each name in the object `text`, with compact values. Returns `None` if `text` is not an object.
pub fn last_entries(text: &str) -> Option<Vec<(String, String)>> {
    serde_json::from_str::<Map<String, Value>>(text).ok()?;
    let (mut last, mut places) = (Vec::new(), HashMap::new());
    for (name, value) in entries(text) {
        let at = *places.entry(name.clone()).or_insert(last.len());
        match last.get_mut(at) {
            Some((_, earlier)) => *earlier = value,
            None => last.push((name, value)),
        }
    }
    Some(last)
}

/// Returns the object with these entries, whose values are JSON.
pub fn write_object(entries: &[(String, String)]) -> String {
    let entry = |(name, value): &(String, String)| format!("{}:{value}", Value::from(name.as_str()));
    format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(","))
}

/// Returns the text of the first value `name` in the object `text`.
pub fn find_value<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    raw_entries(text).find(|(known, _)| known == name).map(|(_, value)| value)
}

/// Returns the entries of the object `text` as written, up to the first entry that is not JSON.
pub fn raw_entries(text: &str) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
    let mut object = Object::enter(text).ok().flatten();
    std::iter::from_fn(move || {
        let mut here = object?;
        let (name, value) = (here.key().ok()?, here.value().ok()?);
        let mut values = Deserializer::from_str(value).into_iter::<IgnoredAny>();
        let Some(Ok(_)) = values.next() else { return None };
        let length = values.byte_offset();
        here.advance(length);
        object = here.more().is_ok_and(|more| more).then_some(here);
        Some((name, &value[..length]))
    })
    .fuse()
}

/// Returns the items of the list `text` as written, or `None` if `text` is not a JSON list.
pub fn raw_items(text: &str) -> Option<Vec<&str>> {
    let mut rest = text.trim_matches(WHITE_SPACE).strip_prefix('[')?.trim_start_matches(WHITE_SPACE);
    let mut items = Vec::new();
    if rest.starts_with(']') {
        return (rest.len() == 1).then_some(items);
    }
    loop {
        let mut values = Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        let Some(Ok(_)) = values.next() else { return None };
        let (item, after) = rest.split_at(values.byte_offset());
        items.push(item.trim_matches(WHITE_SPACE));
        let after = after.trim_start_matches(WHITE_SPACE);
        if after == "]" {
            return Some(items);
        }
        rest = after.strip_prefix(',')?.trim_start_matches(WHITE_SPACE);
    }
}

/// Returns a JSON value without white space between its parts. Numbers keep their digits. Strings are written like in
/// `serde_json`, so that each has one form.
pub fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('"') {
        let mut texts = Deserializer::from_str(&rest[at..]).into_iter::<String>();
        let Some(Ok(text)) = texts.next() else { break };
        out.extend(rest[..at].chars().filter(|c| !c.is_ascii_whitespace()));
        out.push_str(&Value::String(text).to_string());
        rest = &rest[at + texts.byte_offset()..];
    }
    out.extend(rest.chars().filter(|c| !c.is_ascii_whitespace()));
    out
}

/// The maximum number of digits of a whole number that is written without a power: those of `u128::MAX`.
const MAX_DIGITS: usize = 39;

/// Returns JSON with each whole number in plain digits: `5.0` and `1e2` become `5` and `100`, and `-0.0` becomes `0`. Returns
/// `None` if nothing changes.
///
/// JSON Schema calls all of these integers, but `serde_json` reads them as floats. The digits are converted, so none is lost.
pub fn with_plain_integers(json: &str) -> Option<String> {
    let mut out = String::new();
    let (mut rest, mut changed) = (json, false);
    while let Some(start) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let token = &rest[start..];
        let length = match token.strip_prefix('"') {
            Some(text) => 1 + end_of_text(text)?,
            None => token.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(token.len()),
        };
        let (token, behind) = token.split_at(length);
        let plain = if token.starts_with('"') { None } else { plain_integer(token) };
        changed |= plain.is_some();
        out.push_str(&rest[..start]);
        out.push_str(plain.as_deref().unwrap_or(token));
        rest = behind;
    }
    out.push_str(rest);
    changed.then_some(out)
}

/// Returns the length of a quoted text up to and including its closing quote. `text` begins behind the opening one.
pub fn end_of_text(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes()
        .position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        })
        .map(|at| at + 1)
}

/// Returns the digits of a whole number that is written in another way.
fn plain_integer(token: &str) -> Option<String> {
    if token != "-0" && !token.contains(['.', 'e', 'E']) {
        return None;
    }
    let (digits, power) = split_decimal(token)?;
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    let zeros = usize::try_from(power).ok().filter(|zeros| digits.len() + zeros <= MAX_DIGITS)?;
    Some(format!("{}{digits}{:0<zeros$}", if token.starts_with('-') { "-" } else { "" }, ""))
}

/// The maximum number of repeated names that are listed.
const MAX_REPEATED_NAMES: usize = 8;

/// A value, and the places where an object repeats a name, which a [`Value`] does not keep.
#[derive(Debug)]
pub struct ReadValue {
    /// The value, with the last entry of a repeated name.
    pub value: Value,
    /// The JSON Pointers of repeated names, without duplicates, at most 8.
    pub repeated: Vec<String>,
}

/// Reads a JSON value and its repeated names. Fails like `serde_json`.
pub fn read(text: &str) -> Result<ReadValue, serde_json::Error> {
    let mut repeated = Vec::new();
    let mut deserializer = Deserializer::from_str(text);
    let value = Seed { place: &Place::Root, repeated: &mut repeated }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(ReadValue { value, repeated })
}

/// The place of a value. It is on the stack, because only repeated names need its text.
enum Place<'a> {
    Root,
    Item(&'a Place<'a>, usize),
    Member(&'a Place<'a>, &'a str),
}

impl Place<'_> {
    fn write(&self, pointer: &mut String) {
        match self {
            Self::Root => {}
            Self::Item(parent, index) => {
                parent.write(pointer);
                pointer.push('/');
                pointer.push_str(&index.to_string());
            }
            Self::Member(parent, name) => {
                parent.write(pointer);
                pointer.push('/');
                pointer.push_str(&escape_token(name));
            }
        }
    }
}

struct Seed<'a> {
    place: &'a Place<'a>,
    repeated: &'a mut Vec<String>,
}

impl Seed<'_> {
    /// Returns the seed of a value directly inside.
    fn inside<'b>(&'b mut self, place: &'b Place<'b>) -> Seed<'b> {
        Seed { place, repeated: self.repeated }
    }

    fn add_repeated(&mut self, name: &str) {
        let mut pointer = String::new();
        Place::Member(self.place, name).write(&mut pointer);
        if self.repeated.len() < MAX_REPEATED_NAMES && !self.repeated.contains(&pointer) {
            self.repeated.push(pointer);
        }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
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

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let (place, mut all) = (self.place, Vec::new());
        while let Some(item) = items.next_element_seed(self.inside(&Place::Item(place, all.len())))? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        let (place, mut all) = (self.place, Map::new());
        while let Some(name) = entries.next_key::<String>()? {
            if name == NUMBER && all.is_empty() && numbers_are_texts() {
                return entries.next_value::<String>()?.parse().map(Value::Number).map_err(Error::custom);
            }
            if all.contains_key(&name) {
                self.add_repeated(&name);
            }
            let value = entries.next_value_seed(self.inside(&Place::Member(place, &name)))?;
            all.insert(name, value);
        }
        Ok(Value::Object(all))
    }
}

/// The name under which `serde_json` with its feature `arbitrary_precision` hands over the text of a number, as if it were in an
/// object.
const NUMBER: &str = "$serde_json::private::Number";

/// Returns whether `serde_json` has the feature `arbitrary_precision`. Any crate of the program can turn it on.
fn numbers_are_texts() -> bool {
    // Without the feature, the digits are lost.
    static FOUND: LazyLock<bool> = LazyLock::new(|| {
        let read = serde_json::from_str::<Value>("0.10").map(|number| number.to_string());
        read.is_ok_and(|digits| digits == "0.10")
    });
    *FOUND
}

/// The open brackets and quotes of a text, which need not be valid JSON.
#[derive(Debug, Default)]
pub struct Nesting {
    /// The brackets `{` and `[` that are still open, outermost first.
    pub open: String,
    /// The maximum number of open brackets.
    pub max_depth: usize,
    /// Set if the text ends inside quotes.
    pub in_text: bool,
    /// The last character outside quotes that is not white space.
    pub last: Option<char>,
}

impl Nesting {
    pub fn of(text: &str) -> Self {
        let mut nesting = Self::default();
        let mut escaped = false;
        for c in text.chars() {
            if nesting.in_text {
                nesting.in_text = escaped || c != '"';
                escaped = !escaped && c == '\\';
                continue;
            }
            match c {
                '"' => nesting.in_text = true,
                '{' | '[' => {
                    nesting.open.push(c);
                    nesting.max_depth = nesting.max_depth.max(nesting.open.len());
                }
                '}' | ']' => drop(nesting.open.pop()),
                _ => {}
            }
            if !c.is_whitespace() {
                nesting.last = Some(c);
            }
        }
        nesting
    }
}

/// Returns whether a JSON text is nested more than `max` levels deep. The text need not be valid JSON.
pub fn exceeds_depth(text: &str, max: u32) -> bool {
    // Counting bytes is fast, and most texts have fewer brackets than the limit.
    let brackets = text.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count();
    brackets > max as usize && Nesting::of(text).max_depth > max as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn items_are_as_written() {
        assert_eq!(raw_items(r#" [ 1.10 , "a,]" ,[2, {}],null ] "#).unwrap(), ["1.10", r#""a,]""#, "[2, {}]", "null"]);
        assert_eq!(raw_items("[ ]").unwrap(), [""; 0]);
        for wrong in ["", "[", "[1", "[1,]", "[1]]", "[,1]", "{}", "1", "[1 2]"] {
            assert_eq!(raw_items(wrong), None, "{wrong}");
        }
    }

    fn read_object(text: &str) -> Option<Map<String, Value>> {
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
    fn whole_numbers_are_written_in_digits() {
        let cases = [
            ("5.0", "5"),
            ("1e2", "100"),
            ("-0.0", "0"),
            ("-0", "0"),
            ("-1.50e1", "-15"),
            ("9007199254740993.0", "9007199254740993"),
            ("3.40282366920938463463374607431768211455e38", "340282366920938463463374607431768211455"),
            (r#"{"1.0":[5.0,"2.0 \"3.0"],"b":0.5e1}"#, r#"{"1.0":[5,"2.0 \"3.0"],"b":5}"#),
        ];
        for (given, plain) in cases {
            assert_eq!(with_plain_integers(given).as_deref(), Some(plain), "{given}");
        }
        for given in ["5", "-7", "0.5", "1e-2", "1e39", "1e99999999999999999999", r#""5.0""#, "[true, null]", "\"5.0"] {
            assert_eq!(with_plain_integers(given), None, "{given}");
        }
    }

    #[test]
    fn objects_are_read_as_serde_json_reads_them() {
        for text in
            ["{}", " { } ", r#"{"a":1}"#, r#"{ "a" : [1, {"b": "}"}] , "c\u0041" : null }"#, r#"{"a":-1.5e3,"b":"x"}"#]
        {
            assert_eq!(read_object(text), serde_json::from_str(text).ok(), "{text}");
        }
        assert_eq!(read_object("  "), Some(Map::new()), "blank text means no arguments");
    }

    #[test]
    fn objects_are_refused_as_serde_json_refuses_them() {
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
            assert_eq!(read_object(text), None, "{text}");
        }
    }

    #[test]
    fn digits_stay_and_white_space_goes() {
        let text = " { \"a\" : [ 123456789012345678901234567890 , -0.10 ] ,\n\"b c\":\"x \\u0041\\n y\" , \"d\":{} } ";
        let expected = [("a", "[123456789012345678901234567890,-0.10]"), ("b c", r#""x A\n y""#), ("d", "{}")];
        assert_eq!(entries(text), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert!(entries("[1]").is_empty());
    }

    #[test]
    fn finds_repeated_names() {
        let repeated = |text: &str| read(text).expect(text).repeated;
        assert_eq!(repeated(r#"{"a":{"b":1},"c":[{"b":1},{"b":2}]}"#), [""; 0]);
        assert_eq!(repeated(r#"{"a":1,"\u0061":2,"a":3}"#), ["/a"]);
        assert_eq!(repeated(r#"[0,{"a/b":[{"~":1,"~":2}]}]"#), ["/1/a~1b/0/~0"]);
        assert_eq!(repeated(&format!("[{}]", vec![r#"{"a":1,"a":1}"#; 100].join(","))).len(), MAX_REPEATED_NAMES);
    }

    proptest! {
        #[test]
        fn objects_agree_with_serde_json(text in r#"[{}\[\]",:0-9a-c\\u \-.e]{0,24}"#) {
            if !text.trim().is_empty() {
                prop_assert_eq!(read_object(&text), serde_json::from_str(&text).ok());
            }
        }

        #[test]
        fn compact_json_has_the_same_value(text in r#"[{}\[\]",:0-9a-c\\u \-.e]{0,24}"#) {
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                let line = compact(&text);
                prop_assert!(!line.contains('\n'));
                prop_assert_eq!(serde_json::from_str::<Value>(&line).expect("still JSON"), value);
            }
        }

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
