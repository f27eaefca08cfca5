//! Marks on the keys of maps whose keys are numbers or booleans. serde reads some types through a buffer, which takes every key as a
//! text. Only the schema still says which keys are numbers.

use serde_json::{Map, Value, value::RawValue};

use super::{places, pointer};
use crate::json::text::raw_entries;

/// The beginning of a marked key.
const KEY_MARK: char = '\u{f8ff}';

/// The patterns by which schemars describes keys that are integers.
const INTEGER_KEYS: [&str; 2] = [r"^\d+$", r"^-?\d+$"];

/// Returns the JSON value `text`, which `part` of the schema `root` describes, with a mark before each key that is a number.
/// Members that name a variant come first. Returns `None` if nothing changes.
///
/// With `free`, each number or boolean is marked that the schema allows as a key among any texts: schemars does not describe the
/// keys of a map with booleans or floats.
pub fn mark_number_keys(root: &Value, part: &Value, text: &str, free: bool) -> Option<String> {
    Marking { root, free }.mark(&[part], text, 0)
}

/// A key of a text with marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key<'k> {
    /// A text.
    Text(&'k str),
    /// The JSON text of a number or a boolean.
    Number(&'k str),
}

impl<'k> Key<'k> {
    /// Returns the key that was written as `key`.
    pub fn unmark(key: &'k str) -> Self {
        match key.strip_prefix(KEY_MARK) {
            Some(number) if is_number_or_bool(number) => Self::Number(number),
            Some(text) => Self::Text(text),
            None => Self::Text(key),
        }
    }
}

/// Returns whether a key is the JSON text of a number or a boolean.
fn is_number_or_bool(key: &str) -> bool {
    let is_written = key.starts_with(|first: char| matches!(first, '-' | '0'..='9' | 't' | 'f'));
    // serde_json reads `-0` as a float.
    is_written && key != "-0" && !key.ends_with(char::is_whitespace) && serde_json::from_str::<&RawValue>(key).is_ok()
}

struct Marking<'a> {
    root: &'a Value,
    free: bool,
}

impl<'a> Marking<'a> {
    /// Returns `text` with marks, if some part of it gets one. Each of `schemas` may describe it.
    fn mark(&self, schemas: &[&'a Value], text: &str, level: usize) -> Option<String> {
        let is_inside = level <= places::MAX_NESTING && !schemas.is_empty();
        if is_inside && text.starts_with('{') {
            self.mark_object(schemas, text, level)
        } else if is_inside && text.starts_with('[') {
            self.mark_list(schemas, text, level)
        } else {
            None
        }
    }

    fn mark_list(&self, schemas: &[&'a Value], text: &str, level: usize) -> Option<String> {
        let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        let parts = self.parts(schemas, &[]);
        let marked = items.iter().enumerate().map(|(index, item)| {
            let of = |part: &&'a Map<String, Value>| {
                part.get("prefixItems").and_then(|list| list.get(index)).or_else(|| part.get("items"))
            };
            self.mark(&parts.iter().filter_map(of).collect::<Vec<_>>(), item.get(), level + 1)
        });
        let marked: Vec<Option<String>> = marked.collect();
        let items = items.iter().zip(&marked).map(|(item, marked)| marked.as_deref().unwrap_or(item.get()));
        let items: Vec<&str> = items.collect();
        marked.iter().any(Option::is_some).then(|| format!("[{}]", items.join(",")))
    }

    fn mark_object(&self, schemas: &[&'a Value], text: &str, level: usize) -> Option<String> {
        let entries: Vec<_> = raw_entries(text).collect();
        let parts = self.parts(schemas, &entries.iter().map(|(name, value)| (&**name, *value)).collect::<Vec<_>>());
        let (mut first, mut rest, mut changed) = (Vec::new(), Vec::new(), false);
        for (name, value) in &entries {
            let member = Member::of(&parts, name);
            let is_number = member.is_number || self.free && member.is_free;
            // A key that begins like a marked one gets a second mark.
            let is_marked = is_number && is_number_or_bool(name) || name.starts_with(KEY_MARK);
            let key = if is_marked { format!("{KEY_MARK}{name}") } else { name.clone().into_owned() };
            let marked = self.mark(&member.schemas, value, level + 1);
            changed |= is_marked || marked.is_some() || member.is_tag && !rest.is_empty();
            let entry = format!("{}:{}", Value::from(key), marked.as_deref().unwrap_or(value));
            if member.is_tag { first.push(entry) } else { rest.push(entry) }
        }
        first.extend(rest);
        changed.then(|| format!("{{{}}}", first.join(",")))
    }

    /// Returns `schemas` and those that apply to the same value. It leaves out those of other variants than that of `entries`.
    fn parts(&self, schemas: &[&'a Value], entries: &[(&str, &str)]) -> Vec<&'a Map<String, Value>> {
        let (mut todo, mut found): (Vec<&Value>, Vec<&Map<String, Value>>) = (schemas.to_vec(), Vec::new());
        while let Some(schema) = todo.pop() {
            let Value::Object(part) = schema else { continue };
            let is_known = found.iter().any(|known| std::ptr::eq(*known, part));
            let is_other = entries.iter().any(|(name, value)| {
                let tag = part.get("properties").and_then(|properties| properties.get(*name)).and_then(tag_of);
                tag.is_some_and(|tag| serde_json::from_str::<Value>(value).is_ok_and(|value| value != *tag))
            });
            if is_known || is_other {
                continue;
            }
            found.push(part);
            let reference = part.get("$ref").and_then(Value::as_str);
            todo.extend(reference.and_then(|to| Some(pointer::resolve(self.root, "", to)?.1)));
            for word in ["allOf", "anyOf", "oneOf"] {
                todo.extend(part.get(word).and_then(Value::as_array).into_iter().flatten());
            }
        }
        found
    }
}

/// Returns the only text that `schema` allows.
fn tag_of(schema: &Value) -> Option<&Value> {
    let only = match schema.get("enum").and_then(Value::as_array).map(Vec::as_slice) {
        Some([only]) => Some(only),
        _ => schema.get("const"),
    };
    only.filter(|only| only.is_string())
}

/// The meaning of a key in an object.
#[derive(Default)]
struct Member<'a> {
    schemas: Vec<&'a Value>,
    /// Set if the key is an integer.
    is_number: bool,
    /// Set if the key is one of any texts.
    is_free: bool,
    /// Set if the value names a variant.
    is_tag: bool,
}

impl<'a> Member<'a> {
    fn of(parts: &[&'a Map<String, Value>], name: &str) -> Self {
        let mut member = Self::default();
        let declared = |part: &&'a Map<String, Value>| part.get("properties").and_then(|all| all.get(name));
        member.schemas.extend(parts.iter().filter_map(declared));
        if !member.schemas.is_empty() {
            member.is_tag = member.schemas.iter().any(|schema| tag_of(schema).is_some());
            return member;
        }
        for part in parts {
            for (pattern, schema) in part.get("patternProperties").and_then(Value::as_object).into_iter().flatten() {
                member.is_number |= INTEGER_KEYS.contains(&pattern.as_str());
                member.schemas.push(schema);
            }
            for word in ["additionalProperties", "unevaluatedProperties"] {
                let schema = part.get(word).filter(|schema| places::is_schema(schema) && **schema != false);
                member.is_free |= schema.is_some();
                member.schemas.extend(schema);
            }
        }
        member
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn marked(schema: &Value, text: &str, free: bool) -> String {
        let marked = mark_number_keys(schema, schema, text, free);
        marked.map_or_else(|| "unchanged".to_owned(), |marked| marked.replace(KEY_MARK, "#"))
    }

    #[test]
    fn integers_are_marked_where_the_schema_has_them() {
        let numbers = json!({"type": "object", "patternProperties": {r"^-?\d+$": {"$ref": "#"}}});
        assert_eq!(marked(&numbers, r#"{"1":{"-2":[]}}"#, false), r##"{"#1":{"#-2":[]}}"##);
        assert_eq!(marked(&numbers, r#"{"01":0,"1 ":0,"+1":0,"x":0}"#, false), "unchanged");
        assert_eq!(marked(&numbers, "{\"1\":0,\"\u{f8ff}1\":0}", false), r###"{"#1":0,"##1":0}"###);
        assert_eq!(Key::unmark("\u{f8ff}1"), Key::Number("1"));
        assert_eq!(Key::unmark("\u{f8ff}\u{f8ff}1"), Key::Text("\u{f8ff}1"));
        assert_eq!(Key::unmark("1"), Key::Text("1"));
        let both = json!({"prefixItems": [true, numbers], "items": {"additionalProperties": {"type": "string"}}});
        assert_eq!(marked(&both, r#"[{"1":0},{"1":0},{"1":0}]"#, false), r##"[{"1":0},{"#1":0},{"1":0}]"##);
        assert_eq!(marked(&both, r#"[{"1":0},{"1":0},{"true":0}]"#, true), r##"[{"1":0},{"#1":0},{"#true":0}]"##);
    }

    #[test]
    fn the_tag_selects_the_variant_and_comes_first() {
        let schema = json!({"oneOf": [
            {"properties": {"t": {"const": "A"}, "c": {"patternProperties": {r"^\d+$": true}}}},
            {"properties": {"t": {"enum": ["B"]}, "c": {"additionalProperties": true}}},
        ]});
        assert_eq!(marked(&schema, r#"{"c":{"1":0},"t":"A"}"#, false), r##"{"t":"A","c":{"#1":0}}"##);
        assert_eq!(marked(&schema, r#"{"c":{"1":0},"t":"B"}"#, false), r#"{"t":"B","c":{"1":0}}"#);
        assert_eq!(marked(&schema, r#"{"t":"B","c":{"1":0}}"#, false), "unchanged");
    }
}
