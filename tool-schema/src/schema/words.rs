//! Which keywords hold schemas, and the walk over them.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::pointer;

/// How a keyword holds schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Nothing,
    One,
    Many,
    Named,
}

/// Returns the way in which `word` holds schemas in `value`. An old `items` can hold a list, an old `dependencies` also
/// holds lists of names, which are not schemas: walks skip them.
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

/// Returns whether `value` can be a schema at all.
pub(super) fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

/// Returns the value of `word`. Nearly every schema has so few keywords that looking at them takes less time than hashing
/// one.
pub(super) fn get<'a>(schema: &'a Map<String, Value>, word: &str) -> Option<&'a Value> {
    if schema.len() > 8 {
        return schema.get(word);
    }
    schema.iter().find(|(key, _)| *key == word).map(|(_, value)| value)
}

/// Returns the schemas directly inside `schema`, each with its keyword and, in a list or an object, its token below that.
pub(super) fn inside(schema: &Map<String, Value>) -> impl Iterator<Item = (&str, Option<Cow<'_, str>>, &Value)> {
    schema.iter().flat_map(|(word, value)| {
        let (mut one, mut list, mut named) = (None, None, None);
        match (holds(word, value), value) {
            (Holds::One, value) => one = Some((None, value)),
            (Holds::Many, Value::Array(all)) => list = Some(all.iter().enumerate()),
            (Holds::Named, Value::Object(all)) => named = Some(all.iter()),
            _ => {}
        }
        let list = list.into_iter().flatten().map(|(index, one)| (Some(index.to_string().into()), one));
        let named = named.into_iter().flatten().map(|(name, one)| (Some(name.into()), one));
        let all = one.into_iter().chain(list).chain(named);
        all.filter(|(_, one)| is_schema(one)).map(|(token, one)| (word.as_str(), token, one))
    })
}

/// Returns the JSON Pointer of what stands at `word` and `token` of the schema at `at`.
pub(super) fn place(at: &str, word: &str, token: Option<&str>) -> String {
    let at = pointer::push(at, word);
    token.map_or_else(|| at.clone(), |token| pointer::push(&at, token))
}

/// Returns the schemas directly inside `schema`, each with its keyword and its JSON Pointer below `at`.
pub fn children<'a>(schema: &'a Value, at: &str) -> Vec<(&'a str, String, &'a Value)> {
    let inside = schema.as_object().into_iter().flat_map(inside);
    inside.map(|(word, token, one)| (word, place(at, word, token.as_deref()), one)).collect()
}

/// Calls `visit` with each schema directly inside `schema`, its keyword and, where it has one, its name.
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

/// Keywords that say nothing about which values are valid.
pub(super) fn is_annotation(word: &str) -> bool {
    is_structure(word) || is_note(word)
}

/// Keywords that are words for the reader.
pub(super) fn is_note(word: &str) -> bool {
    matches!(word, "title" | "description" | "default" | "examples" | "deprecated" | "readOnly" | "writeOnly")
}

/// Keywords that only hold a schema document together.
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
