//! The keywords that hold schemas, and walks over a whole schema.

use serde_json::{Map, Value};

use super::pointer;

/// The maximum nesting of a schema's JSON. Deeper parts are replaced by `true`. `serde_json` itself reads 128 levels.
pub(super) const MAX_NESTING: usize = 120;

/// The form in which a keyword holds schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Nothing,
    One,
    Many,
    Named,
}

/// Returns the form in which the keyword `word` holds schemas in `value`. In older drafts, `items` can hold a list of schemas.
/// `dependencies` also holds lists of names, which walks skip.
pub(super) fn holds(word: &str, value: &Value) -> Holds {
    match word {
        "items" if value.is_array() => Holds::Many,
        "items"
        | "additionalItems"
        | "additionalProperties"
        | "contains"
        | "contentSchema"
        | "else"
        | "if"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Holds::One,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Holds::Many,
        "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties" | "properties" => {
            Holds::Named
        }
        _ => Holds::Nothing,
    }
}

/// Returns whether `value` can be a schema: an object or a boolean.
pub(super) fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

/// Returns the value of `word`. Nearly all schemas have so few keywords that comparing them is faster than hashing.
pub(super) fn get<'a>(schema: &'a Map<String, Value>, word: &str) -> Option<&'a Value> {
    if schema.len() > 8 {
        return schema.get(word);
    }
    schema.iter().find(|(key, _)| *key == word).map(|(_, value)| value)
}

/// Returns the schemas directly inside `schema`, each with its keyword and its JSON Pointer below `at`.
pub fn children<'a>(schema: &'a Value, at: &str) -> Vec<(&'a str, String, &'a Value)> {
    let mut found = Vec::new();
    for (word, value) in schema.as_object().into_iter().flatten() {
        let at = || pointer::join(at, word);
        match (holds(word, value), value) {
            (Holds::One, one) => found.push((word.as_str(), at(), one)),
            (Holds::Many, Value::Array(list)) => {
                found.extend(list.iter().enumerate().map(|(i, one)| (word.as_str(), format!("{}/{i}", at()), one)));
            }
            (Holds::Named, Value::Object(named)) => {
                found.extend(named.iter().map(|(name, one)| (word.as_str(), pointer::join(&at(), name), one)));
            }
            _ => {}
        }
    }
    found.retain(|(.., one)| is_schema(one));
    found
}

/// Calls `visit` for each schema directly inside `schema`, with its keyword and, if the keyword holds named schemas, its name.
pub(super) fn visit_children(schema: &mut Map<String, Value>, mut visit: impl FnMut(&str, Option<&str>, &mut Value)) {
    for (word, value) in schema.iter_mut() {
        match (holds(word, value), value) {
            (Holds::One, value) if is_schema(value) => visit(word, None, value),
            (Holds::Many, Value::Array(list)) => {
                list.iter_mut().filter(|one| is_schema(one)).for_each(|one| visit(word, None, one));
            }
            (Holds::Named, Value::Object(named)) => {
                named.iter_mut().filter(|(_, one)| is_schema(one)).for_each(|(name, one)| visit(word, Some(name), one));
            }
            _ => {}
        }
    }
}

/// Returns whether a keyword has no effect on validity.
pub(super) fn is_annotation(word: &str) -> bool {
    is_structure(word) || is_note(word)
}

/// Returns whether a keyword only informs the reader of the schema.
pub(super) fn is_note(word: &str) -> bool {
    matches!(word, "title" | "description" | "default" | "examples" | "deprecated" | "readOnly" | "writeOnly")
}

/// Returns whether a keyword only structures a schema document.
pub fn is_structure(word: &str) -> bool {
    matches!(
        word,
        "$schema"
            | "$id"
            | "id"
            | "$defs"
            | "definitions"
            | "$comment"
            | "$anchor"
            | "$dynamicAnchor"
            | "$recursiveAnchor"
            | "$vocabulary"
    )
}

/// Calls `visit` for `root` and then each schema in it, with the schema's JSON Pointer.
pub fn visit<'a>(root: &'a Value, visit: &mut impl FnMut(&str, &'a Value)) {
    fn visit_below<'a>(schema: &'a Value, at: &str, visit: &mut impl FnMut(&str, &'a Value)) {
        visit(at, schema);
        for (_, place, inner) in children(schema, at) {
            visit_below(inner, &place, visit);
        }
    }
    visit_below(root, "", visit);
}

/// Returns each `$ref` in `root` without a target: the JSON Pointer of the schema that has the `$ref`, and its text.
pub fn unresolved(root: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    visit(root, &mut |at, schema| {
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str)
            && pointer::resolve(root, at, reference).is_none()
        {
            found.push((at.to_owned(), reference.to_owned()));
        }
    });
    found
}

/// Returns the part of `root` at `at` as a separate schema, with the definitions of `root`. Returns `None` if it is no object.
pub fn extract(root: &Value, at: &str) -> Option<Value> {
    let mut part: Map<String, Value> = root.pointer(at)?.as_object()?.clone();
    for word in ["$schema", "$defs", "definitions"] {
        if let Some(value) = root.get(word) {
            part.entry(word).or_insert_with(|| value.clone());
        }
    }
    Some(Value::Object(part))
}

/// Returns the JSON Pointers of the values that satisfy `wanted`. Inner values come before the values around them.
pub(super) fn find(value: &Value, wanted: &dyn Fn(&Value) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    collect(value, String::new(), wanted, &mut found);
    found
}

fn collect(value: &Value, place: String, wanted: &dyn Fn(&Value) -> bool, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, part) in map {
                collect(part, pointer::join(&place, key), wanted, found);
            }
        }
        Value::Array(items) => {
            for (index, part) in items.iter().enumerate() {
                collect(part, format!("{place}/{index}"), wanted, found);
            }
        }
        _ => {}
    }
    if wanted(value) {
        found.push(place);
    }
}

/// The keywords for readers, which have no effect on validity.
const TEXTS: [&str; 5] = ["$comment", "deprecated", "description", "examples", "title"];

/// Returns the schema without the keywords for readers: `title`, `description`, `examples`, `$comment` and `deprecated`.
/// Properties with these names stay, and so do the contents of `enum`, `const` and `default`.
///
/// A schema is returned unchanged if one of its references may lead into such a keyword.
pub fn without_texts(schema: &Value) -> Value {
    let mut refers = false;
    visit(schema, &mut |_, part| {
        let references = ["$ref", "$dynamicRef", "$recursiveRef"].into_iter();
        let mut targets = references.filter_map(|word| part.get(word)?.as_str());
        refers |= targets.any(|target| {
            // A definition or property may have any name.
            let names = |holder: &str| matches!(holder, "$defs" | "definitions" | "properties");
            let segments: Vec<&str> = target.split('/').collect();
            segments.windows(2).any(|pair| TEXTS.contains(&pair[1]) && !names(pair[0]))
        });
    });
    let mut copy = schema.clone();
    if !refers {
        remove_texts(&mut copy);
    }
    copy
}

fn remove_texts(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    map.retain(|word, _| !TEXTS.contains(&word.as_str()));
    visit_children(map, |_, _, child| remove_texts(child));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{extract, unresolved, visit, without_texts};

    #[test]
    fn references_that_lead_nowhere_are_found() {
        let schema = json!({
            "properties": { "a": { "$ref": "#/$defs/A" }, "b": { "items": { "$ref": "#/$defs/B" } } },
            "$defs": { "A": { "type": "string" } },
        });
        assert_eq!(unresolved(&schema), [("/properties/b/items".to_owned(), "#/$defs/B".to_owned())]);
        let mut places = Vec::new();
        visit(&schema, &mut |at, _| places.push(at.to_owned()));
        assert_eq!(places, ["", "/properties/a", "/properties/b", "/properties/b/items", "/$defs/A"]);
        assert_eq!(extract(&schema, "/properties/a"), Some(json!({ "$ref": "#/$defs/A", "$defs": schema["$defs"] })));
    }

    #[test]
    fn only_texts_for_readers_are_removed() {
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
    fn targets_of_references_count() {
        let leads = json!({ "examples": [{ "type": "string" }], "items": { "$ref": "#/examples/0" } });
        assert_eq!(without_texts(&leads), leads);
        let named = json!({ "title": "x", "$defs": { "title": {} }, "items": { "$ref": "#/$defs/title" } });
        assert_eq!(without_texts(&named), json!({ "$defs": { "title": {} }, "items": { "$ref": "#/$defs/title" } }));
    }
}
