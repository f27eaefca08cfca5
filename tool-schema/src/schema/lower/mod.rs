//! Lowering of the neutral schema to each dialect.

mod descriptions;
mod limits;
mod plain_root;
mod portable;
mod rewrite;
mod root;
mod rules;
mod safe_pattern;
#[cfg(test)]
mod tests;
mod words;
mod write;

use std::borrow::Cow;

use serde_json::Value;

pub use plain_root::one_object;
use rewrite::{TargetDraft, rewrite};
use rules::{ANTHROPIC, GEMINI, OPENAI, Rules};

use super::{
    Dialect, LoweredSchema, Severity,
    draft::Draft,
    losses::{self, Losses},
    places, pointer,
    raise::{NullRemover, Raiser},
    shape,
};

/// Returns `neutral` in the form of `dialect`. `is_declared` is set for the schema of a declared type.
pub fn lower(neutral: &Value, dialect: Dialect, is_declared: bool) -> LoweredSchema {
    let mut losses = Losses::default();
    let neutral = losses::bound(neutral, &mut losses);
    let neutral = without_unknown_keywords(neutral);
    match dialect {
        Dialect::JsonSchema2020 if Draft::of(&neutral) == Draft::Twenty => {
            LoweredSchema::new(&neutral, losses.into_vec(), None)
        }
        Dialect::JsonSchema2020 => rewrite(&neutral, TargetDraft::Twenty, losses),
        Dialect::Portable => portable::lower_to_portable(&neutral, is_declared, &losses),
        Dialect::Draft07 => rewrite(&neutral, TargetDraft::Seven, losses),
        Dialect::OpenAiStrict => lower_to_subset(&neutral, &OPENAI, losses),
        Dialect::Gemini => lower_to_subset(&neutral, &GEMINI, losses),
        Dialect::Anthropic => lower_to_subset(&neutral, &ANTHROPIC, losses),
    }
}

/// Leaves out the keywords of later drafts than that of `schema`, where they mean nothing.
fn without_unknown_keywords(schema: Cow<'_, Value>) -> Cow<'_, Value> {
    const LATER: [(Draft, &[&str]); 4] = [
        (Draft::Six, &["const", "contains", "propertyNames"]),
        (Draft::Seven, &["if", "then", "else"]),
        (
            Draft::Nineteen,
            &[
                "dependentRequired",
                "dependentSchemas",
                "unevaluatedProperties",
                "unevaluatedItems",
                "minContains",
                "maxContains",
            ],
        ),
        (Draft::Twenty, &["prefixItems"]),
    ];
    let draft = Draft::of(&schema);
    let unknown: Vec<&str> =
        LATER.iter().filter(|(from, _)| draft < *from).flat_map(|(_, words)| *words).copied().collect();
    if unknown.is_empty() {
        return schema;
    }
    let mut schema = schema.into_owned();
    remove_keywords(&mut schema, &unknown);
    Cow::Owned(schema)
}

fn remove_keywords(schema: &mut Value, words: &[&str]) {
    let Value::Object(map) = schema else { return };
    map.retain(|word, _| !words.contains(&word.as_str()));
    places::visit_children(map, |_, _, child| remove_keywords(child, words));
}

fn lower_to_subset(neutral: &Value, rules: &Rules, losses: Losses) -> LoweredSchema {
    let reading = shape::Reader::new(neutral, rules.refs, rules.combining, losses).read();
    let shape::Reading { shape, targets, mut losses, .. } = reading;
    let shape = root::to_object(shape, &targets, rules, &mut losses);
    let schema = write::write(&shape, &targets, rules, &mut losses);
    check_sizes(&schema, rules, &mut losses);
    let null_remover = if rules.all_required { NullRemover::new(shape, targets) } else { None };
    LoweredSchema::new(&schema, losses.into_vec(), null_remover.map(|one| Raiser::Nulls(Box::new(one))))
}

/// Returns `name` if it is not used, and otherwise `name` with a number.
fn unused_name(name: &str, is_used: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !is_used(name)).expect("numbers do not end")
}

/// The sizes of a schema, as in [`Sizes`].
#[derive(Debug, Default)]
struct Measured {
    properties: usize,
    optional: usize,
    levels: usize,
    values: usize,
    characters: usize,
}

/// Records a loss for each size of `schema` that exceeds the limit of `rules`.
pub fn check_sizes(schema: &Value, rules: &Rules, losses: &mut Losses) {
    let limits = &rules.sizes;
    let mut found = Measured::default();
    measure(schema, "", 0, &mut found);
    let all = [
        ("properties", found.properties, limits.properties, "properties"),
        ("required", found.optional, limits.optional, "optional properties"),
        ("properties", found.levels, limits.levels, "levels of objects"),
        ("enum", found.values, limits.values, "listed values"),
        ("", found.characters, limits.characters, "characters in names and values"),
    ];
    for (word, count, max, noun) in all {
        if max > 0 && count > max {
            let note = format!("{count} {noun}, but {} takes {max} at most", rules.reader);
            losses.add("", word, Severity::Inexpressible, note);
        }
    }
}

fn measure(schema: &Value, at: &str, mut level: usize, found: &mut Measured) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        level += 1;
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
    for (word, place, child) in places::children(schema, at) {
        let level = if places::is_structure(word) { 0 } else { level };
        if places::is_structure(word) {
            found.characters += pointer::last(&place).len();
        }
        measure(child, &place, level, found);
    }
}
