//! What a tool gives back: one value for the application, and what the model sees of it.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, de::DeserializeOwned};

use super::{Failure, ToolError};
use crate::message::Part;

/// What a call gave back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    json: Option<String>,
    content: Option<Vec<Part>>,
}

impl Output {
    /// An output that the application and the model both see as the JSON of `value`.
    ///
    /// Fails when `value` has no JSON form, such as a map with keys that are not texts.
    pub fn json(value: &impl Serialize) -> Result<Self, Failure> {
        match serde_json::to_string(value) {
            Ok(json) => Ok(Self { json: Some(json), content: None }),
            Err(error) => Err(Failure::hidden(format_args!("the output cannot be written as JSON: {error}"))),
        }
    }

    /// An output of content parts, without a value for the application.
    pub fn content(parts: Vec<Part>) -> Self {
        Self { json: None, content: Some(parts) }
    }

    /// Lets the model see `parts` in place of the value's JSON.
    pub fn show(mut self, parts: Vec<Part>) -> Self {
        self.content = Some(parts);
        self
    }

    /// The value as JSON text; `None` where the tool gave content only.
    pub fn as_json(&self) -> Option<&str> {
        self.json.as_deref()
    }

    /// The value, typed.
    ///
    /// Fails when there is none, or it is of another type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.json.as_deref().unwrap_or("null"))
    }

    /// What the model sees. A value that is a text is shown without quotes.
    pub fn for_model(&self) -> Vec<Part> {
        match (&self.content, &self.json) {
            (Some(parts), _) => parts.clone(),
            (None, Some(json)) => match serde_json::from_str::<String>(json) {
                Ok(text) => vec![Part::Text { text }],
                Err(_) => vec![Part::Json { json: json.clone() }],
            },
            (None, None) => Vec::new(),
        }
    }
}

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

/// Text, JSON and images in any order.
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

impl ToolOutput for Text {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::content(vec![Part::Text { text: self.0 }]))
    }

    fn output_schema(_: &mut SchemaGenerator) -> Option<Schema> {
        None
    }
}

impl ToolOutput for Image {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::content(vec![Part::Image { media_type: self.media_type, data: self.data }]))
    }

    fn output_schema(_: &mut SchemaGenerator) -> Option<Schema> {
        None
    }
}

impl ToolOutput for Content {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(Output::content(self.0))
    }

    fn output_schema(_: &mut SchemaGenerator) -> Option<Schema> {
        None
    }
}

impl<T: ToolOutput> ToolOutput for Shown<T> {
    fn into_output(self) -> Result<Output, Failure> {
        Ok(self.value.into_output()?.show(self.model))
    }

    fn output_schema(generator: &mut SchemaGenerator) -> Option<Schema> {
        T::output_schema(generator)
    }
}

/// The evidence that what a function returns can be given back, and the code that does it.
pub struct Returned<R> {
    pub(super) encode: fn(R) -> Result<Output, Failure>,
    pub(super) schema: fn(&mut SchemaGenerator) -> Option<Schema>,
}

impl<R> Returned<R> {
    /// Writes what the function returned.
    pub fn encode(&self, returned: R) -> Result<Output, Failure> {
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
    pub const KIND: Fallible<T, E> = Fallible(std::marker::PhantomData);
}

impl<R> Plain<R> {
    /// The evidence for a plain output.
    pub const fn output(self) -> Returned<R>
    where
        R: ToolOutput,
    {
        Returned { encode: R::into_output, schema: R::output_schema }
    }
}

impl<T, E> Fallible<T, E> {
    /// The evidence for an output or an error.
    pub const fn output(self) -> Returned<Result<T, E>>
    where
        T: ToolOutput,
        E: ToolError,
    {
        Returned {
            encode: |returned| match returned {
                Ok(value) => value.into_output(),
                Err(error) => Err(error.into_failure()),
            },
            schema: T::output_schema,
        }
    }
}
