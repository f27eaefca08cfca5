//! Bringing together what must hold at once.

use std::collections::{HashSet, VecDeque};

use serde_json::{Map, Value};

use super::{At, Kind, Reader};
use crate::schema::{Severity, pointer, words};

/// Something that must hold.
#[derive(Clone, Debug)]
pub(super) enum Item<'a> {
    /// A schema as it stands.
    Whole(&'a Value, At),
    /// A schema without its references and combinations, which have been taken out; with or without its notes.
    Plain(&'a Map<String, Value>, At, bool),
    /// One of these must hold; `oneOf` where the flag is set.
    Union(&'a [Value], At, bool),
}

/// What must hold at once, taken apart.
#[derive(Debug, Default)]
pub(super) struct Facts<'a> {
    /// Schemas without references and combinations, each with whether its notes count.
    pub(super) plain: Vec<(&'a Map<String, Value>, At, bool)>,
    pub(super) unions: Vec<(&'a [Value], At, bool)>,
    pub(super) references: Vec<Reference<'a>>,
    pub(super) never: bool,
}

/// A `$ref` not yet followed: where it stands, and what it points to.
#[derive(Clone, Debug)]
pub(super) struct Reference<'a> {
    pub(super) from: At,
    pub(super) target: At,
    pub(super) schema: &'a Value,
}

impl Facts<'_> {
    /// Whether there is something that decides about validity, besides references.
    pub(super) fn has_assertions(&self) -> bool {
        self.never
            || !self.unions.is_empty()
            || self.plain.iter().any(|(schema, ..)| schema.keys().any(|word| decides(word)))
    }
}

fn decides(word: &str) -> bool {
    Kind::of_word(word).is_some() || matches!(word, "type" | "enum" | "const" | "not" | "if")
}

pub(super) fn is_combination(word: &str) -> bool {
    matches!(word, "$ref" | "$dynamicRef" | "$recursiveRef" | "allOf" | "anyOf" | "oneOf")
}

impl<'a> Reader<'a> {
    /// Takes `items` apart, without following references.
    pub(super) fn gather(&mut self, items: Vec<Item<'a>>) -> Facts<'a> {
        let mut facts = Facts::default();
        self.gather_into(items, &mut facts);
        facts
    }

    /// Follows all references of `facts`, and those behind them. Returns what was followed.
    pub(super) fn follow(&mut self, facts: &mut Facts<'a>) -> Vec<At> {
        let mut followed = HashSet::new();
        let mut order = Vec::new();
        while !facts.references.is_empty() {
            for reference in std::mem::take(&mut facts.references) {
                if followed.insert(reference.target.clone()) {
                    order.push(reference.target.clone());
                    self.gather_into(vec![Item::Whole(reference.schema, reference.target)], facts);
                }
            }
        }
        order
    }

    fn gather_into(&mut self, items: Vec<Item<'a>>, facts: &mut Facts<'a>) {
        let mut queue = VecDeque::from(items);
        while let Some(item) = queue.pop_front() {
            match item {
                Item::Whole(Value::Bool(true), _) => {}
                Item::Whole(Value::Bool(false), _) => facts.never = true,
                Item::Whole(Value::Object(schema), at) => self.take_apart(schema, &at, facts, &mut queue),
                Item::Whole(_, at) => {
                    self.losses.add(
                        &at,
                        "",
                        Severity::Annotation,
                        "not a schema: taken as one that accepts everything",
                    );
                }
                Item::Plain(schema, at, notes) => facts.plain.push((schema, at, notes)),
                Item::Union(members, at, one_of) => facts.unions.push((members, at, one_of)),
            }
        }
    }

    fn take_apart(
        &mut self,
        schema: &'a Map<String, Value>,
        at: &At,
        facts: &mut Facts<'a>,
        queue: &mut VecDeque<Item<'a>>,
    ) {
        let mut has_reference = false;
        for word in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let Some(reference) = schema.get(word) else { continue };
            let found = reference.as_str().and_then(|reference| pointer::resolve(self.root, at, reference));
            if let Some((target, schema)) = found {
                has_reference = true;
                facts.references.push(Reference { from: at.clone(), target: target.into(), schema });
            } else {
                let note = format!("{reference} leads nowhere in this schema, and nothing is fetched: left out");
                self.losses.add(at, word, Severity::Weakened, note);
            }
        }
        let ignored = has_reference && !self.draft.reference_has_siblings();
        if ignored && schema.keys().any(|word| word != "$ref" && !words::is_annotation(word)) {
            return;
        }
        facts.plain.push((schema, at.clone(), true));
        for (word, one_of) in [("anyOf", false), ("oneOf", true)] {
            if let Some(members) = schema.get(word).and_then(Value::as_array) {
                facts.unions.push((members, pointer::push(at, word).into(), one_of));
            }
        }
        let all = schema.get("allOf").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (i, member) in all.iter().enumerate().rev() {
            queue.push_front(Item::Whole(member, format!("{at}/allOf/{i}").into()));
        }
    }
}
