//! Bodies of requests: objects that are read member by member. They may contain texts that a client has cut inside a character.
//!
//! `serde_json` reads at most 127 levels. Clients send their whole history each time, so one part that is nested deeper would
//! make this request and all later ones fail. Therefore a member stays JSON text until it is needed.

use std::{borrow::Cow, collections::BTreeMap};

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// The members of an object, each as its JSON text.
#[derive(Debug, Default)]
pub struct Members<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Members<'a> {
    /// Reads the body of a request.
    ///
    /// Fails when the body is not JSON, or not an object.
    pub fn read(body: &'a [u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(body).map(Self)
    }

    /// Returns the members of `value`, or `None` if it is not an object.
    pub fn of(value: &'a RawValue) -> Option<Self> {
        begins_with(value, b'{').then(|| serde_json::from_str(value.get()).ok().map(Self)).flatten()
    }

    /// Returns a member's JSON text.
    pub fn raw(&self, name: &str) -> Option<&'a RawValue> {
        self.0.get(name).copied()
    }

    /// Removes a member, and returns its JSON text.
    pub fn take(&mut self, name: &str) -> Option<&'a RawValue> {
        self.0.remove(name)
    }

    /// Returns a member that is a string.
    pub fn text(&self, name: &str) -> Option<String> {
        text(self.raw(name)?)
    }

    /// Returns a member as a `T`, or `None` if it is not one or is nested too deep.
    pub fn value<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        value(self.raw(name)?)
    }

    /// Returns the members of a member that is an object.
    pub fn object(&self, name: &str) -> Option<Self> {
        Self::of(self.raw(name)?)
    }

    /// Returns the names of all members.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// Returns whether the JSON text of `value` begins with `byte`, which distinguishes the kinds of values.
pub fn begins_with(value: &RawValue, byte: u8) -> bool {
    value.get().as_bytes().first() == Some(&byte)
}

/// Returns `value` as a string, or `None` if it is not one.
pub fn text(value: &RawValue) -> Option<String> {
    begins_with(value, b'"').then(|| self::value(value)).flatten()
}

/// Returns the items of `value`, or `None` if it is not a list.
pub fn list(value: &RawValue) -> Option<Vec<&RawValue>> {
    begins_with(value, b'[').then(|| serde_json::from_str(value.get()).ok()).flatten()
}

/// Returns `value` as a `T`, or `None` if it is not one or is nested too deep.
pub fn value<T: DeserializeOwned>(value: &RawValue) -> Option<T> {
    serde_json::from_str(value.get()).ok()
}

/// The length of `\uXXXX`, in bytes.
const ESCAPE: usize = 6;

/// Replaces each unpaired surrogate in `body` by the replacement character. JavaScript writes unpaired surrogates when it has
/// cut a text inside a character. A server that refused them would refuse all later requests of the conversation.
pub fn replace_lone_surrogates(body: &[u8]) -> Cow<'_, [u8]> {
    let mut replaced: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(found) = body.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        at += found;
        match (surrogate_half(body, at), surrogate_half(body, at + ESCAPE)) {
            (Some(true), Some(false)) => at += 2 * ESCAPE,
            (Some(_), _) => {
                // The replacement has the same length, so that positions do not change.
                let replaced = replaced.get_or_insert_with(|| body.to_vec());
                replaced[at..at + ESCAPE].copy_from_slice(b"\\ufffd");
                at += ESCAPE;
            }
            // Skip the escaped byte, which begins no escape.
            (None, _) => at += 2,
        }
    }
    replaced.map_or(Cow::Borrowed(body), Cow::Owned)
}

/// Returns `Some(true)` if the escape at `at` is the first half of a surrogate pair, `Some(false)` if it is the second, and
/// `None` otherwise.
fn surrogate_half(body: &[u8], at: usize) -> Option<bool> {
    match body.get(at..at + ESCAPE)? {
        [b'\\', b'u', b'd' | b'D', kind, rest @ ..] if rest.iter().all(u8::is_ascii_hexdigit) => match kind {
            b'8' | b'9' | b'a' | b'A' | b'b' | b'B' => Some(true),
            b'c' | b'C' | b'd' | b'D' | b'e' | b'E' | b'f' | b'F' => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a member's name in snake case, such as `thread_id` for `threadId`.
pub fn to_snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn members_nested_too_deep_are_skipped() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for (levels, is_read) in [(127, true), (128, false), (1_000_000, false)] {
            let body = format!(r#"{{"id":"a","deep":{},"list":[1,{}]}}"#, deep(levels), deep(levels));
            let members = Members::read(body.as_bytes()).unwrap();
            assert_eq!(members.text("id").as_deref(), Some("a"));
            let [one, deep] = list(members.raw("list").unwrap()).unwrap()[..] else { panic!("not two items") };
            assert_eq!(value(one), Some(1));
            for raw in [deep, members.raw("deep").unwrap()] {
                assert_eq!(value::<Value>(raw).is_some(), is_read);
                assert!(Members::of(raw).is_none() && text(raw).is_none());
            }
        }
        assert!(Members::read("[".repeat(4 << 20).as_bytes()).is_err());
        assert!(Members::read(format!("{{\"a\":{}", "[".repeat(4 << 20)).as_bytes()).is_err());
    }

    #[test]
    fn the_last_of_two_members_counts() {
        let members = Members::read(br#" {"a":1,"a":2,"\u0062":"\u0063"} "#).unwrap();
        assert_eq!(value(members.raw("a").unwrap()), Some(2));
        assert_eq!(members.text("b").as_deref(), Some("c"));
        assert_eq!(members.names().collect::<Vec<_>>(), ["a", "b"]);
    }

    fn read(body: &str) -> String {
        serde_json::from_slice(&replace_lone_surrogates(body.as_bytes())).unwrap()
    }

    #[test]
    fn halves_that_stand_alone_are_replaced_and_pairs_are_not() {
        assert_eq!(read(r#""a\ud83d""#), "a\u{fffd}");
        assert_eq!(read(r#""\uDE00\ud83d\ude00\ud83d\ud83d\uDE00\udbff""#), "\u{fffd}😀\u{fffd}😀\u{fffd}");
        assert_eq!(read(r#""\\ud83d \\\ud83d \u00e9 \n""#), "\\ud83d \\\u{fffd} é \n");
        assert!(matches!(replace_lone_surrogates(br#"{"a":"\ud83d\ude00 \\ud83d"}"#), Cow::Borrowed(_)));
        // The JSON parser reports a body that ends too early.
        assert_eq!(replace_lone_surrogates(br#""\ud8"#).as_ref(), br#""\ud8"#);
    }

    proptest! {
        #[test]
        fn readable_members_are_read_unchanged(value: String, cut in 0usize..64) {
            let escaped: String = value.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            prop_assert_eq!(read(&format!("\"{escaped}\"")), value.clone());
            // A text that was cut between two units can be read, too.
            let units: Vec<u16> = value.encode_utf16().skip(cut % (value.encode_utf16().count() + 1)).collect();
            let cut: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            prop_assert_eq!(read(&format!("\"{cut}\"")), String::from_utf16_lossy(&units));
        }
    }
}
