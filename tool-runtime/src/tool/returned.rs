//! The evidence that what a function returns can be given back.

use std::fmt;

use schemars::{Schema, SchemaGenerator};

use super::{CallError, Output, ReadAnswer, ToolAnswer, ToolError, ToolOutput, diagnose};

/// The evidence that what a function returns can be given back, and the code that does it.
pub struct Returned<R> {
    encode: fn(R) -> Result<Output, CallError>,
    schema: fn(&mut SchemaGenerator) -> Option<Schema>,
}

impl<R> Returned<R> {
    /// Writes what the function returned.
    pub fn encode(&self, returned: R) -> Result<Output, CallError> {
        (self.encode)(returned)
    }

    /// The code that describes the output.
    pub const fn schema(&self) -> fn(&mut SchemaGenerator) -> Option<Schema> {
        self.schema
    }
}

impl<R> fmt::Debug for Returned<R> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Returned")
    }
}

/// Tells a `Result` from any other type, whatever alias it was written with: an inherent constant is found before a
/// trait's.
#[derive(Debug)]
pub struct Kind<R>(std::marker::PhantomData<fn() -> R>);

/// A type that is returned as it is.
#[derive(Debug)]
pub struct Plain<R>(std::marker::PhantomData<fn() -> R>);

/// A `Result`.
#[derive(Debug)]
pub struct Fallible<T, E>(std::marker::PhantomData<fn() -> (T, E)>);

/// The kind of every type that is no `Result`.
pub trait AnyKind {
    /// What stands for the kind.
    type Kind;
    /// The kind.
    const KIND: Self::Kind;
}

impl<R> AnyKind for Kind<R> {
    type Kind = Plain<R>;
    const KIND: Plain<R> = Plain(std::marker::PhantomData);
}

impl<T, E> Kind<Result<T, E>> {
    /// The kind.
    pub const KIND: Fallible<T, E> = Fallible::NEW;
}

impl<R> Plain<R> {
    /// The evidence for a plain output.
    pub const fn output(self) -> Returned<R>
    where
        R: ToolOutput,
    {
        Returned { encode: |returned| Ok(returned.into_output()?), schema: R::output_schema }
    }
}

impl<T, E> Fallible<T, E> {
    /// The kind.
    pub const NEW: Self = Self(std::marker::PhantomData);

    /// The evidence for an output or an error.
    pub const fn output(self) -> Returned<Result<T, E>>
    where
        T: ToolOutput,
        E: ToolError,
    {
        Returned { encode, schema: T::output_schema }
    }
}

/// Writes an output, or the error in its place.
pub(super) fn encode<T: ToolOutput, E: ToolError>(returned: Result<T, E>) -> Result<Output, CallError> {
    match returned {
        Ok(value) => Ok(value.into_output()?),
        Err(error) => Err(CallError::Failed(error.into_failure())),
    }
}

/// The evidence that the answer to an external tool can be read, checked and described.
pub struct Answer<T> {
    read: ReadAnswer,
    schema: fn(&mut SchemaGenerator) -> Option<Schema>,
    of: std::marker::PhantomData<fn() -> T>,
}

impl<T> Answer<T> {
    /// The evidence for `T`.
    pub const fn new() -> Self
    where
        T: ToolAnswer,
    {
        Self {
            read: |text| {
                diagnose::answer(text, T::schema)?;
                match T::read(text) {
                    Ok(_) => Ok(Output::from_json(text.trim())),
                    Err(error) => Err(diagnose::refused(&error)),
                }
            },
            schema: |generator| Some(T::schema(generator)),
            of: std::marker::PhantomData,
        }
    }

    /// The code that reads an answer.
    pub const fn read(&self) -> ReadAnswer {
        self.read
    }

    /// The code that describes an answer.
    pub const fn schema(&self) -> fn(&mut SchemaGenerator) -> Option<Schema> {
        self.schema
    }
}

impl<T> Default for Answer<T>
where
    T: ToolAnswer,
{
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Answer<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Answer")
    }
}
