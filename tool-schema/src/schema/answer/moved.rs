//! A schema inside another document.

use serde_json::Value;

use crate::schema::{bound, words};

/// `part` of `document`, or all of it, as it is to stand in another document that has `document` at `base`: references into
/// `document` lead there.
///
/// With `quiet`, what is said to readers only is left out.
pub(super) fn moved(part: &Value, document: &Value, base: &str, quiet: bool) -> Value {
    let name = document.get("$id").and_then(Value::as_str).map(|id| id.trim_end_matches('#'));
    let mut copy = part.clone();
    if let Value::Object(map) = &mut copy {
        map.shift_remove("$schema");
        map.shift_remove("$id");
    }
    pass(&mut copy, &Move { name, base, quiet }, 0);
    copy
}

struct Move<'a> {
    /// The name of the document itself, if it has one.
    name: Option<&'a str>,
    base: &'a str,
    quiet: bool,
}

fn pass(schema: &mut Value, to: &Move<'_>, level: usize) {
    if level > bound::LEVELS {
        *schema = Value::Bool(true);
    }
    let Value::Object(map) = schema else { return };
    // A resource of its own: its references are relative to itself.
    if map.contains_key("$id") {
        return;
    }
    if to.quiet {
        map.retain(|word, _| !words::is_note(word) && word != "$comment");
    }
    for word in ["$ref", "$dynamicRef"] {
        if let Some(Value::String(reference)) = map.get_mut(word) {
            let local = to.name.and_then(|name| reference.strip_prefix(name)).unwrap_or(reference);
            // Anchors are found wherever they are.
            let pointer = local.strip_prefix('#').unwrap_or(local);
            if pointer.starts_with('/') && local.starts_with('#') || pointer.is_empty() {
                *reference = format!("{}{pointer}", to.base);
            }
        }
    }
    words::visit_children(map, |_, _, child| pass(child, to, level + 1));
}

/// Whether there is a reference anywhere in `schema`.
pub(super) fn has_references(schema: &Value) -> bool {
    fn look(schema: &Value, level: usize) -> bool {
        let Value::Object(map) = schema else { return false };
        level > bound::LEVELS
            || map.contains_key("$ref")
            || map.contains_key("$dynamicRef")
            || words::inside(map).any(|(_, _, child)| look(child, level + 1))
    }
    look(schema, 0)
}
