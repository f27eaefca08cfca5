//! What a tool can give back.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use super::{Failure, Output};
use crate::message::Part;

/// A type that a tool can give back: anything with serde's `Serialize` and schemars' `JsonSchema`, or one of [`Text`],
/// [`Image`], [`Content`] and [`Shown`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the output of a tool",
    label = "cannot be written as JSON or described by a JSON Schema",
    note = "add `#[derive(serde::Serialize, schemars::JsonSchema)]` to `{Self}`",
    note = "or return `tool_runtime::Text`, `Image`, `Content` or `Shown`"
)]
pub trait ToolOutput: Sized {
    #[doc(hidden)]
    fn into_output(self) -> Result<Output, Failure>;
    #[doc(hidden)]
    fn output_schema(generator: &mut SchemaGenerator) -> Option<Schema>;
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

/// Texts, JSON, images, sound and resources in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content(pub Vec<Part>);

/// A value for the application, of which the model sees something else.
///
/// ```
/// use tool_runtime::{Part, Shown};
///
/// let rows = vec![1, 2, 3];
/// let shown = Shown { model: vec![Part::text("3 rows, shown to the person")], value: rows };
/// # let _ = shown;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown<T> {
    /// What the application gets.
    pub value: T,
    /// What the model sees.
    pub model: Vec<Part>,
}

#[diagnostic::do_not_recommend]
impl ToolOutput for Text {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::content(vec![Part::Text { text: self.0 }]))
    }

    fn output_schema(_: &mut SchemaGenerator) -> Option<Schema> {
        None
    }
}

#[diagnostic::do_not_recommend]
impl ToolOutput for Image {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::content(vec![Part::Image { media_type: self.media_type, data: self.data }]))
    }

    fn output_schema(_: &mut SchemaGenerator) -> Option<Schema> {
        None
    }
}

#[diagnostic::do_not_recommend]
impl ToolOutput for Content {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::content(self.0))
    }

    fn output_schema(_: &mut SchemaGenerator) -> Option<Schema> {
        None
    }
}

#[diagnostic::do_not_recommend]
impl<T: ToolOutput> ToolOutput for Shown<T> {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(self.value.into_output()?.show(self.model))
    }

    fn output_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        T::output_schema(generator)
    }
}
