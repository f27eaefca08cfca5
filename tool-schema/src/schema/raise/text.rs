//! Taking members out of JSON text, the rest byte for byte as it was.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

use super::{Member, Plan, Step};
use crate::schema::number;

/// How deep values are looked into.
const LEVELS: usize = 128;

/// The text without what `plan` takes out; none if that is nothing, or the text is not JSON.
pub(super) fn raise(plan: &Plan, text: &str) -> Option<String> {
    let raw: &RawValue = serde_json::from_str(text).ok()?;
    value(plan, plan.root, raw.get(), LEVELS)
}

fn value(plan: &Plan, step: usize, text: &str, levels: usize) -> Option<String> {
    if levels == 0 || !text.contains("null") {
        return None;
    }
    match &plan.steps[step] {
        Step::Keep => None,
        Step::Object(members) => object(plan, members, &parse(text)?, levels),
        Step::Array { prefix, items } => {
            let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            let step = |i: usize| prefix.get(i).copied().unwrap_or(*items);
            let raised: Vec<_> =
                list.iter().enumerate().map(|(i, raw)| value(plan, step(i), raw.get(), levels - 1)).collect();
            changed(&raised)?;
            let parts = list.iter().zip(&raised).map(|(raw, raised)| raised.as_deref().unwrap_or(raw.get()));
            Some(format!("[{}]", parts.collect::<Vec<_>>().join(",")))
        }
        Step::Union(members) => union(plan, members, text, levels),
    }
}

fn object(plan: &Plan, members: &[Member], entries: &Entries<'_>, levels: usize) -> Option<String> {
    let mut text = String::from("{");
    let mut changed = false;
    for (key, raw) in &entries.0 {
        let member = members.iter().find(|member| member.name == *key);
        if raw.get() == "null" && member.is_some_and(|member| member.strip) {
            changed = true;
            continue;
        }
        let raised = member.and_then(|member| value(plan, member.next, raw.get(), levels - 1));
        changed |= raised.is_some();
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&serde_json::to_string(key).ok()?);
        text.push(':');
        text.push_str(raised.as_deref().unwrap_or(raw.get()));
    }
    text.push('}');
    changed.then_some(text)
}

/// Raises `text` as the branch that it follows. If several are possible, they must agree on the result.
fn union(plan: &Plan, members: &[usize], text: &str, levels: usize) -> Option<String> {
    let mut fitting: Vec<usize> = Vec::new();
    let mut complete: Vec<usize> = Vec::new();
    let entries = if text.starts_with('{') { parse(text) } else { None };
    let mut todo: Vec<usize> = members.iter().rev().copied().collect();
    let mut seen = Vec::new();
    while let Some(step) = todo.pop() {
        match &plan.steps[step] {
            Step::Union(inner) if !seen.contains(&step) => {
                seen.push(step);
                todo.extend(inner.iter().rev());
            }
            Step::Object(own) => {
                if let Some(entries) = entries.as_ref().filter(|entries| fits(own, entries)) {
                    fitting.push(step);
                    if own.iter().all(|member| entries.0.iter().any(|(key, _)| *key == member.name)) {
                        complete.push(step);
                    }
                }
            }
            Step::Array { .. } if text.starts_with('[') => fitting.push(step),
            _ => {}
        }
    }
    let candidates = if complete.is_empty() { fitting } else { complete };
    let mut results = candidates.into_iter().map(|step| value(plan, step, text, levels - 1));
    let first = results.next()??;
    results.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

/// Whether the entries can be those of an object with `members`: all are known, and the tags agree.
fn fits(members: &[Member], entries: &Entries<'_>) -> bool {
    entries.0.iter().all(|(key, raw)| {
        let member = members.iter().find(|member| member.name == *key);
        member.is_some_and(|member| {
            member.tags.is_empty()
                || (member.strip && raw.get() == "null")
                || serde_json::from_str::<Value>(raw.get())
                    .is_ok_and(|value| member.tags.iter().any(|tag| number::same(tag, &value)))
        })
    })
}

fn changed(raised: &[Option<String>]) -> Option<()> {
    raised.iter().any(Option::is_some).then_some(())
}

fn parse(text: &str) -> Option<Entries<'_>> {
    serde_json::from_str(text).ok()
}

/// The members of an object in their order, also those of one name.
struct Entries<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;

        impl<'de> Visitor<'de> for Read {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((key, raw)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    entries.push((key.0, raw));
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(Read)
    }
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
