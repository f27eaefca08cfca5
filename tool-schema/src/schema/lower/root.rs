//! The root of a tool's arguments: an object, whatever the neutral schema is.

use std::collections::BTreeMap;

use super::rules::Rules;
use crate::schema::{
    Severity,
    loss::Losses,
    shape::{At, Form, Object, Rest, Shape, unite},
};

pub(super) fn object(shape: Shape, targets: &BTreeMap<At, Shape>, rules: &Rules, losses: &mut Losses) -> Shape {
    let Shape { at, mut notes, form } = shape;
    let form = match form {
        Form::Object(object) => Form::Object(object),
        Form::Union(members) => {
            let whole = members.len();
            let mut objects: Vec<Shape> = members.into_iter().filter_map(|member| resolved(member, targets)).collect();
            if objects.len() < whole {
                losses.add(
                    &at,
                    "anyOf",
                    Severity::Narrowed,
                    "arguments are an object: the other branches were left out",
                );
            }
            match objects.len() {
                0 => stand_in(&at, Rest::None, rules, losses),
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
        Form::Any => stand_in(&at, Rest::Open, rules, losses),
        _ => stand_in(&at, Rest::None, rules, losses),
    };
    Shape { at, notes, form }
}

/// `shape`, or what it refers to, if that is an object.
fn resolved(shape: Shape, targets: &BTreeMap<At, Shape>) -> Option<Shape> {
    match &shape.form {
        Form::Object(_) => Some(shape),
        Form::Ref(at) => targets.get(at).filter(|target| matches!(target.form, Form::Object(_))).cloned(),
        _ => None,
    }
}

fn stand_in(at: &At, rest: Rest, rules: &Rules, losses: &mut Losses) -> Form {
    if rest == Rest::None {
        let severity = if rules.strict { Severity::Inexpressible } else { Severity::Narrowed };
        losses.add(at, "type", severity, "arguments are an object: an empty one stands in");
    }
    Form::Object(Object { properties: Vec::new(), declared: rest == Rest::None, rest, limits: Vec::new() })
}
