//! Rewriting a schema keyword by keyword into another version of JSON Schema, whole.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::schema::{
    Severity,
    loss::Losses,
    pointer,
    shape::Draft,
    words::{self, Holds},
};

/// The version that is written.
pub(super) trait Version {
    /// The keyword that holds definitions.
    const DEFINITIONS: &'static str;

    /// What `word` of `schema` is called; none if it goes.
    fn name<'w>(&self, word: &'w str, schema: &Map<String, Value>, source: &Source<'_>) -> Option<&'w str>;

    /// What else there is to do once the schemas inside are done. `from` is the original of `to`.
    fn finish(&self, from: &Map<String, Value>, to: &mut Map<String, Value>, source: &Source<'_>, losses: &mut Losses);
}

/// The schema that is read.
pub(super) struct Source<'a> {
    pub(super) root: &'a Value,
    pub(super) draft: Draft,
    /// Where the schema stands that is being rewritten.
    pub(super) at: String,
}

/// References are written as this and the place that they point to in the original, until all places are known.
const MARK: char = '\u{0}';

pub(super) fn rewrite<V: Version>(root: &Value, version: &V, losses: Losses) -> (Value, Losses) {
    let source = Source { root, draft: Draft::of(root), at: String::new() };
    let mut rewriter = Rewriter { version, source, losses, moved: HashMap::new(), wanted: Vec::new() };
    let mut schema = rewriter.schema(root, "", "");
    rewriter.hoist(&mut schema);
    link(&mut schema, &rewriter.moved);
    (schema, rewriter.losses)
}

struct Rewriter<'a, V> {
    version: &'a V,
    source: Source<'a>,
    losses: Losses,
    /// Where each schema of the original stands now.
    moved: HashMap<String, String>,
    /// What references point to.
    wanted: Vec<String>,
}

impl<V: Version> Rewriter<'_, V> {
    fn schema(&mut self, schema: &Value, at: &str, to: &str) -> Value {
        self.moved.insert(at.to_owned(), to.to_owned());
        let Value::Object(from) = schema else { return schema.clone() };
        let mut out = Map::new();
        for (word, value) in from {
            at.clone_into(&mut self.source.at);
            if matches!(word.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef") {
                self.reference(word, value, at, &mut out);
                continue;
            }
            let nested_id =
                matches!(word.as_str(), "$id" | "id") && (!at.is_empty() || self.source.draft == Draft::Four);
            let name = if word == "$schema" || nested_id { None } else { self.version.name(word, from, &self.source) };
            if let Some(name) = name {
                let (at, to) = (pointer::push(at, word), pointer::push(to, name));
                let value = self.value(words::holds(word, value), value, &at, &to);
                merge(&mut out, name, value);
            }
        }
        if self.source.draft == Draft::Four {
            unflag(&mut out, "minimum", "exclusiveMinimum");
            unflag(&mut out, "maximum", "exclusiveMaximum");
        }
        at.clone_into(&mut self.source.at);
        self.version.finish(from, &mut out, &self.source, &mut self.losses);
        Value::Object(out)
    }

    fn value(&mut self, holds: Holds, value: &Value, at: &str, to: &str) -> Value {
        match (holds, value) {
            (Holds::One, one) if words::is_schema(one) => self.schema(one, at, to),
            (Holds::Many, Value::Array(list)) => {
                let one = |(i, one): (usize, &Value)| self.schema(one, &format!("{at}/{i}"), &format!("{to}/{i}"));
                list.iter().enumerate().map(one).collect()
            }
            (Holds::Named, Value::Object(named)) => {
                let mut out = Map::new();
                for (name, one) in named {
                    let (at, to) = (pointer::push(at, name), pointer::push(to, name));
                    out.insert(name.clone(), self.value(Holds::One, one, &at, &to));
                }
                Value::Object(out)
            }
            _ => value.clone(),
        }
    }

    fn reference(&mut self, word: &str, value: &Value, at: &str, out: &mut Map<String, Value>) {
        let found = value.as_str().and_then(|reference| pointer::resolve(self.source.root, at, reference));
        if let Some((target, _)) = found {
            out.entry("$ref").or_insert_with(|| format!("{MARK}{target}").into());
            self.wanted.push(target);
        } else {
            let note = format!("{value} leads nowhere in this schema, and nothing is fetched: left out");
            self.losses.add(at, word, Severity::Weakened, note);
        }
    }

    /// Makes definitions of what is referred to but stands where no schema is expected.
    fn hoist(&mut self, root: &mut Value) {
        let mut next = 0;
        while let Some(target) = self.wanted.get(next).cloned() {
            next += 1;
            let (false, Some(schema)) = (self.moved.contains_key(&target), self.source.root.pointer(&target)) else {
                continue;
            };
            let Some(definitions) =
                root.as_object_mut().map(|root| root.entry(V::DEFINITIONS).or_insert_with(|| Map::new().into()))
            else {
                return;
            };
            let plain = pointer::last(&target);
            let taken = |name: &String| definitions.get(name).is_some();
            let numbered = (2..).map(|number| format!("{plain}_{number}"));
            let name =
                std::iter::once(plain.clone()).chain(numbered).find(|name| !taken(name)).expect("numbers do not end");
            let to = pointer::push(&pointer::push("", V::DEFINITIONS), &name);
            let schema = self.schema(schema, &target, &to);
            if let Some(definitions) = definitions.as_object_mut() {
                definitions.insert(name, schema);
            }
        }
    }
}

/// Adds to what is there, where two keywords of the original have one name.
fn merge(out: &mut Map<String, Value>, name: &str, value: Value) {
    match (out.get_mut(name), value) {
        (Some(Value::Object(old)), Value::Object(new)) => old.extend(new),
        (_, value) => drop(out.insert(name.to_owned(), value)),
    }
}

/// Draft 4 said `"exclusiveMinimum": true` beside a `minimum`.
fn unflag(schema: &mut Map<String, Value>, word: &str, flag: &str) {
    if let Some(&Value::Bool(open)) = schema.get(flag) {
        schema.shift_remove(flag);
        if open && let Some(bound) = schema.shift_remove(word) {
            schema.insert(flag.to_owned(), bound);
        }
    }
}

/// Writes the references out.
fn link(schema: &mut Value, moved: &HashMap<String, String>) {
    let Value::Object(map) = schema else { return };
    if let Some(Value::String(reference)) = map.get_mut("$ref")
        && let Some(target) = reference.strip_prefix(MARK)
    {
        let place = moved.get(target).map_or("", String::as_str);
        *reference = format!("#{}", pointer::encoded(place));
    }
    words::visit_children(map, |_, _, child| link(child, moved));
}
