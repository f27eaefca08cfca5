//! The evidence that what a function returns can be given back.

use std::{any::Any, fmt};

use schemars::{Schema, SchemaGenerator};

use super::{CallError, Output, ReadAnswer, ToolAnswer, ToolError, ToolOutput, diagnose};

/// The code that writes what a tool gives back, and describes it. It gets the value in an `Option` of its type.
#[derive(Clone, Copy)]
pub struct Returned {
    encode: fn(&mut dyn Any) -> Result<Output, CallError>,
    schema: Describe,
}

/// The code that describes an output; it gives `None` where there is no JSON form.
pub type Describe = fn(&mut SchemaGenerator) -> Option<Schema>;

impl Returned {
    /// For a tool whose work writes its output itself.
    pub const fn described(schema: Describe) -> Self {
        Self { encode: |_| Err(CallError::NotExecuted), schema }
    }

    /// Writes what the function returned.
    pub(super) fn encode<R: 'static>(&self, returned: R) -> Result<Output, CallError> {
        (self.encode)(&mut Some(returned))
    }

    pub(super) fn schema(&self) -> Describe {
        self.schema
    }
}

impl fmt::Debug for Returned {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Returned")
    }
}

/// What the function returned.
fn taken<R: 'static>(place: &mut dyn Any) -> R {
    let value = place.downcast_mut::<Option<R>>().and_then(Option::take);
    value.expect("what a function returns has the type that it was declared with")
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

impl<T, E> Kind<Result<T, E>> {
    /// The kind.
    pub const KIND: Fallible<T, E> = Fallible::NEW;
}

impl<R> Plain<R> {
    /// The kind.
    pub const NEW: Self = Self(std::marker::PhantomData);
}

impl<R: 'static> Plain<R> {
    /// The evidence for a plain output.
    #[allow(clippy::unused_self, reason = "a method, so that the compiler chooses the kind")]
    pub const fn output(self) -> Returned
    where
        R: ToolOutput,
    {
        Returned { encode: |place| Ok(taken::<R>(place).into_output()?), schema: R::output_schema }
    }
}

impl<T, E> Fallible<T, E> {
    /// The kind.
    pub const NEW: Self = Self(std::marker::PhantomData);
}

impl<T: 'static, E: 'static> Fallible<T, E> {
    /// The evidence for an output or an error.
    #[allow(clippy::unused_self, reason = "a method, so that the compiler chooses the kind")]
    pub const fn output(self) -> Returned
    where
        T: ToolOutput,
        E: ToolError,
    {
        Returned { encode: |place| encode(taken::<Result<T, E>>(place)), schema: T::output_schema }
    }
}

/// Writes an output, or the error in its place.
pub fn encode<T: ToolOutput, E: ToolError>(returned: Result<T, E>) -> Result<Output, CallError> {
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
    pub const fn returned(&self) -> Returned {
        Returned::described(self.schema)
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
