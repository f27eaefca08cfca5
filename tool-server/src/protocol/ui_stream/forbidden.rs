//! What clients do not read.

use serde_json::Value;

use crate::protocol::whole::whole;
use tool_runtime::json::is_deeper;

/// How deep JSON may be nested. Clients send it back with the next request, where it lies some levels deeper, and readers of JSON
/// take 127.
const DEEP: u32 = 100;

/// Whether clients give up the whole answer for this JSON, because it could change the prototype of an object, or could not send it
/// back. Inputs, outputs and data are then written as a text.
pub(super) fn is_forbidden(json: &str) -> bool {
    // Names can be written with escapes.
    let is_suspect = ["__proto__", "constructor", "\\u00"].iter().any(|part| json.contains(part));
    let read = || serde_json::from_slice(&whole(json.as_bytes()));
    is_deeper(json, DEEP) || is_suspect && read().map_or(true, |value| is_hostile(&value))
}

fn is_hostile(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().any(is_hostile),
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            let is_prototype = name == "__proto__" || name == "constructor" && value.get("prototype").is_some();
            is_prototype || is_hostile(value)
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nested_too_deep_is_forbidden_and_brackets_in_texts_are_not_counted() {
        let nested = |depth: u32| ["[", "]"].map(|bracket| bracket.repeat(depth as usize)).concat();
        assert!(!is_forbidden(&nested(DEEP)));
        assert!(is_forbidden(&nested(DEEP + 1)));
        let text = format!(r#"{{"a":"\"{}","b":{}}}"#, "[".repeat(500), nested(DEEP - 1));
        assert!(!is_forbidden(&text));
        assert!(!is_forbidden(&"[],".repeat(500)));
    }

    #[test]
    fn names_that_change_prototypes_are_forbidden_wherever_and_however_they_are_written() {
        for json in [
            r#"{"__proto__":1}"#,
            r#"[{"a":{"__proto__" : null}}]"#,
            r#"{"\u005f_proto__":1}"#,
            r#"{"a":"\ud83d","__proto__":1}"#,
            r#"{"a":1e999,"__proto__":1}"#,
            r#"{"constructor":{"prototype":{}}}"#,
            r#"{"\u0063onstructor":{"prototype":1}}"#,
        ] {
            assert!(is_forbidden(json), "{json}");
        }
        for json in [
            r#"{"kind":"constructor","of":"__proto__"}"#,
            r#"{"constructor":"prototype","prototype":1}"#,
            r#"{"a":"\u0000 \"__proto__\":1"}"#,
            "7",
            "",
        ] {
            assert!(!is_forbidden(json), "{json}");
        }
    }
}
