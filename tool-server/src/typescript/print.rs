//! A schema as the text of a type.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{Module, refs, text};
use tool_runtime::schema::pointer;

/// How deep types are written into each other; what lies deeper is `unknown`.
const LEVELS: usize = 48;

/// A type's text, and how tightly it holds together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Type {
    pub(super) text: String,
    binds: Binds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Binds {
    Union,
    Meet,
    Tight,
}

impl Type {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), binds: Binds::Tight }
    }

    pub(super) fn unknown() -> Self {
        Self::plain("unknown")
    }

    /// Any of `members`.
    pub(super) fn any_of(members: Vec<Self>) -> Self {
        Self::joined(members, " | ", Binds::Union, "never", "unknown")
    }

    /// All of `members` at once.
    pub(super) fn all_of(members: Vec<Self>) -> Self {
        Self::joined(members, " & ", Binds::Meet, "unknown", "never")
    }

    /// `members` without what changes nothing (`neutral`); all of it is `absorbing` where one is.
    fn joined(members: Vec<Self>, with: &str, binds: Binds, neutral: &str, absorbing: &str) -> Self {
        let mut parts: Vec<Self> = Vec::new();
        for member in members {
            if member.text == absorbing {
                return member;
            }
            if member.text != neutral && !parts.contains(&member) {
                parts.push(member);
            }
        }
        match parts.len() {
            0 => Self::plain(neutral),
            1 => parts.remove(0),
            _ => {
                let texts: Vec<_> = parts.into_iter().map(|part| part.bound(binds)).collect();
                Self { text: texts.join(with), binds }
            }
        }
    }

    /// The text where something binds as tightly as `binds`.
    fn bound(self, binds: Binds) -> String {
        if self.binds < binds { format!("({})", self.text) } else { self.text }
    }

    /// A list of such.
    pub(super) fn list(self) -> Self {
        Self::plain(format!("{}[]", self.bound(Binds::Tight)))
    }
}

/// Where a type is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    /// How many objects it lies in, as far as they are written over several lines.
    pub(super) indent: usize,
    /// How many schemas it lies in.
    level: usize,
    /// Whether it lies in an object or a list, and may lead back to the type that is declared.
    is_inside: bool,
}

impl Spot {
    pub(super) fn inside(self) -> Self {
        Self { is_inside: true, ..self }
    }

    pub(super) fn indented(self) -> Self {
        Self { indent: self.indent + 1, ..self.inside() }
    }
}

/// Writes types of the document `root`.
#[derive(Debug)]
pub(super) struct Printer<'a> {
    pub(super) module: &'a mut Module,
    pub(super) root: &'a Value,
    /// What the document's definitions are called, by their places.
    pub(super) known: HashMap<String, String>,
    /// What is still to be declared: names and places.
    pub(super) todo: Vec<(String, String)>,
    /// The place of what is declared now.
    declared: String,
}

impl<'a> Printer<'a> {
    pub(super) fn new(module: &'a mut Module, root: &'a Value) -> Self {
        Self { module, root, known: HashMap::new(), todo: Vec::new(), declared: String::new() }
    }

    /// The declaration of the schema at `at` under `name`.
    pub(super) fn declaration(&mut self, name: &str, at: &str) -> String {
        at.clone_into(&mut self.declared);
        let root = self.root;
        let schema = root.pointer(at).unwrap_or(&Value::Null);
        let body = self.typed(schema, at, Spot { indent: 0, level: 0, is_inside: false });
        format!("\n{}export type {name} = {};\n", text::doc(schema, ""), body.text)
    }

    /// The type of `schema`, which stands at `at`.
    pub(super) fn typed(&mut self, schema: &Value, at: &str, spot: Spot) -> Type {
        let members = match schema {
            Value::Bool(false) => return Type::plain("never"),
            Value::Object(members) if spot.level < LEVELS => members,
            _ => return Type::unknown(),
        };
        let spot = Spot { level: spot.level + 1, ..spot };
        let mut parts: Vec<Type> = self.own(members, at, spot).into_iter().collect();
        if let Some((target, _)) = refs::reference(self.root, at, schema) {
            parts.push(self.reference(&target, spot));
        }
        for (word, is_union) in [("allOf", false), ("anyOf", true), ("oneOf", true)] {
            let Some(Value::Array(all)) = members.get(word) else { continue };
            let place = pointer::push(at, word);
            let all = all.iter().enumerate().map(|(i, one)| self.typed(one, &format!("{place}/{i}"), spot));
            let all: Vec<_> = all.collect();
            parts.push(if is_union { Type::any_of(all) } else { Type::all_of(all) });
        }
        Type::all_of(parts)
    }

    /// What `members` say themselves; `None` if that is nothing.
    fn own(&mut self, members: &Map<String, Value>, at: &str, spot: Spot) -> Option<Type> {
        if let Some(only) = members.get("const") {
            return Some(Type::plain(text::literal(only)));
        }
        if let Some(Value::Array(values)) = members.get("enum") {
            return Some(Type::any_of(values.iter().map(|value| Type::plain(text::literal(value))).collect()));
        }
        let kinds: Vec<&str> = match members.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => vec![implied(members)?],
        };
        let types = kinds.into_iter().map(|kind| match kind {
            "string" | "boolean" | "null" => Type::plain(kind),
            "integer" | "number" => Type::plain("number"),
            "array" => self.array(members, at, spot),
            "object" => self.object(members, at, spot),
            _ => Type::unknown(),
        });
        Some(Type::any_of(types.collect()))
    }

    /// The name of the type that stands for the definition at `target`.
    fn reference(&mut self, target: &str, spot: Spot) -> Type {
        if !spot.is_inside && refs::needs(self.root, target, &self.declared) {
            // A type that is itself, and nothing else.
            return Type::unknown();
        }
        if let Some(name) = self.known.get(target) {
            return Type::plain(name);
        }
        let identity = refs::identity(self.root, target);
        let shared = identity.as_ref().and_then(|identity| self.module.shared.get(identity)).cloned();
        let name = shared.unwrap_or_else(|| {
            let name = self.module.name(&pointer::last(target));
            self.todo.push((name.clone(), target.to_owned()));
            name
        });
        if let Some(identity) = identity {
            self.module.shared.insert(identity, name.clone());
        }
        self.known.insert(target.to_owned(), name.clone());
        Type::plain(name)
    }
}

/// The kind of value that keywords are about where no `type` says it.
fn implied(members: &Map<String, Value>) -> Option<&'static str> {
    let has = |words: &[&str]| words.iter().any(|word| members.contains_key(*word));
    if has(&["properties", "required", "additionalProperties", "patternProperties", "propertyNames"]) {
        Some("object")
    } else if has(&["items", "prefixItems"]) {
        Some("array")
    } else {
        None
    }
}
