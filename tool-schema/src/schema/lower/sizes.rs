//! How large a lowered schema is, against what its reader takes.

use serde_json::Value;

use super::rules::Rules;
use crate::schema::{Severity, loss::Losses, pointer, words};

#[derive(Debug, Default)]
struct Found {
    properties: usize,
    optional: usize,
    levels: usize,
    values: usize,
    characters: usize,
}

/// Reports what of `schema` is more than `rules` allow.
pub(super) fn check(schema: &Value, rules: &Rules, losses: &mut Losses) {
    let limits = &rules.sizes;
    let mut found = Found::default();
    measure(schema, "", 0, &mut found, limits.levels > 0);
    let all = [
        ("properties", found.properties, limits.properties, "properties"),
        ("required", found.optional, limits.optional, "optional properties"),
        ("properties", found.levels, limits.levels, "levels of objects"),
        ("enum", found.values, limits.values, "listed values"),
        ("", found.characters, limits.characters, "characters in names and values"),
    ];
    for (word, count, most, what) in all {
        if most > 0 && count > most {
            let note = format!("{count} {what}, but {} takes {most} at most", rules.reader);
            losses.add("", word, Severity::Inexpressible, note);
        }
    }
}

fn measure(schema: &Value, at: &str, level: usize, found: &mut Found, depth: bool) {
    let mut level = level;
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        level += usize::from(depth);
        found.levels = found.levels.max(level);
        found.properties += properties.len();
        found.characters += properties.keys().map(String::len).sum::<usize>();
        let required = schema.get("required").and_then(Value::as_array).map_or(0, Vec::len);
        found.optional += properties.len().saturating_sub(required);
    }
    let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    for value in listed.clone().chain(schema.get("const")) {
        found.characters += value.as_str().map_or(0, str::len);
    }
    found.values += listed.count();
    for (word, place, child) in words::children(schema, at) {
        let level = if words::is_structure(word) { 0 } else { level };
        if words::is_structure(word) {
            found.characters += pointer::last(&place).len();
        }
        measure(child, &place, level, found, depth);
    }
}
