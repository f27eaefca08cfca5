//! The root of a lowered schema, which is an object.

use std::collections::BTreeMap;

use super::rules::Rules;
use crate::schema::{
    Severity,
    dialect::Losses,
    shape::{At, Form, Object, Rest, Shape, unite},
};

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
