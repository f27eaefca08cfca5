//! schemars' schemas, made exact and quiet.

mod bounds;
mod simple;

use serde_json::{Map, Value};

use super::{bound, words};

pub(super) use bounds::range_of;

/// The passes of [`Schema::from_schemars`](super::Schema::from_schemars).
pub(super) fn exact(mut schema: Value) -> Value {
    if let Value::Object(root) = &mut schema {
        if words::get(root, "$schema").is_some() {
            root.shift_remove("$schema");
        }
        if words::get(root, "title").and_then(Value::as_str).is_some_and(is_type_name) {
            root.shift_remove("title");
        }
    }
    pass(&mut schema, 0);
    schema
}

fn pass(schema: &mut Value, level: usize) {
    let Value::Object(map) = schema else { return };
    if level > bound::LEVELS {
        return;
    }
    words::visit_children(map, |word, name, child| {
        if let (true, Some(name), Some(child)) = (is_definitions(word), name, child.as_object_mut()) {
            drop_name(child, name);
        }
        pass(child, level + 1);
    });
    if map.keys().any(|word| matches!(word.as_str(), "allOf" | "anyOf" | "oneOf")) {
        simple::unwrap_single(map);
        simple::join_null(map);
        simple::join_constants(map);
    }
    simple::declare_empty(map);
    bounds::make_explicit(map);
}

fn is_definitions(word: &str) -> bool {
    matches!(word, "$defs" | "definitions")
}

fn drop_name(schema: &mut Map<String, Value>, name: &str) {
    if schema.get("title").and_then(Value::as_str) == Some(name) {
        schema.shift_remove("title");
    }
}

/// Whether schemars could have made `title` of a type's name: `Order`, `Array_of_string`.
fn is_type_name(title: &str) -> bool {
    !title.is_empty() && title.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests;
