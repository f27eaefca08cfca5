//! JSON as it was written: digits that no number type of ours holds are still there.

use std::{borrow::Cow, collections::HashMap};

use serde::de::IgnoredAny;
use serde_json::{Deserializer, Map, Value};

use super::Object;

/// The entries of the object that `text` consists of, each value on one line; up to the first that is no JSON.
pub(crate) fn entries(text: &str) -> Vec<(String, String)> {
    parts(text).map(|(name, value)| (name.into_owned(), one_line(value))).collect()
}

/// The entries of the object that `text` consists of, of one name the last; `None` where it is no object.
pub(crate) fn members(text: &str) -> Option<Vec<(String, String)>> {
    serde_json::from_str::<Map<String, Value>>(text).ok()?;
    let (mut members, mut places) = (Vec::new(), HashMap::new());
    for (name, value) in entries(text) {
        let at = *places.entry(name.clone()).or_insert(members.len());
        match members.get_mut(at) {
            Some((_, known)) => *known = value,
            None => members.push((name, value)),
        }
    }
    Some(members)
}

/// The object with these entries, whose values are JSON.
pub(crate) fn object(entries: &[(String, String)]) -> String {
    let entry = |(name, value): &(String, String)| format!("{}:{value}", Value::from(name.as_str()));
    format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(","))
}

/// The value of the first entry `name` of the object that `text` consists of, as it is written.
pub(crate) fn entry<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    parts(text).find(|(known, _)| known == name).map(|(_, value)| value)
}

/// The entries as they are written; up to the first that is no JSON.
fn parts(text: &str) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
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

/// A JSON value without the white space between its parts. Numbers keep their digits; texts are written the way
/// `serde_json` writes them, so that one text has one form.
fn one_line(json: &str) -> String {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::{entries, one_line};

    #[test]
    fn digits_stay_and_white_space_goes() {
        let text = " { \"a\" : [ 123456789012345678901234567890 , -0.10 ] ,\n\"b c\":\"x \\u0041\\n y\" , \"d\":{} } ";
        let expected = [("a", "[123456789012345678901234567890,-0.10]"), ("b c", r#""x A\n y""#), ("d", "{}")];
        assert_eq!(entries(text), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert!(entries("[1]").is_empty());
    }

    proptest! {
        #[test]
        fn means_the_same(text in r#"[{}\[\]",:0-9a-c\\u \-.e]{0,24}"#) {
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                let line = one_line(&text);
                prop_assert!(!line.contains('\n'));
                prop_assert_eq!(serde_json::from_str::<Value>(&line).expect("still JSON"), value);
            }
        }
    }
}
