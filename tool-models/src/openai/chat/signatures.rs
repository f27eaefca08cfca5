//! The signatures of a turn, in the form in which a conversation keeps them. Each goes back to the origin that sent it.
//!
//! - Gemini signs calls: the JSON object `extra_content` of a call. Most signatures arrive with the begin of the call, and are kept
//!   before it. One that arrives later has a number in front, such as `2 {…}`: it belongs to the second of the calls before it, from
//!   the last.
//! - OpenRouter, and gateways like it, sign turns: the list `reasoning_details`, which arrives in pieces.

use std::fmt;

use serde_json::{Map, Value};

/// The part of a turn to which a signature belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signed {
    NextCall,
    /// The call so many places before, with 1 for the last one.
    EarlierCall(usize),
    Turn,
}

/// Returns the form of a signature that arrived after its call.
pub fn mark_late(json: impl fmt::Display, places: usize) -> String {
    format!("{places} {json}")
}

/// Returns the part to which a signature belongs, and its JSON; `None` for another text.
pub fn read(value: &str) -> Option<(Signed, &str)> {
    if value.starts_with('{') {
        return Some((Signed::NextCall, value));
    }
    if value.starts_with('[') {
        return Some((Signed::Turn, value));
    }
    let (places, json) = value.split_once(' ').filter(|(_, json)| json.starts_with('{'))?;
    Some((Signed::EarlierCall(places.parse().ok()?), json))
}

/// The list `reasoning_details` of a turn so far.
#[derive(Debug, Default)]
pub struct Details {
    entries: Vec<Map<String, Value>>,
    /// The length of all pieces.
    bytes: usize,
}

/// The length of all pieces after which a turn has no signature, so that a server cannot fill the memory.
const MAX_DETAIL_BYTES: usize = 4 << 20;

impl Details {
    /// Adds a piece. It continues the entry of the same index, type and id.
    pub fn push(&mut self, piece: Map<String, Value>) {
        let length = |value: &Value| value.as_str().map_or(8, str::len);
        self.bytes += piece.iter().map(|(member, value)| member.len() + length(value)).sum::<usize>();
        if self.bytes > MAX_DETAIL_BYTES {
            return self.entries.clear();
        }
        let is_same = |known: &Map<String, Value>, member: &str, may_lack: bool| {
            let (known, new) = (known.get(member).unwrap_or(&Value::Null), piece.get(member).unwrap_or(&Value::Null));
            known == new || (may_lack && (known.is_null() || new.is_null()))
        };
        let entry = self.entries.iter_mut().rfind(|known| {
            piece.get("index").is_some_and(|index| !index.is_null())
                && is_same(known, "index", false)
                && is_same(known, "type", false)
                && is_same(known, "id", true)
        });
        let Some(entry) = entry else { return self.entries.push(piece) };
        for (member, value) in piece {
            match (entry.get_mut(&member), value) {
                (_, Value::Null) => {}
                (Some(Value::String(text)), Value::String(more))
                    if ["text", "summary", "data"].contains(&member.as_str()) =>
                {
                    text.push_str(&more);
                }
                (_, value) => {
                    entry.insert(member, value);
                }
            }
        }
    }

    /// Returns the list as JSON, if it has data that only its sender can read.
    pub fn to_signature(&self) -> Option<String> {
        let is_sealed = |entry: &Map<String, Value>| {
            let has_text =
                |member: &str| entry.get(member).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
            has_text("signature") || has_text("data")
        };
        self.entries.iter().any(is_sealed).then(|| serde_json::to_string(&self.entries).expect("JSON is JSON"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mark_names_the_call() {
        assert_eq!(read("{}"), Some((Signed::NextCall, "{}")));
        assert_eq!(read(&mark_late("{}", 2)), Some((Signed::EarlierCall(2), "{}")));
        assert_eq!(read("[]"), Some((Signed::Turn, "[]")));
        for other in ["", "seal", "a {}", "2 seal"] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn details_are_put_together() {
        let signature = |pieces: Value| {
            let mut details = Details::default();
            serde_json::from_value::<Vec<_>>(pieces).unwrap().into_iter().for_each(|piece| details.push(piece));
            details.to_signature().map(|json| serde_json::from_str::<Value>(&json).unwrap())
        };
        let claude = json!([
            {"type": "reasoning.text", "text": "Let", "format": "anthropic-claude-v1", "index": 0},
            {"type": "reasoning.text", "text": " me", "signature": null, "index": 0},
            {"type": "reasoning.text", "signature": "Et8B", "index": 0},
        ]);
        let whole = json!([{"type": "reasoning.text", "text": "Let me", "format": "anthropic-claude-v1", "index": 0, "signature": "Et8B"}]);
        assert_eq!(signature(claude), Some(whole));
        let gemini = json!([
            {"type": "reasoning.encrypted", "data": "a", "id": "tool_1", "index": 0},
            {"type": "reasoning.encrypted", "data": "b", "id": "tool_2", "index": 0},
            {"type": "reasoning.encrypted", "data": "c"},
        ]);
        assert_eq!(signature(gemini.clone()), Some(gemini));
        assert_eq!(signature(json!([{"type": "reasoning.text", "text": "Hm.", "index": 0}])), None);
        let much = "x".repeat(MAX_DETAIL_BYTES);
        assert_eq!(signature(json!([{"data": "a"}, {"data": much}, {"data": "b"}])), None);
    }
}
