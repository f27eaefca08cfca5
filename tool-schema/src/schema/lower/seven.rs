//! Any version of JSON Schema as draft 7.

use serde_json::{Map, Value, json};

use super::{
    rewrite::{Source, Version},
    unevaluated,
};
use crate::schema::{
    Severity,
    loss::Losses,
    number,
    shape::Draft,
    words::{self, Holds},
};

pub(super) struct Seven;

/// Whether draft 7 means by `schema`, which has at most [`bound::LEVELS`](crate::schema::bound::LEVELS) levels, what its
/// own version does. Then there is nothing to rewrite, as with nearly all schemas of declared tools.
pub(super) fn says_it_alike(schema: &Value) -> bool {
    Draft::of(schema) == Draft::Twenty && is_alike(schema)
}

fn is_alike(schema: &Value) -> bool {
    let Value::Object(map) = schema else { return true };
    map.iter().all(|(word, value)| {
        is_old(word)
            && match value {
                Value::Array(list) if words::holds(word, value) == Holds::Many => {
                    word != "items" && list.iter().all(is_alike)
                }
                Value::Object(named) if words::holds(word, value) == Holds::Named => named.values().all(is_alike),
                Value::Object(_) if words::holds(word, value) == Holds::One => is_alike(value),
                _ => true,
            }
    })
}

/// Whether draft 7 has `word` too, with the same meaning whatever stands beside it. References are not among these: they
/// point through keywords that may have another name.
fn is_old(word: &str) -> bool {
    matches!(
        word,
        // The usual ones first: they are compared in this order.
        "type"
            | "description"
            | "properties"
            | "required"
            | "additionalProperties"
            | "minimum"
            | "maximum"
            | "allOf"
            | "anyOf"
            | "const"
            | "default"
            | "enum"
            | "examples"
            | "exclusiveMaximum"
            | "exclusiveMinimum"
            | "format"
            | "items"
            | "maxItems"
            | "maxLength"
            | "maxProperties"
            | "minItems"
            | "minLength"
            | "minProperties"
            | "multipleOf"
            | "not"
            | "oneOf"
            | "pattern"
            | "patternProperties"
            | "propertyNames"
            | "title"
            | "uniqueItems"
    )
}

impl Version for Seven {
    const DEFINITIONS: &'static str = "definitions";

    fn name<'w>(&self, word: &'w str, schema: &Map<String, Value>, source: &Source<'_>) -> Option<&'w str> {
        let has = |word: &str| schema.contains_key(word);
        match word {
            "$defs" => Some("definitions"),
            "prefixItems" => Some("items"),
            "items" if has("prefixItems") => Some("additionalItems"),
            "additionalItems" if has("prefixItems") || source.draft == Draft::Twenty => None,
            "dependentSchemas" => Some("dependencies"),
            "dependentRequired" | "$anchor" | "$dynamicAnchor" | "$recursiveAnchor" | "$vocabulary"
            | "contentSchema" | "minContains" | "maxContains" => None,
            "contains" if counts_none(schema) => None,
            "unevaluatedItems" => unevaluated::items_name(schema),
            "unevaluatedProperties" => unevaluated::properties_name(schema, source),
            other => Some(other),
        }
    }

    fn finish(&self, from: &Map<String, Value>, to: &mut Map<String, Value>, source: &Source<'_>, losses: &mut Losses) {
        dependencies(from, to);
        contains(from, source, losses);
        if from.contains_key("contentSchema") {
            losses.add(&source.at, "contentSchema", Severity::Annotation, "draft 7 does not know it: left out");
        }
        unevaluated::finish(from, to, source, losses);
        siblings(to, source.draft);
    }
}

/// Draft 7 has one keyword for both kinds of dependencies.
fn dependencies(from: &Map<String, Value>, to: &mut Map<String, Value>) {
    let Some(required) = from.get("dependentRequired").and_then(Value::as_object) else { return };
    let all = to.entry("dependencies").or_insert_with(|| Map::new().into());
    let Some(all) = all.as_object_mut() else { return };
    for (name, names) in required {
        let both = all.get(name).map(|other| {
            let other = if other.is_array() { json!({"required": other}) } else { other.clone() };
            json!({"allOf": [other, {"required": names}]})
        });
        all.insert(name.clone(), both.unwrap_or_else(|| names.clone()));
    }
}

/// Whether `contains` holds for an array of none.
fn counts_none(schema: &Map<String, Value>) -> bool {
    schema.get("minContains").and_then(number::count) == Some(0)
}

fn contains(from: &Map<String, Value>, source: &Source<'_>, losses: &mut Losses) {
    if source.draft < Draft::Nineteen || !from.contains_key("contains") {
        return;
    }
    for (word, harmless) in [("minContains", [0, 1].as_slice()), ("maxContains", &[])] {
        let count = from.get(word).and_then(number::count);
        if count.is_some_and(|count| !harmless.contains(&count)) {
            losses.add(&source.at, word, Severity::Weakened, "draft 7 does not know it: left out");
        }
    }
}

/// What stands beside a `$ref` counts for nothing in draft 7, so the reference goes into an `allOf`.
fn siblings(to: &mut Map<String, Value>, draft: Draft) {
    if !draft.reference_has_siblings() || to.keys().all(|word| word == "$ref" || words::is_structure(word)) {
        return;
    }
    let Some(reference) = to.shift_remove("$ref") else { return };
    let all = to.entry("allOf").or_insert_with(|| json!([]));
    if let Some(all) = all.as_array_mut() {
        all.push(json!({"$ref": reference}));
    }
}
