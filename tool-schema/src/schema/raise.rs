//! Arguments in OpenAI's strict form, raised to the neutral one.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

use serde_json::{Value, value::RawValue};

use super::{
    number,
    shape::{At, Form, Shape},
};
use crate::json::text::parts;

/// The most levels of a value that are looked at.
const LEVELS: usize = 128;

/// Where a `null` only stands for "not given".
#[derive(Debug)]
pub struct Plan {
    steps: Vec<Step>,
    root: usize,
}

#[derive(Debug)]
enum Step {
    /// Nothing to take out.
    Keep,
    Object(Vec<Member>),
    Array {
        prefix: Vec<usize>,
        items: usize,
    },
    /// One of these; a reference is one of one.
    Union(Vec<usize>),
}

#[derive(Debug)]
struct Member {
    name: String,
    /// `true` if a `null` is removed.
    strip: bool,
    /// The only values it can have; empty where there are others.
    tags: Vec<Value>,
    next: usize,
}

impl Plan {
    /// Returns a plan for arguments of the shape `root`; `None` if there is nothing to remove anywhere.
    pub fn new(root: &Shape, targets: &BTreeMap<At, Shape>) -> Option<Self> {
        let mut maker = Maker { targets, steps: Vec::new(), known: HashMap::new(), strips: false };
        let root = maker.step(root);
        maker.strips.then_some(Self { steps: maker.steps, root })
    }

    /// Returns `arguments` without what the plan takes out, the rest byte for byte as it was. Text that is not JSON stays.
    pub fn raise<'a>(&self, arguments: &'a str) -> Cow<'a, str> {
        let raised = || {
            let raw: &RawValue = serde_json::from_str(arguments).ok()?;
            self.value(self.root, raw.get(), LEVELS)
        };
        if arguments.contains("null") { raised().map_or(arguments.into(), Cow::Owned) } else { arguments.into() }
    }

    /// Returns the changed text of the value `text`, which is JSON; `None` where nothing changes.
    fn value(&self, step: usize, text: &str, levels: usize) -> Option<String> {
        if levels == 0 || !text.contains("null") {
            return None;
        }
        match &self.steps[step] {
            Step::Keep => None,
            Step::Object(members) => self.object(members, text, levels),
            Step::Array { prefix, items } => {
                let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
                let step = |i: usize| prefix.get(i).copied().unwrap_or(*items);
                let raised: Vec<_> =
                    list.iter().enumerate().map(|(i, raw)| self.value(step(i), raw.get(), levels - 1)).collect();
                let parts = list.iter().zip(&raised).map(|(raw, raised)| raised.as_deref().unwrap_or(raw.get()));
                let parts: Vec<&str> = parts.collect();
                raised.iter().any(Option::is_some).then(|| format!("[{}]", parts.join(",")))
            }
            Step::Union(members) => self.union(members, text, levels),
        }
    }

    fn object(&self, members: &[Member], text: &str, levels: usize) -> Option<String> {
        let mut kept = Vec::new();
        let mut changed = false;
        for (name, value) in parts(text) {
            let member = members.iter().find(|member| member.name == name);
            if value == "null" && member.is_some_and(|member| member.strip) {
                changed = true;
                continue;
            }
            let raised = member.and_then(|member| self.value(member.next, value, levels - 1));
            changed |= raised.is_some();
            kept.push(format!("{}:{}", Value::from(name), raised.as_deref().unwrap_or(value)));
        }
        changed.then(|| format!("{{{}}}", kept.join(",")))
    }

    /// Raises `text` as the branch that it follows. If several are possible, they must agree on the result.
    fn union(&self, members: &[usize], text: &str, levels: usize) -> Option<String> {
        let mut fitting: Vec<usize> = Vec::new();
        let mut complete: Vec<usize> = Vec::new();
        let entries: Vec<_> = parts(text).collect();
        let mut todo: Vec<usize> = members.iter().rev().copied().collect();
        let mut seen = Vec::new();
        while let Some(step) = todo.pop() {
            match &self.steps[step] {
                Step::Union(inner) if !seen.contains(&step) => {
                    seen.push(step);
                    todo.extend(inner.iter().rev());
                }
                Step::Object(own) if text.starts_with('{') && fits(own, &entries) => {
                    fitting.push(step);
                    if own.iter().all(|member| entries.iter().any(|(name, _)| *name == member.name)) {
                        complete.push(step);
                    }
                }
                Step::Array { .. } if text.starts_with('[') => fitting.push(step),
                _ => {}
            }
        }
        let candidates = if complete.is_empty() { fitting } else { complete };
        let mut results = candidates.into_iter().map(|step| self.value(step, text, levels - 1));
        let first = results.next()??;
        results.all(|other| other.as_ref() == Some(&first)).then_some(first)
    }
}

/// Returns whether `entries` can be those of an object with `members`: all are known, and the tags agree.
fn fits(members: &[Member], entries: &[(Cow<'_, str>, &str)]) -> bool {
    entries.iter().all(|(name, text)| {
        members.iter().find(|member| member.name == *name).is_some_and(|member| {
            member.tags.is_empty()
                || (member.strip && *text == "null")
                || serde_json::from_str::<Value>(text)
                    .is_ok_and(|value| member.tags.iter().any(|tag| number::same(tag, &value)))
        })
    })
}

struct Maker<'a> {
    targets: &'a BTreeMap<At, Shape>,
    steps: Vec<Step>,
    known: HashMap<At, usize>,
    strips: bool,
}

impl<'a> Maker<'a> {
    fn add(&mut self, step: Step) -> usize {
        self.steps.push(step);
        self.steps.len() - 1
    }

    fn step(&mut self, shape: &'a Shape) -> usize {
        match &shape.form {
            Form::Object(object) => {
                let members = object.properties.iter().map(|property| {
                    let strip = !property.required && !takes_null(&property.shape, self.targets);
                    self.strips |= strip;
                    let next = self.step(&property.shape);
                    Member { name: property.name.clone(), strip, tags: tags(&property.shape), next }
                });
                let members = members.collect();
                self.add(Step::Object(members))
            }
            Form::Array(array) => {
                let prefix = array.prefix.iter().map(|item| self.step(item)).collect();
                let items = self.step(&array.items);
                self.add(Step::Array { prefix, items })
            }
            Form::Union(members) => {
                let members = members.iter().map(|member| self.step(member)).collect();
                self.add(Step::Union(members))
            }
            Form::Ref(at) => self.target(at),
            Form::Any | Form::Never | Form::Cut(_) | Form::Scalar(_) => self.add(Step::Keep),
        }
    }

    fn target(&mut self, at: &At) -> usize {
        if let Some(&known) = self.known.get(at) {
            return known;
        }
        let place = self.add(Step::Keep);
        self.known.insert(at.clone(), place);
        if let Some(target) = self.targets.get(at) {
            let target = self.step(target);
            self.steps[place] = Step::Union(vec![target]);
        }
        place
    }
}

fn tags(shape: &Shape) -> Vec<Value> {
    match &shape.form {
        Form::Scalar(scalar) => scalar.values.clone().unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Returns whether `null` is valid.
pub fn takes_null(shape: &Shape, targets: &BTreeMap<At, Shape>) -> bool {
    let mut seen: Vec<&At> = Vec::new();
    let mut todo = vec![shape];
    while let Some(shape) = todo.pop() {
        match &shape.form {
            Form::Any => return true,
            Form::Scalar(_) if shape.is_null() => return true,
            Form::Union(members) => todo.extend(members),
            Form::Ref(at) if !seen.contains(&at) => {
                seen.push(at);
                todo.extend(targets.get(at));
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests;
