//! Arguments in OpenAI's strict form, raised to the neutral one.

mod text;

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

use serde_json::Value;

use super::shape::{At, Form, Shape};

/// Where a `null` only stands for "not given".
#[derive(Debug)]
pub(super) struct Plan {
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
    /// Whether a `null` is taken out.
    strip: bool,
    /// The only values it can have; empty where there are others.
    tags: Vec<Value>,
    next: usize,
}

impl Plan {
    /// A plan for arguments of the shape `root`; none if there is nothing to take out anywhere.
    pub(super) fn new(root: &Shape, targets: &BTreeMap<At, Shape>) -> Option<Self> {
        let mut maker = Maker { targets, steps: Vec::new(), known: HashMap::new(), strips: false };
        let root = maker.step(root);
        maker.strips.then_some(Self { steps: maker.steps, root })
    }

    pub(super) fn raise<'a>(&self, arguments: &'a str) -> Cow<'a, str> {
        if arguments.contains("null") {
            text::raise(self, arguments).map_or(Cow::Borrowed(arguments), Cow::Owned)
        } else {
            Cow::Borrowed(arguments)
        }
    }
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

/// Whether `null` is valid.
pub(super) fn takes_null(shape: &Shape, targets: &BTreeMap<At, Shape>) -> bool {
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
