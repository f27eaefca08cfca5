//! A schema as a shape: the constraints for each kind of value. The providers' subsets can express nothing else.
//!
//! [`Reader`] converts a schema to a [`Shape`]. It follows or keeps references, and separates types. It merges schemas that
//! must hold at the same time (`allOf`, siblings of a `$ref` or of a union). A constraint that a shape cannot hold is a loss.

mod cycles;
mod limits;
mod reader;
mod refs;
mod size;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::data::{self, Kind};
use super::losses::{Losses, Severity};
use super::pointer;
pub use limits::{Limit, find_count};
pub use reader::{Reader, Reading};
pub use refs::{Combining, Refs};
pub use size::Sizes;

/// A JSON Pointer into the neutral schema.
pub type At = Arc<str>;

/// The meaning of a schema, with its place in the neutral schema.
///
/// A [`Node`](super::graph::Node) keeps every keyword, to evaluate values. A shape merges constraints, and drops those that no
/// provider accepts.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    pub at: At,
    pub notes: Notes,
    pub form: Form,
}

/// The annotations of a schema, for its reader.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notes {
    pub title: Option<String>,
    pub description: Option<String>,
    pub default: Option<(At, Value)>,
    pub examples: Option<(At, Value)>,
    /// Limits in words.
    pub hints: Vec<String>,
}

/// The valid values.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// Every value.
    Any,
    /// No value.
    Never,
    /// The values of the schema at this place.
    Ref(At),
    /// A place where reading stopped, because of recursion or size. Holds the kind of its values.
    Cut(Kind),
    Scalar(Scalar),
    Object(Object),
    Array(Array),
    /// Any of two or more shapes. None of them is a union, and at most one is null.
    Union(Vec<Shape>),
}

/// Null, a boolean, a number or a string.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    pub kind: Kind,
    /// The only valid values, if the schema lists them.
    pub values: Option<Vec<Value>>,
    pub limits: Vec<Limit>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    pub properties: Vec<Property>,
    /// Set if the schema has `properties`, even without entries.
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

/// The rule for the properties that the schema does not name.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Rest {
    /// The schema has no rule, so any property is valid.
    #[default]
    Unspecified,
    None,
    /// The schema allows any property.
    Open,
    Of(Box<Shape>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The shapes of the first items.
    pub prefix: Vec<Shape>,
    pub items: Box<Shape>,
    pub limits: Vec<Limit>,
}

impl Shape {
    pub fn new(at: At, form: Form) -> Self {
        Self { at, notes: Notes::default(), form }
    }

    /// Returns the kind of all values, or `None` if they have several kinds.
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

    /// Returns the simplest union of `members`. It flattens nested unions, drops impossible members, and merges equal members and
    /// lists of values of one kind.
    pub fn union(at: &At, members: Vec<Self>) -> Self {
        let mut flat: Vec<Self> = Vec::new();
        let mut notes = Notes::default();
        let has_one_besides_null = members.iter().filter(|member| !member.is_null()).count() == 1;
        for mut member in members {
            if has_one_besides_null && matches!(member.form, Form::Union(_)) {
                notes = std::mem::take(&mut member.notes);
            }
            match member.form {
                Form::Never => {}
                Form::Union(inner) => {
                    for mut one in inner {
                        one.notes.description = one.notes.description.or_else(|| member.notes.description.clone());
                        one.notes.hints.extend(member.notes.hints.iter().cloned());
                        add_member(&mut flat, one);
                    }
                }
                _ => add_member(&mut flat, member),
            }
        }
        match flat.len() {
            0 => Self::new(at.clone(), Form::Never),
            1 => flat.remove(0),
            _ if flat.iter().any(|one| one.form == Form::Any) => Self::new(at.clone(), Form::Any),
            _ => Self { at: at.clone(), notes, form: Form::Union(flat) },
        }
    }
}

fn add_member(members: &mut Vec<Shape>, mut new: Shape) {
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
            move_description(&mut old.notes, a);
            move_description(&mut new.notes, b);
            old.notes.hints.append(&mut new.notes.hints);
            a.extend(b.drain(..).filter(|value| !a.contains(value)).collect::<Vec<_>>());
            return;
        }
    }
    members.push(new);
}

/// Moves the description of a constant that joins a list to a hint: `` `value`: description``.
fn move_description(notes: &mut Notes, values: &[Value]) {
    if let (Some(description), [only]) = (notes.description.take(), values) {
        let name = only.as_str().map_or_else(|| only.to_string(), str::to_owned);
        notes.hints.push(format!("`{name}`: {description}"));
    }
}

/// Returns whether no value can fit both shapes. Returns `false` in doubt.
pub fn are_disjoint(a: &Shape, b: &Shape) -> bool {
    match (&a.form, &b.form) {
        (Form::Never, _) | (_, Form::Never) => true,
        (Form::Union(members), _) => members.iter().all(|member| are_disjoint(member, b)),
        (_, Form::Union(members)) => members.iter().all(|member| are_disjoint(a, member)),
        (Form::Scalar(one), Form::Scalar(other)) => match (&one.values, &other.values) {
            (Some(one), Some(other)) => {
                !one.iter().any(|value| other.iter().any(|other| data::are_equal(value, other)))
            }
            _ => !one.kind.is_a(other.kind) && !other.kind.is_a(one.kind),
        },
        (Form::Object(one), Form::Object(other)) => {
            differ_by_property(one, other) || refuses(one, other) || refuses(other, one)
        }
        (Form::Cut(_), _) | (_, Form::Cut(_)) => false,
        _ => matches!((a.kind(), b.kind()), (Some(a), Some(b)) if a != b),
    }
}

/// Returns whether `a` or `b` requires a property, and no value of this property fits both.
fn differ_by_property(a: &Object, b: &Object) -> bool {
    let needed =
        |object: &Object, name: &str| object.properties.iter().any(|other| other.name == name && other.required);
    a.properties.iter().any(|one| {
        let other = b.properties.iter().find(|other| other.name == one.name);
        other.is_some_and(|other| {
            (needed(a, &one.name) || needed(b, &one.name)) && are_disjoint(&one.shape, &other.shape)
        })
    })
}

/// Returns whether `a` forbids a property that `b` requires.
fn refuses(a: &Object, b: &Object) -> bool {
    matches!(a.rest, Rest::None)
        && b.properties.iter().any(|other| other.required && !a.properties.iter().any(|own| own.name == other.name))
}

/// Merges the `members` of the union at `at` into one shape that is not a union. No member may be null.
pub fn unite(at: &At, members: Vec<Shape>, losses: &mut Losses) -> Shape {
    let mut kinds: Vec<Option<Kind>> = members.iter().map(Shape::kind).collect();
    kinds.dedup();
    let united = match kinds.as_slice() {
        [Some(Kind::Object)] => unite_objects(at, members),
        [Some(Kind::Array)] => unite_arrays(at, members),
        [Some(kind)] => unite_scalars(at, *kind, members),
        kinds if kinds.iter().all(|kind| kind.is_some_and(|kind| kind.is_a(Kind::Number))) => {
            unite_scalars(at, Kind::Number, members)
        }
        _ => return unite_kinds(at, members, losses),
    };
    let note = "the branches were merged into one that accepts what any of them accepts";
    losses.add(at, "anyOf", Severity::Weakened, note);
    united
}

/// Merges the members that have the kind of the first member. Drops the others, and records their loss.
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
            _ => Default::default(),
        })
        .collect();
    let tag = find_tag(&objects);
    let mut united = Shape::new(at.clone(), Form::Object(merge_objects(at, &objects, tag.as_deref())));
    if tag.is_none() {
        let texts: Vec<String> = objects.into_iter().filter_map(|(_, description)| description).collect();
        united.notes.description = (!texts.is_empty()).then(|| texts.join("; or "));
    }
    united
}

/// The properties of one name in several objects.
#[derive(Default)]
struct Namesakes {
    shapes: Vec<Shape>,
    required: usize,
    /// The values of the tag in the objects that have the property.
    tags: Vec<String>,
}

/// Returns an object that accepts what any of `objects` accepts. With a `tag`, hints tell which properties belong to which of its
/// values, and its own description lists the descriptions of the objects.
pub fn merge_objects(at: &At, objects: &[(Object, Option<String>)], tag: Option<&str>) -> Object {
    let mut names: Vec<&str> = Vec::new();
    let mut found: HashMap<&str, Namesakes> = HashMap::new();
    for (object, description) in objects {
        let value = tag.and_then(|tag| tag_value(object, tag));
        for property in &object.properties {
            let mut shape = property.shape.clone();
            if Some(&*property.name) == tag {
                // A variant's description moves to its tag.
                shape.notes.description = shape.notes.description.or_else(|| description.clone());
            }
            let namesakes = found.entry(&property.name).or_insert_with(|| {
                names.push(&property.name);
                Namesakes::default()
            });
            namesakes.shapes.push(shape);
            namesakes.required += usize::from(property.required);
            namesakes.tags.extend(value.clone());
        }
    }
    let mut properties = Vec::with_capacity(names.len());
    for name in names {
        let Namesakes { shapes, required, tags } = found.remove(name).unwrap_or_default();
        let mut shape = Shape::union(&place_of_first(&shapes, at, name), shapes);
        if tags.len() < objects.len() && !tags.is_empty() {
            shape.notes.hints.push(format!("for {} {}", tag.unwrap_or_default(), tags.join(", ")));
        }
        properties.push(Property { name: name.to_owned(), required: required == objects.len(), shape });
    }
    let rests: Vec<&Rest> = objects.iter().map(|(object, _)| &object.rest).collect();
    let rest = if rests.iter().all(|rest| **rest == Rest::None) {
        Rest::None
    } else if rests.iter().any(|rest| matches!(rest, Rest::Open | Rest::Of(_))) {
        Rest::Open
    } else {
        Rest::Unspecified
    };
    let declared = objects.iter().any(|(object, _)| object.declared);
    Object { properties, declared, rest, limits: Vec::new() }
}

fn place_of_first(shapes: &[Shape], at: &At, name: &str) -> At {
    shapes.first().map_or_else(|| pointer::join(at, name).into(), |shape| shape.at.clone())
}

/// Returns the tag of the variants: a property that all variants require, each with a different constant.
fn find_tag(objects: &[(Object, Option<String>)]) -> Option<String> {
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
