//! A schema as what it says about each kind of value, which is all that the providers' subsets can carry.
//!
//! [`Reader`] makes a [`Shape`] of a schema: references are followed or kept, everything that must hold at once (`allOf`,
//! the siblings of a `$ref` or of a union) is brought together, and types are separated. What has no place in a shape is
//! a loss.

mod reader;
mod settle;
mod unite;

use std::rc::Rc;

use serde_json::Value;

use super::kind::Kind;
pub use reader::{Reader, Refs};
pub use settle::{Limit, count};
pub use unite::unite;

/// A JSON Pointer into the neutral schema.
pub type At = Rc<str>;

/// The meaning of a schema, and its place in the neutral schema.
///
/// It stays apart from [`Node`](super::graph::Node): a node keeps every keyword to judge values by, a shape merges what
/// holds at once and loses what no provider takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    pub at: At,
    pub notes: Notes,
    pub form: Form,
}

/// The texts of a schema for its reader.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notes {
    pub title: Option<String>,
    pub description: Option<String>,
    pub default: Option<(At, Value)>,
    pub examples: Option<(At, Value)>,
    /// The limits that have to be written in words.
    pub hints: Vec<String>,
}

/// Which values are valid.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// Every value.
    Any,
    /// No value.
    Never,
    /// The values of the schema at this place.
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
pub struct Scalar {
    pub kind: Kind,
    /// The only values, where they are listed.
    pub values: Option<Vec<Value>>,
    pub limits: Vec<Limit>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    pub properties: Vec<Property>,
    /// `true` if the schema has `properties`, be it that there are none.
    pub declared: bool,
    pub rest: Rest,
    pub limits: Vec<Limit>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    pub name: String,
    pub required: bool,
    pub shape: Shape,
}

/// The other properties that an object may have.
#[derive(Clone, Debug, PartialEq)]
pub enum Rest {
    /// The schema does not say, so any.
    Unsaid,
    None,
    /// Any, by the schema itself.
    Open,
    Of(Box<Shape>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The first items, each with its own shape.
    pub prefix: Vec<Shape>,
    /// The other items.
    pub items: Box<Shape>,
    pub limits: Vec<Limit>,
}

impl Shape {
    pub fn new(at: At, form: Form) -> Self {
        Self { at, notes: Notes::default(), form }
    }

    /// Returns the kind of all values of the shape, where it has one.
    pub fn kind(&self) -> Option<Kind> {
        match &self.form {
            Form::Scalar(scalar) => Some(scalar.kind),
            Form::Object(_) => Some(Kind::Object),
            Form::Array(_) => Some(Kind::Array),
            Form::Cut(kind) => Some(*kind),
            _ => None,
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(&self.form, Form::Scalar(scalar) if scalar.kind == Kind::Null)
    }

    /// Returns a union of `members`, as simple as it can be: nested unions are opened, impossible members left out,
    /// members that are the same or lists of values of one kind become one.
    pub fn union(at: &At, members: Vec<Self>) -> Self {
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
