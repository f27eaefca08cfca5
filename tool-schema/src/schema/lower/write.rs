//! Writing shapes down, as the rules of a provider want it.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::{
    hint,
    node::{Node, nullable, typed},
    rules::Rules,
};
use crate::schema::{
    Severity,
    loss::Losses,
    pointer,
    shape::{At, Form, Kind, Notes, Shape, unite},
};

/// The schema of `shape`, with the definitions that it refers to.
pub(super) fn write(shape: &Shape, targets: &BTreeMap<At, Shape>, rules: &Rules, losses: &mut Losses) -> Value {
    let mut writer = Writer { rules, targets, losses, names: HashMap::new(), order: Vec::new() };
    let mut root = writer.node(shape, true);
    let mut definitions = Map::new();
    let mut next = 0;
    while let Some(at) = writer.order.get(next).cloned() {
        next += 1;
        if let Some(target) = targets.get(&at) {
            let node = writer.node(target, false);
            definitions.insert(writer.names[&at].clone(), Value::Object(node));
        }
    }
    if !definitions.is_empty() {
        root.insert("$defs".to_owned(), Value::Object(definitions));
    }
    Value::Object(root)
}

pub(super) struct Writer<'a> {
    pub(super) rules: &'a Rules,
    pub(super) targets: &'a BTreeMap<At, Shape>,
    pub(super) losses: &'a mut Losses,
    names: HashMap<At, String>,
    order: Vec<At>,
}

impl Writer<'_> {
    pub(super) fn node(&mut self, shape: &Shape, is_root: bool) -> Node {
        let mut hints = shape.notes.hints.clone();
        let mut node = match &shape.form {
            Form::Ref(at) => {
                if shape.notes.description.is_some() {
                    let note = "a recursive reference stands alone: its description was left out";
                    self.losses.add(&shape.at, "description", Severity::Annotation, note);
                }
                return self.reference(at);
            }
            Form::Any => self.any(&shape.at, &mut hints),
            Form::Never => {
                self.stand_in(&shape.at, "", "no value is valid: null stands in");
                typed("null")
            }
            Form::Cut(kind) => self.cut(*kind, &shape.at),
            Form::Scalar(scalar) => self.scalar(scalar, &shape.at, &mut hints),
            Form::Object(object) => self.object(object, &shape.at, is_root, &mut hints),
            Form::Array(array) => self.array(array, &shape.at, &mut hints),
            Form::Union(members) => self.union(members, &shape.at, &mut hints),
        };
        self.annotate(&mut node, &shape.notes, hints);
        node
    }

    /// Something stands in for what cannot be said.
    pub(super) fn stand_in(&mut self, at: &At, word: &str, note: &str) {
        let severity = if self.rules.strict { Severity::Inexpressible } else { Severity::Narrowed };
        self.losses.add(at, word, severity, note);
    }

    pub(super) fn weaken(&mut self, at: &str, word: &str) {
        self.losses.add(at, word, Severity::Weakened, format!("{} does not take it", self.rules.reader));
    }

    fn annotate(&mut self, node: &mut Node, notes: &Notes, mut hints: Vec<String>) {
        if let Some((at, value)) = &notes.default {
            if self.rules.default {
                node.insert("default".to_owned(), value.clone());
            } else {
                hints.extend(hint::default(value));
                self.losses.add(at, "default", Severity::Annotation, "said in the description");
            }
        }
        if let Some((at, value)) = &notes.examples {
            hints.extend(hint::examples(value));
            self.losses.add(at, "examples", Severity::Annotation, "said in the description");
        }
        let own = node.get("description").and_then(Value::as_str).map(str::to_owned);
        let description = notes.description.clone().or(own);
        if let Some(text) = hint::described(description.as_deref(), &hints) {
            node.shift_insert(usize::from(node.contains_key("type")), "description".to_owned(), text.into());
        }
        if let Some(title) = &notes.title {
            node.shift_insert(0, "title".to_owned(), title.as_str().into());
        }
    }

    fn reference(&mut self, at: &At) -> Node {
        if !self.names.contains_key(at) {
            let plain = pointer::last(at).replace(|one: char| !one.is_ascii_alphanumeric() && one != '-', "_");
            let plain = if plain.is_empty() { "Whole".to_owned() } else { plain };
            let taken = |name: &String| self.names.values().any(|other| other == name);
            let numbered = (2..).map(|number| format!("{plain}_{number}"));
            let name = std::iter::once(plain.clone()).chain(numbered).find(|name| !taken(name));
            self.names.insert(at.clone(), name.expect("numbers do not end"));
            self.order.push(at.clone());
        }
        let mut node = Node::new();
        node.insert("$ref".to_owned(), format!("#/$defs/{}", self.names[at]).into());
        node
    }

    fn any(&mut self, at: &At, hints: &mut Vec<String>) -> Node {
        self.stand_in(at, "type", "any value is valid, which cannot be said");
        if self.rules.unions {
            let mut node = Node::new();
            let kinds = ["string", "number", "boolean"];
            node.insert("anyOf".to_owned(), kinds.map(|kind| json!({"type": kind})).to_vec().into());
            nullable(node)
        } else {
            hints.push("any JSON value".to_owned());
            typed("string")
        }
    }

    fn cut(&mut self, kind: Kind, at: &At) -> Node {
        if self.rules.strict {
            self.stand_in(at, "$ref", "the schema was cut here");
        }
        let mut node = typed(kind.name());
        match kind {
            Kind::Object => self.close(&mut node, Vec::new(), Vec::new()),
            Kind::Array => drop(node.insert("items".to_owned(), json!({"type": "string"}))),
            _ => {}
        }
        node
    }

    fn union(&mut self, members: &[Shape], at: &At, hints: &mut Vec<String>) -> Node {
        let (nulls, others): (Vec<&Shape>, Vec<&Shape>) = members.iter().partition(|member| member.is_null());
        let node = if let [only] = others.as_slice() {
            self.node(only, false)
        } else if self.rules.unions {
            let mut nodes: Vec<Value> = Vec::new();
            // By their texts: comparing each with each takes minutes for ten thousand.
            let mut seen = HashSet::new();
            for member in others {
                let node = Value::Object(self.node(member, false));
                if seen.insert(node.to_string()) {
                    nodes.push(node);
                }
            }
            let mut node = Node::new();
            if nodes.len() == 1 {
                node = nodes.remove(0).as_object().cloned().unwrap_or_default();
            } else {
                node.insert("anyOf".to_owned(), nodes.into());
            }
            node
        } else {
            let mut united = unite(at, others.into_iter().cloned().collect(), self.losses);
            hints.append(&mut united.notes.hints);
            self.node(&united, false)
        };
        if nulls.is_empty() { node } else { nullable(node) }
    }
}
