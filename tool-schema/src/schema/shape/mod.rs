//! A schema as what it says about each kind of value, which is all that the providers' subsets can carry.
//!
//! [`Reader`] makes a [`Shape`] of a schema: references are followed or kept, everything that must hold at once (`allOf`,
//! the siblings of a `$ref` or of a union) is brought together, and types are told apart. What has no place in a shape is
//! a loss.

mod disjoint;
mod draft;
mod gather;
mod kinds;
mod limits;
mod object;
mod reader;
mod settle;
mod unite;

use std::rc::Rc;

use serde_json::Value;

pub(super) use draft::Draft;
pub(super) use kinds::Kind;
pub(super) use limits::{Limit, count};
pub(super) use reader::{Reader, Refs};
pub(super) use unite::unite;

/// A JSON Pointer into the neutral schema.
pub(super) type At = Rc<str>;

/// What a schema says, and where it stands in the neutral schema.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) at: At,
    pub(super) notes: Notes,
    pub(super) form: Form,
}

/// What a schema says to its reader.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Notes {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) default: Option<(At, Value)>,
    pub(super) examples: Option<(At, Value)>,
    /// What has to be said in words.
    pub(super) hints: Vec<String>,
}

/// Which values are valid.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    /// Every value.
    Any,
    /// No value.
    Never,
    /// What the schema at this place says.
    Ref(At),
    /// Something that could not be followed further: a recursion, or a schema too large. Holds what kind it is.
    Cut(Kind),
    Scalar(Scalar),
    Object(Object),
    Array(Array),
    /// Any of two or more; none of them is a union, and at most one is null.
    Union(Vec<Shape>),
}

/// Null, a boolean, a number or a string.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scalar {
    pub(super) kind: Kind,
    /// The only values, where they are listed.
    pub(super) values: Option<Vec<Value>>,
    pub(super) limits: Vec<Limit>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Object {
    pub(super) properties: Vec<Property>,
    /// Whether the schema speaks of properties at all, be it that there are none.
    pub(super) declared: bool,
    pub(super) rest: Rest,
    pub(super) limits: Vec<Limit>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) required: bool,
    pub(super) shape: Shape,
}

/// What other properties an object may have.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Rest {
    /// The schema does not say, so any.
    Unsaid,
    None,
    /// Any, and the schema says so.
    Open,
    Of(Box<Shape>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Array {
    /// The first items, each with its own shape.
    pub(super) prefix: Vec<Shape>,
    /// The other items.
    pub(super) items: Box<Shape>,
    pub(super) limits: Vec<Limit>,
}

impl Shape {
    pub(super) fn new(at: At, form: Form) -> Self {
        Self { at, notes: Notes::default(), form }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(&self.form, Form::Scalar(scalar) if scalar.kind == Kind::Null)
    }

    /// A union of `members`, as simple as it can be: nested unions are opened, impossible members left out, members that
    /// are the same or lists of values of one kind become one.
    pub(super) fn union(at: &At, members: Vec<Self>) -> Self {
        let mut flat: Vec<Self> = Vec::new();
        for member in members {
            match member.form {
                Form::Never => {}
                Form::Union(inner) => {
                    for mut one in inner {
                        one.notes.description = one.notes.description.or_else(|| member.notes.description.clone());
                        one.notes.hints.extend(member.notes.hints.iter().cloned());
                        add(&mut flat, one);
                    }
                }
                _ => add(&mut flat, member),
            }
        }
        match flat.len() {
            0 => Self::new(at.clone(), Form::Never),
            1 => flat.remove(0),
            _ if flat.iter().any(|one| one.form == Form::Any) => Self::new(at.clone(), Form::Any),
            _ => Self::new(at.clone(), Form::Union(flat)),
        }
    }
}

fn add(members: &mut Vec<Shape>, mut new: Shape) {
    for old in members.iter_mut() {
        if old.form == new.form {
            return;
        }
        if let (Form::Scalar(a), Form::Scalar(b)) = (&mut old.form, &mut new.form)
            && a.kind == b.kind
            && a.limits.is_empty()
            && b.limits.is_empty()
            && let (Some(a), Some(b)) = (&mut a.values, &mut b.values)
        {
            describe_values(&mut old.notes, a);
            describe_values(&mut new.notes, b);
            old.notes.hints.append(&mut new.notes.hints);
            a.extend(b.drain(..).filter(|value| !a.contains(value)).collect::<Vec<_>>());
            return;
        }
    }
    members.push(new);
}

/// The description of one constant, once that is in a list with others: ``- `value`: description``.
fn describe_values(notes: &mut Notes, values: &[Value]) {
    if let (Some(description), [only]) = (notes.description.take(), values) {
        let name = only.as_str().map_or_else(|| only.to_string(), str::to_owned);
        notes.hints.push(format!("`{name}`: {description}"));
    }
}
