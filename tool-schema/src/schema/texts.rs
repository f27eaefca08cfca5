//! A schema without what is only there to be read.

use serde_json::{Map, Value};

use super::places::each;
use super::words::{Holds, holds, is_schema};

/// The keywords that change nothing about which values a schema accepts.
const TEXTS: [&str; 5] = ["$comment", "deprecated", "description", "examples", "title"];

/// Returns the schema without the keywords that are only there to be read: `title`, `description`, `examples`, `$comment` and
/// `deprecated`. Properties of these names stay, and so does what stands in `enum`, `const` and `default`.
///
/// A schema with a reference that may lead into such a text stays as it is.
pub fn without_texts(schema: &Value) -> Value {
    let mut refers = false;
    each(schema, &mut |_, part| {
        let references = ["$ref", "$dynamicRef", "$recursiveRef"].into_iter();
        let mut targets = references.filter_map(|word| part.get(word)?.as_str());
        refers |= targets.any(|target| {
            // A definition or property may have any name.
            let names = |holder: &str| matches!(holder, "$defs" | "definitions" | "properties");
            let segments: Vec<&str> = target.split('/').collect();
            segments.windows(2).any(|pair| TEXTS.contains(&pair[1]) && !names(pair[0]))
        });
    });
    if refers { schema.clone() } else { stripped(schema) }
}

fn stripped(schema: &Value) -> Value {
    let Value::Object(all) = schema else { return schema.clone() };
    let part = |part: &Value| if is_schema(part) { stripped(part) } else { part.clone() };
    let word = |(word, value): (&String, &Value)| {
        let value = match (holds(word, value), value) {
            (Holds::One, value) => part(value),
            (Holds::Many, Value::Array(list)) => list.iter().map(part).collect(),
            (Holds::Named, Value::Object(named)) => {
                Value::Object(named.iter().map(|(name, value)| (name.clone(), part(value))).collect())
            }
            (_, value) => value.clone(),
        };
        (word.clone(), value)
    };
    let kept = all.iter().filter(|(word, _)| !TEXTS.contains(&word.as_str()));
    Value::Object(kept.map(word).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::without_texts;

    #[test]
    fn only_what_is_there_to_be_read_goes() {
        let schema = json!({
            "title": "Add", "description": "Adds.", "$comment": "x", "type": "object",
            "properties": {
                "title": { "type": "string", "description": "A title.", "examples": ["a"] },
                "description": { "enum": [{ "description": "kept" }], "deprecated": true },
                "list": { "items": { "title": "One", "const": { "title": "kept" } }, "default": [{ "title": "kept" }] },
            },
            "required": ["title"],
            "oneOf": [{ "description": "a", "required": ["list"] }, true],
            "dependencies": { "title": ["description"], "list": { "description": "b", "minProperties": 1 } },
            "$defs": { "description": { "description": "gone", "type": "null" } },
            "additionalProperties": { "title": "gone" },
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "title": { "type": "string" },
                "description": { "enum": [{ "description": "kept" }] },
                "list": { "items": { "const": { "title": "kept" } }, "default": [{ "title": "kept" }] },
            },
            "required": ["title"],
            "oneOf": [{ "required": ["list"] }, true],
            "dependencies": { "title": ["description"], "list": { "minProperties": 1 } },
            "$defs": { "description": { "type": "null" } },
            "additionalProperties": {},
        });
        assert_eq!(without_texts(&schema), expected);
    }

    #[test]
    fn what_a_reference_leads_to_counts() {
        let leads = json!({ "examples": [{ "type": "string" }], "items": { "$ref": "#/examples/0" } });
        assert_eq!(without_texts(&leads), leads);
        let named = json!({ "title": "x", "$defs": { "title": {} }, "items": { "$ref": "#/$defs/title" } });
        assert_eq!(without_texts(&named), json!({ "$defs": { "title": {} }, "items": { "$ref": "#/$defs/title" } }));
    }
}
