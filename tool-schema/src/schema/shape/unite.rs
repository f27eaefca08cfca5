//! Several shapes at once: whether they have no value in common, and one shape for readers that know no unions.

use std::collections::HashSet;

use super::{Array, At, Form, Kind, Object, Property, Rest, Scalar, Shape};
use crate::schema::{Severity, dialect::Losses, number, pointer};

/// Returns whether it is certain that no value fits both.
pub fn disjoint(a: &Shape, b: &Shape) -> bool {
    match (&a.form, &b.form) {
        (Form::Never, _) | (_, Form::Never) => true,
        (Form::Union(members), _) => members.iter().all(|member| disjoint(member, b)),
        (_, Form::Union(members)) => members.iter().all(|member| disjoint(a, member)),
        (Form::Scalar(one), Form::Scalar(other)) => match (&one.values, &other.values) {
            (Some(one), Some(other)) => !one.iter().any(|value| other.iter().any(|other| number::same(value, other))),
            _ => !one.kind.is_a(other.kind) && !other.kind.is_a(one.kind),
        },
        (Form::Object(one), Form::Object(other)) => {
            tagged_apart(one, other) || refuses(one, other) || refuses(other, one)
        }
        (Form::Cut(_), _) | (_, Form::Cut(_)) => false,
        _ => matches!((a.kind(), b.kind()), (Some(a), Some(b)) if a != b),
    }
}

/// Returns whether both have a property that they need and that tells them apart.
fn tagged_apart(a: &Object, b: &Object) -> bool {
    let needed =
        |object: &Object, name: &str| object.properties.iter().any(|other| other.name == name && other.required);
    a.properties.iter().any(|one| {
        let other = b.properties.iter().find(|other| other.name == one.name);
        other.is_some_and(|other| (needed(a, &one.name) || needed(b, &one.name)) && disjoint(&one.shape, &other.shape))
    })
}

/// Returns whether `a` knows no more than its own properties and `b` needs another.
fn refuses(a: &Object, b: &Object) -> bool {
    matches!(a.rest, Rest::None)
        && b.properties.iter().any(|other| other.required && !a.properties.iter().any(|own| own.name == other.name))
}

/// Returns one shape, which is no union, for all `members` of the union at `at` (none of them null).
pub fn unite(at: &At, members: Vec<Shape>, losses: &mut Losses) -> Shape {
    let mut kinds: Vec<Option<Kind>> = members.iter().map(Shape::kind).collect();
    kinds.dedup();
    let weakened = |losses: &mut Losses| {
        losses.add(
            at,
            "anyOf",
            Severity::Weakened,
            "the branches were united into one that takes what any of them takes",
        );
    };
    match kinds.as_slice() {
        [Some(Kind::Object)] => {
            weakened(losses);
            unite_objects(at, members)
        }
        [Some(Kind::Array)] => {
            weakened(losses);
            unite_arrays(at, members)
        }
        kinds if kinds.iter().all(|kind| kind.is_some_and(|kind| kind.is_a(Kind::Number))) => {
            weakened(losses);
            let kind = if kinds.contains(&Some(Kind::Number)) { Kind::Number } else { Kind::Integer };
            unite_scalars(at, kind, members)
        }
        [Some(kind)] => {
            weakened(losses);
            unite_scalars(at, *kind, members)
        }
        _ => unite_kinds(at, members, losses),
    }
}

fn unite_kinds(at: &At, mut members: Vec<Shape>, losses: &mut Losses) -> Shape {
    let first = members[0].kind();
    let others: Vec<&str> =
        members.iter().filter_map(Shape::kind).filter(|one| Some(*one) != first).map(Kind::name).collect();
    let note = format!("values of several kinds: only the first branch stays, without {}", others.join(", "));
    losses.add(at, "anyOf", Severity::Narrowed, note);
    members.retain(|member| member.kind() == first);
    if members.len() == 1 { members.remove(0) } else { unite(at, members, losses) }
}

fn unite_scalars(at: &At, kind: Kind, members: Vec<Shape>) -> Shape {
    let mut united = Shape::new(at.clone(), Form::Never);
    let mut texts = Vec::new();
    for member in members {
        texts.extend(member.notes.description);
        united.notes.hints.extend(member.notes.hints);
    }
    united.notes.description = (!texts.is_empty()).then(|| texts.join("; or "));
    united.form = Form::Scalar(Scalar { kind, values: None, limits: Vec::new() });
    united
}

fn unite_arrays(at: &At, members: Vec<Shape>) -> Shape {
    let mut items = Vec::new();
    let mut united = Shape::new(at.clone(), Form::Never);
    for member in members {
        united.notes.description = united.notes.description.or(member.notes.description);
        if let Form::Array(array) = member.form {
            items.extend(array.prefix);
            items.push(*array.items);
        }
    }
    let items = Box::new(Shape::union(at, items));
    united.form = Form::Array(Array { prefix: Vec::new(), items, limits: Vec::new() });
    united
}

fn unite_objects(at: &At, members: Vec<Shape>) -> Shape {
    let objects: Vec<(Object, Option<String>)> = members
        .into_iter()
        .map(|member| match member.form {
            Form::Object(object) => (object, member.notes.description),
            _ => (Object { properties: Vec::new(), declared: false, rest: Rest::Unsaid, limits: Vec::new() }, None),
        })
        .collect();
    let tag = tag(&objects);
    let mut united = Shape::new(at.clone(), Form::Never);
    let mut names: Vec<String> = Vec::new();
    for property in objects.iter().flat_map(|(object, _)| &object.properties) {
        if !names.contains(&property.name) {
            names.push(property.name.clone());
        }
    }
    let mut properties = Vec::new();
    for name in names {
        let mut shapes = Vec::new();
        let mut users = Vec::new();
        let mut required = true;
        for (object, description) in &objects {
            let own = object.properties.iter().find(|property| property.name == name);
            required &= own.is_some_and(|property| property.required);
            let Some(own) = own else { continue };
            let mut shape = own.shape.clone();
            if Some(&name) == tag.as_ref() {
                // The description of a variant moves to its tag.
                shape.notes.description = shape.notes.description.or_else(|| description.clone());
            }
            users.extend(tag.as_ref().and_then(|tag| tag_value(object, tag)));
            shapes.push(shape);
        }
        let mut shape = Shape::union(&place(&shapes, at, &name), shapes);
        if users.len() < objects.len() && !users.is_empty() {
            shape.notes.hints.push(format!("for {} {}", tag.as_deref().unwrap_or_default(), users.join(", ")));
        }
        properties.push(Property { name, required, shape });
    }
    let rests: Vec<&Rest> = objects.iter().map(|(object, _)| &object.rest).collect();
    let rest = if rests.iter().all(|rest| **rest == Rest::None) {
        Rest::None
    } else if rests.iter().any(|rest| matches!(rest, Rest::Open | Rest::Of(_))) {
        Rest::Open
    } else {
        Rest::Unsaid
    };
    if tag.is_none() {
        let texts: Vec<String> = objects.iter().filter_map(|(_, description)| description.clone()).collect();
        united.notes.description = (!texts.is_empty()).then(|| texts.join("; or "));
    }
    let declared = objects.iter().any(|(object, _)| object.declared);
    united.form = Form::Object(Object { properties, declared, rest, limits: Vec::new() });
    united
}

fn place(shapes: &[Shape], at: &At, name: &str) -> At {
    shapes.first().map_or_else(|| pointer::push(at, name).into(), |shape| shape.at.clone())
}

/// Returns the property that tells the variants apart: needed by all, with one value in each, which no other has.
fn tag(objects: &[(Object, Option<String>)]) -> Option<String> {
    let (first, _) = objects.first()?;
    let is_tag = |name: &str| {
        let values: Option<HashSet<String>> = objects.iter().map(|(object, _)| tag_value(object, name)).collect();
        values.is_some_and(|values| values.len() == objects.len())
    };
    first.properties.iter().map(|property| &property.name).find(|name| is_tag(name)).cloned()
}

fn tag_value(object: &Object, name: &str) -> Option<String> {
    let property = object.properties.iter().find(|property| property.name == name && property.required)?;
    match &property.shape.form {
        Form::Scalar(Scalar { values: Some(values), .. }) => match values.as_slice() {
            [only] => Some(only.to_string()),
            _ => None,
        },
        _ => None,
    }
}
