//! JSON Pointers, and the targets of `$ref`. Nothing is ever fetched.

use std::borrow::Cow;

use fluent_uri::pct_enc::{
    EStr, EString,
    encoder::{Fragment, IFragment},
};
use serde_json::Value;

use super::places;

/// Returns a name escaped as one token of a JSON Pointer.
pub fn escape_token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Returns the pointer `at` with one more token.
pub fn join(at: &str, token: &str) -> String {
    format!("{at}/{}", escape_token(token))
}

/// Returns the last token of `at`, decoded.
pub fn last(at: &str) -> String {
    at.rsplit('/').next().unwrap_or_default().replace("~1", "/").replace("~0", "~")
}

/// Returns the JSON Pointer and the schema that `reference` leads to. `from` is the place of `reference` in `root`.
///
/// `reference` may be `#`, `#/pointer` or `#anchor`, also after an `$id` in `root` or the end of its path. Returns `None` for
/// other references. Of several possible targets, returns the first; the evaluation of values is stricter.
pub fn resolve<'a>(root: &'a Value, from: &str, reference: &str) -> Option<(String, &'a Value)> {
    let (document, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    let bases =
        if document.is_empty() { enclosing_resources(root, from) } else { vec![find_resource(root, document)?] };
    let fragment = decode(fragment)?;
    bases.into_iter().find_map(|base| {
        let schema = root.pointer(&base)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            let target = schema.pointer(&fragment)?;
            return places::is_schema(target).then(|| (format!("{base}{fragment}"), target));
        }
        let anchored = |one: &Value| {
            ["$anchor", "$dynamicAnchor"].iter().any(|word| one.get(word).and_then(Value::as_str) == Some(&fragment))
                || one.get("$id").and_then(Value::as_str).and_then(|id| id.strip_prefix('#')) == Some(&fragment)
        };
        find(schema, &base, &anchored)
    })
}

/// Returns the places of the resources around `from`, the innermost first: schemas with an `$id`, and the root.
fn enclosing_resources(root: &Value, from: &str) -> Vec<String> {
    let mut bases: Vec<String> = from
        .match_indices('/')
        .map(|(end, _)| end)
        .chain([from.len()])
        .filter(|&end| end > 0)
        .map(|end| &from[..end])
        .filter(|base| root.pointer(base).is_some_and(|schema| schema.get("$id").is_some_and(Value::is_string)))
        .map(str::to_owned)
        .collect();
    bases.reverse();
    bases.push(String::new());
    bases
}

/// Returns the place of the resource whose `$id` is `name`, or ends with `name` after a slash.
fn find_resource(root: &Value, name: &str) -> Option<String> {
    let same = |id: &str| {
        let id = id.trim_end_matches('#');
        id == name || id.strip_suffix(name).is_some_and(|start| start.ends_with('/'))
    };
    find(root, "", &|one| ["$id", "id"].iter().any(|word| one.get(word).and_then(Value::as_str).is_some_and(same)))
        .map(|(at, _)| at)
}

fn find<'a>(schema: &'a Value, at: &str, wanted: &dyn Fn(&Value) -> bool) -> Option<(String, &'a Value)> {
    if wanted(schema) {
        return Some((at.to_owned(), schema));
    }
    places::children(schema, at).into_iter().find_map(|(_, place, one)| find(one, &place, wanted))
}

/// Returns the text of a URI fragment, or `None` if the fragment is not valid.
pub(super) fn decode(fragment: &str) -> Option<String> {
    if !fragment.contains('%') {
        return Some(fragment.to_owned());
    }
    EStr::<IFragment>::new(fragment)?.decode().to_string().ok().map(Cow::into_owned)
}

/// Returns a pointer as a URI fragment.
pub(super) fn encode(pointer: &str) -> String {
    let mut text = EString::<Fragment>::new();
    text.encode_str::<Fragment>(pointer);
    text.into_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_are_found_by_pointer_anchor_and_id() {
        let root = json!({
            "$id": "https://example.com/root.json",
            "$defs": {
                "a/b": {"type": "string"},
                "anchored": {"$anchor": "here", "type": "integer"},
                "inner": {"$id": "https://example.com/inner.json", "$defs": {"x": {"type": "null"}}, "items": {}},
            },
        });
        let at = |from: &str, reference: &str| resolve(&root, from, reference).map(|(at, _)| at);
        assert_eq!(at("", "#").as_deref(), Some(""));
        assert_eq!(at("", "#/$defs/a~1b").as_deref(), Some("/$defs/a~1b"));
        assert_eq!(at("", "#/%24defs/a~1b").as_deref(), Some("/$defs/a~1b"));
        assert_eq!(at("", "#here").as_deref(), Some("/$defs/anchored"));
        assert_eq!(at("/$defs/inner/items", "#/$defs/x").as_deref(), Some("/$defs/inner/$defs/x"));
        assert_eq!(at("", "inner.json#/$defs/x").as_deref(), Some("/$defs/inner/$defs/x"));
        assert_eq!(at("", "https://elsewhere.com/x.json"), None);
        assert_eq!(at("", "#/$defs/nowhere"), None);
        assert_eq!(at("", "#/$id"), None);
        assert_eq!(at("", "#%zz"), None);
    }
}
