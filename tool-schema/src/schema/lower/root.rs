//! The root of a lowered schema, which is an object.

use std::collections::{BTreeMap, HashSet};

use super::rules::Rules;
use crate::schema::{
    Severity,
    data::Kind,
    losses::Losses,
    raise::WRAPPER,
    shape::{At, Form, Object, Property, Rest, Scalar, Shape, merge_objects, unite},
};

/// The maximum number of lines, and of their bytes, that tell which properties belong together.
const MAX_LINES: usize = 40;
const MAX_LINE_BYTES: usize = 4_000;

/// Returns the shape of the arguments in the portable form, which is an object without a union. The flag is set if this object
/// only wraps the arguments, because some of them are no objects.
pub fn to_one_object(shape: Shape, targets: &BTreeMap<At, Shape>, losses: &mut Losses) -> (Shape, bool) {
    let Some(mut objects) = find_objects(&shape, targets, losses).filter(|objects| !objects.is_empty()) else {
        return (wrap(shape), true);
    };
    let Shape { at, mut notes, form } = shape;
    if let [_] = objects.as_slice() {
        let only = objects.remove(0);
        if matches!(form, Form::Union(_) | Form::Ref(_)) && notes.description.is_none() {
            notes.description = only.notes.description;
            notes.hints.extend(only.notes.hints);
        }
        return (Shape { at, notes, form: only.form }, false);
    }
    losses.add(&at, "anyOf", Severity::Weakened, "the branches of the root were merged into one object");
    let objects: Vec<(Object, Option<String>)> = objects
        .into_iter()
        .filter_map(|member| match member.form {
            Form::Object(object) => Some((object, member.notes.description)),
            _ => None,
        })
        .collect();
    let lines = describe_branches(&objects);
    notes.description = match (notes.description, lines) {
        (Some(text), Some(lines)) => Some(format!("{text}\n\n{lines}")),
        (text, lines) => text.or(lines),
    };
    (Shape { at: at.clone(), notes, form: Form::Object(merge_objects(&at, &objects, None)) }, false)
}

/// Returns the objects of a union, with the targets of its references. Returns `None` if a value may be no object.
fn find_objects(root: &Shape, targets: &BTreeMap<At, Shape>, losses: &mut Losses) -> Option<Vec<Shape>> {
    let mut found = Vec::new();
    let mut seen: HashSet<&At> = HashSet::from([&root.at]);
    let mut todo = vec![root];
    while let Some(shape) = todo.pop() {
        match &shape.form {
            Form::Object(_) => found.push(shape.clone()),
            Form::Any => {
                let object = Object { rest: Rest::Open, ..Object::default() };
                found.push(Shape { form: Form::Object(object), ..shape.clone() });
            }
            Form::Union(members) if accepts_every_kind(members) => {
                losses.add(&shape.at, "type", Severity::Narrowed, "missing: arguments are an object");
                todo.extend(members.iter().rev().filter(|member| member.kind() == Some(Kind::Object)));
            }
            Form::Union(members) => todo.extend(members.iter().rev()),
            Form::Ref(at) => {
                if seen.insert(at) {
                    todo.push(targets.get(at)?);
                }
            }
            _ => return None,
        }
    }
    Some(found)
}

fn accepts_every_kind(members: &[Shape]) -> bool {
    Kind::all_values().into_iter().all(|kind| members.iter().any(|member| member.kind() == Some(kind)))
}

/// Returns an object with `shape` as its only property.
fn wrap(shape: Shape) -> Shape {
    let at = shape.at.clone();
    let property = Property { name: WRAPPER.to_owned(), required: true, shape };
    Shape::new(at, Form::Object(Object { properties: vec![property], rest: Rest::None, ..Object::default() }))
}

/// Returns a list of the properties that belong together, or `None` if it is long or says nothing.
fn describe_branches(objects: &[(Object, Option<String>)]) -> Option<String> {
    if objects.len() > MAX_LINES {
        return None;
    }
    let mut lines: Vec<String> = Vec::new();
    for (object, description) in objects {
        let name = |property: &Property| match &property.shape.form {
            Form::Scalar(Scalar { values: Some(values), .. }) if values.len() == 1 => {
                format!("`{}`: {}", property.name, values[0])
            }
            _ => format!("`{}`", property.name),
        };
        let names = |required: bool| -> Vec<String> {
            object.properties.iter().filter(|property| property.required == required).map(name).collect()
        };
        let mut parts = names(true);
        let optional = names(false);
        if !optional.is_empty() {
            parts.push(format!("optional {}", optional.join(", ")));
        }
        let text = if parts.is_empty() { "no property".to_owned() } else { parts.join(", ") };
        let line = match description {
            Some(description) => format!("- {text}. {description}"),
            None => format!("- {text}"),
        };
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let bytes: usize = lines.iter().map(String::len).sum();
    (lines.len() > 1 && bytes <= MAX_LINE_BYTES).then(|| format!("One of:\n{}", lines.join("\n")))
}

/// Returns the shape of a tool's arguments, which is an object even if the neutral schema is not.
pub fn to_object(shape: Shape, targets: &BTreeMap<At, Shape>, rules: &Rules, losses: &mut Losses) -> Shape {
    let Shape { at, mut notes, form } = shape;
    let form = match form {
        Form::Object(object) => Form::Object(object),
        Form::Union(members) => {
            let whole = members.len();
            let mut objects: Vec<Shape> =
                members.into_iter().filter_map(|member| resolve_object(member, targets)).collect();
            if objects.len() < whole {
                losses.add(
                    &at,
                    "anyOf",
                    Severity::Narrowed,
                    "arguments are an object: the other branches were left out",
                );
            }
            match objects.len() {
                0 => object_placeholder(&at, Rest::None, rules, losses),
                1 => objects.remove(0).form,
                _ => {
                    let united = unite(&at, objects, losses);
                    if notes.description.is_none() {
                        notes.description = united.notes.description;
                    }
                    united.form
                }
            }
        }
        Form::Any => object_placeholder(&at, Rest::Open, rules, losses),
        _ => object_placeholder(&at, Rest::None, rules, losses),
    };
    Shape { at, notes, form }
}

/// Returns the object that `shape` is or refers to, or `None` for another shape.
fn resolve_object(shape: Shape, targets: &BTreeMap<At, Shape>) -> Option<Shape> {
    match &shape.form {
        Form::Object(_) => Some(shape),
        Form::Ref(at) => targets.get(at).filter(|target| matches!(target.form, Form::Object(_))).cloned(),
        _ => None,
    }
}

fn object_placeholder(at: &At, rest: Rest, rules: &Rules, losses: &mut Losses) -> Form {
    if rest == Rest::None {
        losses.add(at, "type", rules.placeholder_severity(), "arguments must be an object: replaced by an empty one");
    }
    Form::Object(Object { declared: rest == Rest::None, rest, ..Object::default() })
}
