//! The code that reads and describes the type of a parameter.

use std::{any::Any, fmt};

use schemars::SchemaGenerator;
use serde::de::IgnoredAny;

use super::{Field, Param, ToolInput};

/// Describes a type.
pub type SchemaOf = fn(&mut SchemaGenerator) -> schemars::Schema;

/// The code that reads and describes a type. There is one for each type, not for each parameter: the compiler evaluates it
/// once.
pub struct Code {
    pub(super) read: fn(&mut dyn Any, &str) -> Result<usize, serde_json::Error>,
    pub(super) absent: fn(&mut dyn Any) -> bool,
    pub(super) schema: SchemaOf,
    pub(super) optional: fn() -> bool,
    pub(super) secret: Option<fn(&mut dyn Any, &str) -> bool>,
}

impl Code {
    /// The code of a parameter that the model gives.
    pub(super) const fn of<T: ToolInput + 'static>() -> Self {
        Self {
            read: read::<T>,
            absent: |place| put(place, T::absent()),
            schema: T::schema,
            optional: || T::absent().is_some(),
            secret: None,
        }
    }

    /// A parameter of this code, with its name and description.
    pub const fn field(&'static self, name: &'static str, description: &'static str) -> Field {
        Field::of(Param::new(name, description), self)
    }

    /// The code of an object whose own fields are judged.
    pub(super) const fn nested(
        read: fn(&mut dyn Any, &str) -> Result<usize, serde_json::Error>,
        schema: SchemaOf,
    ) -> Self {
        Self { read, absent: |_| false, schema, optional: || false, secret: None }
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Code")
    }
}

/// Reads the value at the start of `text` into `place`; returns its length.
fn read<T: ToolInput + 'static>(place: &mut dyn Any, text: &str) -> Result<usize, serde_json::Error> {
    let (value, length) = T::read(text)?;
    put(place, Some(value));
    Ok(length)
}

/// The place of a value that somebody else will read.
#[derive(Clone, Copy, Debug)]
pub struct Skipped;

/// Reads the object at the start of `text` with `whole`, unless it is to be skipped; returns its length.
pub fn read_nested<T: 'static>(
    place: &mut dyn Any,
    text: &str,
    whole: impl FnOnce(&str) -> Result<T, serde_json::Error>,
) -> Result<usize, serde_json::Error> {
    let length = length(text)?;
    if !place.is::<Skipped>() {
        put(place, Some(whole(&text[..length])?));
    }
    Ok(length)
}

/// The length of the value at the start of `text`.
pub fn length(text: &str) -> Result<usize, serde_json::Error> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    match values.next() {
        Some(Err(error)) => Err(error),
        _ => Ok(values.byte_offset()),
    }
}

/// Puts `value` in its place; whether there is one now.
pub fn put<T: 'static>(place: &mut dyn Any, value: Option<T>) -> bool {
    match place.downcast_mut::<Option<T>>() {
        Some(place) => {
            *place = value;
            place.is_some()
        }
        None => unreachable!("a field's place is made of the field's type"),
    }
}
