//! The reading of values that a model sent in another form, such as `"5"` for an integer. Only the schema decides what is read.

mod place;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, cell::Cell};

use serde_json::{Map, Value};

use self::place::{Place, Reader};
use super::{CompiledSchema, pointer};
use crate::feedback::excerpt;
use crate::json::text::{self, WHITE_SPACE};

/// The maximum number of steps of the search for values. A step takes some nanoseconds.
const MAX_STEPS: usize = 1 << 20;
/// The maximum number of readings that are listed.
const MAX_LISTED: usize = 20;
/// The maximum nesting of values, and of JSON texts inside them.
const MAX_DEPTH: usize = 64;
/// The maximum length of a place, in characters.
const MAX_PATH_CHARACTERS: usize = 120;
/// The maximum length of a value in a reading, in characters.
const MAX_VALUE_CHARACTERS: usize = 60;

/// Arguments of which some values were read in another form than they were sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadText {
    /// The JSON text with the values as they were read. The other values are as they were sent.
    pub text: String,
    /// A sentence for each value that was read. There is at least one, and at most 21.
    pub readings: Vec<String>,
}

/// Reads the values in `text` that do not fit `schema`, but have only one meaning there. Returns `None` if nothing is read.
///
/// These values are read:
/// - a text of digits for an integer: `"5"`, and not `"-5"`, `"05"` or `"1,000"`;
/// - `"true"` and `"false"` for a boolean;
/// - a text for one of several texts, if only one of them is equal apart from case, and from spaces, `_` and `-` between letters;
/// - one of these values for a list of them: `5` and `"5"` for a list of integers, and not in a list of lists;
/// - the JSON text of an object for an object.
///
/// No value is read where a text, a number, or one of several kinds of values is valid, and none in a map. None is read in an object
/// whose schema has properties beside a union. `null` may be valid everywhere.
///
/// Nothing is read if `text` is valid already, if the whole result is not valid, or if the search takes more than about a million steps.
///
/// ```
/// use tool_schema::schema::read_values;
///
/// let schema = serde_json::json!({
///     "type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}, "additionalProperties": false,
/// });
/// let read = read_values(&schema, r#"{"n": "5", "s": "5"}"#).unwrap();
/// assert_eq!(read.text, r#"{"n":5,"s":"5"}"#);
/// assert_eq!(read.readings, [r#"n: read "5" as 5"#]);
/// assert_eq!(read_values(&schema, r#"{"n": "+5"}"#), None);
/// ```
pub fn read_values(schema: &Value, text: &str) -> Option<ReadText> {
    let sent = read_whole(text)?;
    let compiled = CompiledSchema::compile(schema).ok().filter(|compiled| compiled.warnings().is_empty())?;
    if compiled.is_valid(&sent) {
        return None;
    }
    let left = Cell::new(MAX_STEPS);
    let mut work = Work { reader: Reader { root: schema, left: &left }, readings: Vec::new(), more: 0 };
    let new = work.read(schema, text, "", (0, false))?;
    if left.get() == 0 || !compiled.is_valid(&read_whole(&new)?) {
        return None;
    }
    let Work { mut readings, more, .. } = work;
    if more > 0 {
        readings.push(format!("and {more} more values were read"));
    }
    Some(ReadText { text: new, readings })
}

/// Returns a JSON value, or `None` if it has a name twice: then it has two meanings.
fn read_whole(text: &str) -> Option<Value> {
    text::read(text).ok().filter(|read| read.repeated.is_empty()).map(|read| read.value)
}

/// The readings of one text.
struct Work<'a> {
    reader: Reader<'a>,
    readings: Vec<String>,
    /// The number of readings that are not listed.
    more: usize,
}

impl<'a> Work<'a> {
    /// Returns the value `text` as it was read, or `None` if it stays as it was sent. `at` is its JSON Pointer. The last parameter has
    /// the depth of the value, and whether it is an item of a list.
    fn read(&mut self, schema: &'a Value, text: &str, at: &str, (depth, is_item): (usize, bool)) -> Option<String> {
        if depth > MAX_DEPTH {
            return None;
        }
        let text = text.trim_matches(WHITE_SPACE);
        match self.reader.place(schema, text)? {
            Place::Object(properties) if text.starts_with('{') => self.read_members(properties, text, at, depth),
            Place::Object(_) => {
                let inner = read_text(text)?;
                if !read_whole(&inner)?.is_object() {
                    return None;
                }
                self.note(at, || "read the text as an object".to_owned());
                Some(self.read(schema, &inner, at, (depth + 1, false)).unwrap_or_else(|| text::compact(&inner)))
            }
            Place::List(items) if text.starts_with('[') => self.read_items(items, text, at, depth),
            // `[1, 2]` for a list of lists can be one list, or a list of two.
            Place::List(_) if is_item => None,
            Place::List(items) => {
                let item = self.reader.single(items, text)?;
                let new = format!("[{item}]");
                self.note(at, || sentence(text, &new));
                Some(new)
            }
            place => {
                let new = self.reader.read_scalar(&place, text)?;
                self.note(at, || sentence(text, &new));
                Some(new)
            }
        }
    }

    fn read_members(
        &mut self,
        properties: &'a Map<String, Value>,
        text: &str,
        at: &str,
        depth: usize,
    ) -> Option<String> {
        let mut is_read = false;
        let mut members = Vec::new();
        for (name, value) in text::raw_entries(text) {
            let schema = properties.get(&*name);
            let new = schema.and_then(|schema| self.read(schema, value, &pointer::join(at, &name), (depth + 1, false)));
            is_read |= new.is_some();
            members.push((name.into_owned(), new.unwrap_or_else(|| value.to_owned())));
        }
        is_read.then(|| text::write_object(&members))
    }

    fn read_items(&mut self, schema: &'a Value, text: &str, at: &str, depth: usize) -> Option<String> {
        let mut is_read = false;
        let mut items = Vec::new();
        for (index, value) in text::raw_items(text)?.into_iter().enumerate() {
            let new = self.read(schema, value, &format!("{at}/{index}"), (depth + 1, true));
            is_read |= new.is_some();
            items.push(new.map_or(Cow::Borrowed(value), Cow::Owned));
        }
        is_read.then(|| format!("[{}]", items.join(",")))
    }

    fn note(&mut self, at: &str, sentence: impl FnOnce() -> String) {
        if self.readings.len() == MAX_LISTED {
            self.more += 1;
            return;
        }
        let names: Vec<String> = at.split('/').skip(1).map(pointer::last).collect();
        let place = if names.is_empty() { "arguments".to_owned() } else { names.join(".") };
        self.readings.push(format!("{}: {}", excerpt(&place, MAX_PATH_CHARACTERS), sentence()));
    }
}

/// Returns the content of a JSON string.
fn read_text(json: &str) -> Option<String> {
    json.starts_with('"').then(|| serde_json::from_str(json).ok()).flatten()
}

/// Returns whether a text is an integer as JSON writes it, without a sign.
fn is_integer(text: &str) -> bool {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits && (text == "0" || !text.starts_with('0'))
}

fn sentence(sent: &str, new: &str) -> String {
    format!("read {} as {}", excerpt(sent, MAX_VALUE_CHARACTERS), excerpt(new, MAX_VALUE_CHARACTERS))
}
