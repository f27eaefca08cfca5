//! Whether two shapes have no value in common.

use super::{Form, Kind, Object, Rest, Shape};
use crate::schema::number;

/// Whether it is certain that no value fits both.
pub(super) fn disjoint(a: &Shape, b: &Shape) -> bool {
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
        _ => matches!((kind(a), kind(b)), (Some(a), Some(b)) if a != b),
    }
}

fn kind(shape: &Shape) -> Option<Kind> {
    match &shape.form {
        Form::Scalar(scalar) => Some(scalar.kind),
        Form::Object(_) => Some(Kind::Object),
        Form::Array(_) => Some(Kind::Array),
        _ => None,
    }
}

/// Whether both have a property that they need and that tells them apart.
fn tagged_apart(a: &Object, b: &Object) -> bool {
    let needed =
        |object: &Object, name: &str| object.properties.iter().any(|other| other.name == name && other.required);
    a.properties.iter().any(|one| {
        let other = b.properties.iter().find(|other| other.name == one.name);
        other.is_some_and(|other| (needed(a, &one.name) || needed(b, &one.name)) && disjoint(&one.shape, &other.shape))
    })
}

/// Whether `a` knows no more than its own properties and `b` needs another.
fn refuses(a: &Object, b: &Object) -> bool {
    matches!(a.rest, Rest::None)
        && b.properties.iter().any(|other| other.required && !a.properties.iter().any(|own| own.name == other.name))
}
