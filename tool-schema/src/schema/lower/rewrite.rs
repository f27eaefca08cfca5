//! Rewriting of a schema, keyword by keyword, to another draft of JSON Schema.
//!
//! Draft 7 has no `unevaluatedProperties` and no `unevaluatedItems`. In a schema without combinations, `additionalProperties`
//! and the schema of later items replace these keywords. In a schema with combinations, the names from the combined schemas
//! become properties that may have any value. If this is impossible, the keyword is lost.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::unused_name;
use crate::schema::{
    LoweredSchema, Severity, data,
    draft::Draft,
    losses::Losses,
    places::{self, Holds},
    pointer,
};

/// The draft that a schema is rewritten to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetDraft {
    /// Draft 7, from any draft.
    Seven,
    /// 2020-12, from an older draft.
    Twenty,
}

impl TargetDraft {
    fn definitions(self) -> &'static str {
        if self == Self::Seven { "definitions" } else { "$defs" }
    }
}

/// The schema that is rewritten.
struct Source<'a> {
    root: &'a Value,
    draft: Draft,
    /// The current place.
    at: String,
}

/// The first character of a reference whose new target is not known yet. The target's place in the original follows it.
const MARK: char = '\u{0}';

pub fn rewrite(root: &Value, target_draft: TargetDraft, losses: Losses) -> LoweredSchema {
    let source = Source { root, draft: Draft::of(root), at: String::new() };
    let mut rewriter = Rewriter { target_draft, source, losses, moved: HashMap::new(), wanted: Vec::new() };
    let mut schema = rewriter.rewrite_schema(root, "", "");
    rewriter.add_definitions(&mut schema);
    link_references(&mut schema, &rewriter.moved);
    LoweredSchema::new(&schema, rewriter.losses.into_vec(), None)
}

struct Rewriter<'a> {
    target_draft: TargetDraft,
    source: Source<'a>,
    losses: Losses,
    /// The new place of each schema of the original.
    moved: HashMap<String, String>,
    /// The places of the targets of references in the original.
    wanted: Vec<String>,
}

impl Rewriter<'_> {
    fn rewrite_schema(&mut self, schema: &Value, at: &str, to: &str) -> Value {
        self.moved.insert(at.to_owned(), to.to_owned());
        let Value::Object(from) = schema else { return schema.clone() };
        let mut out = Map::new();
        for (word, value) in from {
            at.clone_into(&mut self.source.at);
            if matches!(word.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef") {
                self.rewrite_reference(word, value, at, &mut out);
                continue;
            }
            let nested_id =
                matches!(word.as_str(), "$id" | "id") && (!at.is_empty() || self.source.draft == Draft::Four);
            let name = match self.target_draft {
                _ if word == "$schema" || nested_id => None,
                TargetDraft::Seven => name_in_seven(word, from, &self.source),
                TargetDraft::Twenty => name_in_twenty(word, from),
            };
            if let Some(name) = name {
                let (at, to) = (pointer::join(at, word), pointer::join(to, name));
                let value = self.rewrite_value(places::holds(word, value), value, &at, &to);
                add_keyword(&mut out, name, value);
            }
        }
        if self.source.draft == Draft::Four {
            make_exclusive(&mut out, "minimum", "exclusiveMinimum");
            make_exclusive(&mut out, "maximum", "exclusiveMaximum");
        }
        at.clone_into(&mut self.source.at);
        match self.target_draft {
            TargetDraft::Seven => finish_seven(from, &mut out, &self.source, &mut self.losses),
            TargetDraft::Twenty => finish_twenty(&mut out, &self.source),
        }
        Value::Object(out)
    }

    fn rewrite_value(&mut self, holds: Holds, value: &Value, at: &str, to: &str) -> Value {
        match (holds, value) {
            (Holds::One, one) if places::is_schema(one) => self.rewrite_schema(one, at, to),
            (Holds::Many, Value::Array(list)) => {
                let one =
                    |(i, one): (usize, &Value)| self.rewrite_schema(one, &format!("{at}/{i}"), &format!("{to}/{i}"));
                list.iter().enumerate().map(one).collect()
            }
            (Holds::Named, Value::Object(named)) => {
                let mut out = Map::new();
                for (name, one) in named {
                    let (at, to) = (pointer::join(at, name), pointer::join(to, name));
                    out.insert(name.clone(), self.rewrite_value(Holds::One, one, &at, &to));
                }
                Value::Object(out)
            }
            _ => value.clone(),
        }
    }

    fn rewrite_reference(&mut self, word: &str, value: &Value, at: &str, out: &mut Map<String, Value>) {
        let found = value.as_str().and_then(|reference| pointer::resolve(self.source.root, at, reference));
        if let Some((target, _)) = found {
            out.entry("$ref").or_insert_with(|| format!("{MARK}{target}").into());
            self.wanted.push(target);
        } else {
            let note = format!("{value} has no target in this schema, and nothing is fetched: left out");
            self.losses.add(at, word, Severity::Weakened, note);
        }
    }

    /// Adds a definition for each target of a reference that is in a place where no schema is expected.
    fn add_definitions(&mut self, root: &mut Value) {
        let mut next = 0;
        while let Some(target) = self.wanted.get(next).cloned() {
            next += 1;
            let (false, Some(schema)) = (self.moved.contains_key(&target), self.source.root.pointer(&target)) else {
                continue;
            };
            let word = self.target_draft.definitions();
            let Some(root) = root.as_object_mut() else { return };
            let definitions = root.entry(word).or_insert_with(|| Map::new().into());
            let name = unused_name(&pointer::last(&target), |name| definitions.get(name).is_some());
            let to = pointer::join(&pointer::join("", word), &name);
            let schema = self.rewrite_schema(schema, &target, &to);
            if let Some(definitions) = definitions.as_object_mut() {
                definitions.insert(name, schema);
            }
        }
    }
}

/// Adds a keyword, or merges it with a keyword of the original that has the same new name.
fn add_keyword(out: &mut Map<String, Value>, name: &str, value: Value) {
    match (out.get_mut(name), value) {
        (Some(Value::Object(old)), Value::Object(new)) => old.extend(new),
        (_, value) => drop(out.insert(name.to_owned(), value)),
    }
}

/// Converts draft 4's flag `"exclusiveMinimum": true` beside a `minimum` to an exclusive bound.
fn make_exclusive(schema: &mut Map<String, Value>, word: &str, flag: &str) {
    if let Some(&Value::Bool(open)) = schema.get(flag) {
        schema.shift_remove(flag);
        if open && let Some(bound) = schema.shift_remove(word) {
            schema.insert(flag.to_owned(), bound);
        }
    }
}

/// Replaces marked references by the new places of their targets.
fn link_references(schema: &mut Value, moved: &HashMap<String, String>) {
    let Value::Object(map) = schema else { return };
    if let Some(Value::String(reference)) = map.get_mut("$ref")
        && let Some(target) = reference.strip_prefix(MARK)
    {
        let place = moved.get(target).map_or("", String::as_str);
        *reference = format!("#{}", pointer::encode(place));
    }
    places::visit_children(map, |_, _, child| link_references(child, moved));
}

/// Returns the new name of the keyword `word` in `schema`, or `None` if it is dropped.
fn name_in_twenty<'w>(word: &'w str, schema: &Map<String, Value>) -> Option<&'w str> {
    let is_tuple = schema.get("items").is_some_and(Value::is_array);
    match word {
        "definitions" => Some("$defs"),
        "items" if is_tuple => Some("prefixItems"),
        "additionalItems" => is_tuple.then_some("items"),
        "dependencies" => Some("dependentSchemas"),
        "$recursiveAnchor" => None,
        other => Some(other),
    }
}

/// Completes the rewritten schema `to`, whose inner schemas are complete.
fn finish_twenty(to: &mut Map<String, Value>, source: &Source<'_>) {
    if to.contains_key("$ref") && !source.draft.reference_has_siblings() {
        to.retain(|word, _| word == "$ref" || places::is_annotation(word));
    }
    let Some(Value::Object(schemas)) = to.get_mut("dependentSchemas") else { return };
    let (required, schemas) = std::mem::take(schemas).into_iter().partition::<Map<_, _>, _>(|(_, one)| one.is_array());
    if schemas.is_empty() {
        to.shift_remove("dependentSchemas");
    } else {
        to.insert("dependentSchemas".to_owned(), Value::Object(schemas));
    }
    if !required.is_empty() {
        let all = to.entry("dependentRequired").or_insert_with(|| Map::new().into());
        if let Some(all) = all.as_object_mut() {
            all.extend(required);
        }
    }
}

/// Returns the new name of the keyword `word` in `schema`, or `None` if it is dropped.
fn name_in_seven<'w>(word: &'w str, schema: &Map<String, Value>, source: &Source<'_>) -> Option<&'w str> {
    let has = |word: &str| schema.contains_key(word);
    match word {
        "$defs" => Some("definitions"),
        "prefixItems" => Some("items"),
        "items" if has("prefixItems") => Some("additionalItems"),
        "additionalItems" if has("prefixItems") || source.draft == Draft::Twenty => None,
        "dependentSchemas" => Some("dependencies"),
        "dependentRequired" | "$anchor" | "$dynamicAnchor" | "$recursiveAnchor" | "$vocabulary" | "contentSchema"
        | "minContains" | "maxContains" => None,
        "contains" if needs_no_match(schema) => None,
        "unevaluatedItems" => name_of_unevaluated_items(schema),
        "unevaluatedProperties" => name_of_unevaluated_properties(schema, source),
        other => Some(other),
    }
}

/// Completes `to`, the rewritten form of `from`, whose inner schemas are complete.
fn finish_seven(from: &Map<String, Value>, to: &mut Map<String, Value>, source: &Source<'_>, losses: &mut Losses) {
    merge_dependencies(from, to);
    lose_contains_bounds(from, source, losses);
    if from.contains_key("contentSchema") {
        losses.add(&source.at, "contentSchema", Severity::Annotation, "draft 7 does not have it: left out");
    }
    finish_unevaluated(from, to, source, losses);
    wrap_reference(to, source.draft);
}

/// Merges both kinds of dependencies into draft 7's single keyword.
fn merge_dependencies(from: &Map<String, Value>, to: &mut Map<String, Value>) {
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

/// Returns whether `contains` accepts a list without a matching item.
fn needs_no_match(schema: &Map<String, Value>) -> bool {
    schema.get("minContains").and_then(data::to_count) == Some(0)
}

fn lose_contains_bounds(from: &Map<String, Value>, source: &Source<'_>, losses: &mut Losses) {
    if source.draft < Draft::Nineteen || !from.contains_key("contains") {
        return;
    }
    for (word, harmless) in [("minContains", [0, 1].as_slice()), ("maxContains", &[])] {
        let count = from.get(word).and_then(data::to_count);
        if count.is_some_and(|count| !harmless.contains(&count)) {
            losses.add(&source.at, word, Severity::Weakened, "draft 7 does not have it: left out");
        }
    }
}

/// Moves a `$ref` into an `allOf`, because draft 7 ignores keywords beside a `$ref`.
fn wrap_reference(to: &mut Map<String, Value>, draft: Draft) {
    if !draft.reference_has_siblings() || to.keys().all(|word| word == "$ref" || places::is_structure(word)) {
        return;
    }
    let Some(reference) = to.shift_remove("$ref") else { return };
    let all = to.entry("allOf").or_insert_with(|| json!([]));
    if let Some(all) = all.as_array_mut() {
        all.push(json!({"$ref": reference}));
    }
}

/// Returns the draft 7 keyword for `unevaluatedItems` of `schema`, or `None` if there is none.
fn name_of_unevaluated_items(schema: &Map<String, Value>) -> Option<&'static str> {
    if is_combined(schema) || schema.contains_key("contains") || schema.contains_key("items") {
        None
    } else if schema.contains_key("prefixItems") {
        Some("additionalItems")
    } else {
        Some("items")
    }
}

/// Returns the draft 7 keyword for `unevaluatedProperties` of `schema`, or `None` if there is none.
fn name_of_unevaluated_properties(schema: &Map<String, Value>, source: &Source<'_>) -> Option<&'static str> {
    let is_expressible = !schema.contains_key("additionalProperties") && find_evaluated(schema, source).is_some();
    is_expressible.then_some("additionalProperties")
}

/// Adds the properties that combined schemas name, and records the losses.
fn finish_unevaluated(
    from: &Map<String, Value>,
    to: &mut Map<String, Value>,
    source: &Source<'_>,
    losses: &mut Losses,
) {
    let is_lost = name_of_unevaluated_items(from).is_none() && (is_combined(from) || from.contains_key("contains"));
    if from.contains_key("unevaluatedItems") && is_lost {
        losses.add(&source.at, "unevaluatedItems", Severity::Weakened, "draft 7 does not have it: left out");
    }
    if !from.contains_key("unevaluatedProperties") || from.contains_key("additionalProperties") {
        return;
    }
    let Some(evaluated) = find_evaluated(from, source) else {
        losses.add(&source.at, "unevaluatedProperties", Severity::Weakened, "draft 7 does not have it: left out");
        return;
    };
    if !evaluated.certain {
        let note = "names from only some of the combined schemas are allowed with all of them";
        losses.add(&source.at, "unevaluatedProperties", Severity::Weakened, note);
    }
    for (word, names) in [("properties", evaluated.names), ("patternProperties", evaluated.patterns)] {
        if !names.is_empty() {
            let known = to.entry(word).or_insert_with(|| Map::new().into());
            for name in names {
                if let Some(known) = known.as_object_mut() {
                    known.entry(name).or_insert(Value::Bool(true));
                }
            }
        }
    }
}

fn is_combined(schema: &Map<String, Value>) -> bool {
    ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"]
        .iter()
        .any(|word| schema.contains_key(*word))
}

/// The properties that the combined schemas name.
#[derive(Default)]
struct Evaluated {
    names: BTreeSet<String>,
    patterns: BTreeSet<String>,
    /// Set if the combined schemas always apply.
    certain: bool,
}

/// Returns the properties that combined schemas name, or `None` if one of them evaluates all properties.
fn find_evaluated(schema: &Map<String, Value>, source: &Source<'_>) -> Option<Evaluated> {
    let mut found = Evaluated { certain: true, ..Evaluated::default() };
    let mut seen = HashSet::new();
    let mut todo: Vec<(String, &Value)> = Vec::new();
    add_applied(schema, &source.at, source, &mut found, &mut todo);
    while let Some((at, schema)) = todo.pop() {
        let Some(schema) = schema.as_object().filter(|_| seen.insert(at.clone())) else { continue };
        if schema.contains_key("additionalProperties") || schema.contains_key("unevaluatedProperties") {
            return None;
        }
        let names = |word: &str| schema.get(word).and_then(Value::as_object).into_iter().flat_map(Map::keys).cloned();
        found.names.extend(names("properties"));
        found.patterns.extend(names("patternProperties"));
        add_applied(schema, &at, source, &mut found, &mut todo);
    }
    found.certain |= found.names.is_empty() && found.patterns.is_empty();
    Some(found)
}

/// Adds the schemas that apply to the same value as `schema`.
fn add_applied<'a>(
    schema: &'a Map<String, Value>,
    at: &str,
    source: &Source<'a>,
    found: &mut Evaluated,
    todo: &mut Vec<(String, &'a Value)>,
) {
    for word in ["$ref", "$dynamicRef"] {
        let reference = schema.get(word).and_then(Value::as_str);
        todo.extend(reference.and_then(|reference| pointer::resolve(source.root, at, reference)));
    }
    for word in ["allOf", "anyOf", "oneOf"] {
        let members = schema.get(word).and_then(Value::as_array).into_iter().flatten().enumerate();
        let before = todo.len();
        todo.extend(members.map(|(i, one)| (format!("{at}/{word}/{i}"), one)));
        found.certain &= word == "allOf" || todo.len() == before;
    }
    for word in ["if", "then", "else"] {
        if let Some(one) = schema.get(word) {
            found.certain = false;
            todo.push((pointer::join(at, word), one));
        }
    }
    for (name, one) in schema.get("dependentSchemas").and_then(Value::as_object).into_iter().flatten() {
        found.certain = false;
        todo.push((pointer::join(&pointer::join(at, "dependentSchemas"), name), one));
    }
}
