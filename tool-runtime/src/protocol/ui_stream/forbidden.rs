//! What clients do not read.

use serde_json::Value;

use crate::protocol::whole::whole;

/// How deep JSON may be nested. Clients send it back with the next request, where it lies some levels deeper, and readers of JSON
/// take 127.
const DEEP: usize = 100;

/// Whether clients give up the whole answer for this JSON, because it could change the prototype of an object, or could not send it
/// back. Inputs, outputs and data are then written as a text.
pub(super) fn is_forbidden(json: &[u8]) -> bool {
    // Names can be written with escapes.
    let is_suspect = ["__proto__", "constructor", "\\u00"].iter().any(|part| has(json, part.as_bytes()));
    is_too_deep(json) || is_suspect && serde_json::from_slice(&whole(json)).map_or(true, |value| is_hostile(&value))
}

fn is_too_deep(json: &[u8]) -> bool {
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_text,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => depth += 1,
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEP {
            return true;
        }
    }
    false
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

fn has(json: &[u8], part: &[u8]) -> bool {
    json.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nested_too_deep_is_forbidden_and_brackets_in_texts_are_not_counted() {
        let nested = |depth| ["[".repeat(depth), "]".repeat(depth)].concat();
        assert!(!is_forbidden(nested(DEEP).as_bytes()));
        assert!(is_forbidden(nested(DEEP + 1).as_bytes()));
        let text = format!(r#"{{"a":"\"{}","b":{}}}"#, "[".repeat(500), nested(DEEP - 1));
        assert!(!is_forbidden(text.as_bytes()));
        assert!(!is_forbidden("[],".repeat(500).as_bytes()));
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
            assert!(is_forbidden(json.as_bytes()), "{json}");
        }
        for json in [
            r#"{"kind":"constructor","of":"__proto__"}"#,
            r#"{"constructor":"prototype","prototype":1}"#,
            r#"{"a":"\u0000 \"__proto__\":1"}"#,
            "7",
            "",
        ] {
            assert!(!is_forbidden(json.as_bytes()), "{json}");
        }
    }
}
