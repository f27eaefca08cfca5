//! The types that a tool can return, and the witnesses that a function returns one of them.

use std::{any::Any, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::{CallError, Failure, Output, ToolError};
use crate::feedback::Rejection;
use crate::message::{Media, Part};

/// A type that a tool can return: any type with serde's `Serialize` and schemars' `JsonSchema`, or one of [`Text`], [`Image`],
/// [`Content`] and [`OutputWithContent`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the output of a tool",
    label = "lacks `Serialize` or `JsonSchema`",
    note = "add `#[derive(serde::Serialize, schemars::JsonSchema)]` to `{Self}`",
    note = "or return `tool_runtime::Text`, `Image`, `Content` or `OutputWithContent`"
)]
pub trait ToolOutput: Sized {
    #[doc(hidden)]
    fn into_output(self) -> Result<Output, Failure>;
    /// Returns the schema of the JSON form; `None` if there is no such form.
    #[doc(hidden)]
    fn output_schema(_generator: &mut SchemaGenerator) -> Option<Schema> {
        None
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> ToolOutput for T {
    fn into_output(self) -> Result<Output, Failure> {
        Output::json(&self)
    }

    fn output_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(generator.subschema_for::<T>())
    }
}

/// Plain text for the model, without a JSON form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text(pub String);

/// An image for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The media type, such as `image/png`.
    pub media_type: String,
    /// The bytes in base64 (standard alphabet, padded).
    pub data: String,
}

/// Texts, JSON, images, sound, documents and resources in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content(pub Vec<Part>);

/// A value for the application, together with other content for the model.
///
/// ```
/// use tool_runtime::{Part, OutputWithContent};
///
/// let rows = vec![1, 2, 3];
/// let shown = OutputWithContent { model: vec![Part::text("3 rows, shown to the person")], value: rows };
/// # let _ = shown;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputWithContent<T> {
    /// The value for the application.
    pub value: T,
    /// The content for the model.
    pub model: Vec<Part>,
}

#[diagnostic::do_not_recommend]
impl ToolOutput for Text {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::content(vec![Part::Text { text: self.0 }]))
    }
}

#[diagnostic::do_not_recommend]
impl ToolOutput for Image {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::content(vec![Part::Image(Media::base64(self.media_type, self.data))]))
    }
}

#[diagnostic::do_not_recommend]
impl ToolOutput for Content {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::content(self.0))
    }
}

#[diagnostic::do_not_recommend]
impl<T: ToolOutput> ToolOutput for OutputWithContent<T> {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(self.value.into_output()?.show(self.model))
    }

    fn output_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        T::output_schema(generator)
    }
}

/// The code that encodes and describes a tool's output. `encode` takes the value out of an `Option<R>` behind `dyn Any`.
#[derive(Clone, Copy, Debug)]
pub struct Returned {
    encode: fn(&mut dyn Any) -> Result<Output, CallError>,
    pub(super) schema: Describe,
}

/// The code that describes an output. It returns `None` if the output has no JSON form.
pub type Describe = fn(&mut SchemaGenerator) -> Option<Schema>;

/// The function that reads an output from a client.
pub type ReadOutput = fn(&str) -> Result<Output, Rejection>;

impl Returned {
    /// Creates the code for a tool whose work encodes its output itself.
    pub const fn described(schema: Describe) -> Self {
        Self { encode: |_| Err(CallError::NotExecuted), schema }
    }

    /// Encodes the value that the function returned.
    pub(super) fn encode<R: 'static>(&self, returned: R) -> Result<Output, CallError> {
        (self.encode)(&mut Some(returned))
    }
}

fn take<R: 'static>(place: &mut dyn Any) -> R {
    let value = place.downcast_mut::<Option<R>>().and_then(Option::take);
    value.expect("the returned value has its declared type")
}

/// Distinguishes a `Result` from any other type, even behind an alias: see the module `expansion`.
#[derive(Debug)]
pub struct Kind<R>(PhantomData<fn() -> R>);

/// The kind of a type that is not a `Result`.
#[derive(Debug)]
pub struct Plain<R>(pub(super) PhantomData<fn() -> R>);

/// The kind of a `Result`.
#[derive(Debug)]
pub struct Fallible<T, E>(PhantomData<fn() -> (T, E)>);

impl<T: 'static, E: 'static> Kind<Result<T, E>> {
    /// The value on which the expansion calls `fits`.
    pub const KIND: &'static Fallible<T, E> = &Fallible(PhantomData);
}

impl<R: ToolOutput + 'static> Plain<R> {
    /// Returns the code that encodes and describes a plain output.
    pub const fn fits<L: ?Sized>(&self) -> Returned {
        Returned { encode: |place| Ok(take::<R>(place).into_output()?), schema: R::output_schema }
    }
}

impl<T: ToolOutput + 'static, E: 'static> Fallible<T, E> {
    /// Returns the code that encodes an output or an error, and describes the output.
    pub const fn fits<L: ?Sized>(&self) -> Returned
    where
        E: ToolError,
    {
        Returned { encode: |place| encode(take::<Result<T, E>>(place)), schema: T::output_schema }
    }
}

/// Encodes an output, or returns the error instead.
pub fn encode<T: ToolOutput, E: ToolError>(returned: Result<T, E>) -> Result<Output, CallError> {
    match returned {
        Ok(value) => Ok(value.into_output()?),
        Err(error) => Err(CallError::Failed(error.into_failure())),
    }
}
