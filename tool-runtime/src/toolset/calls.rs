//! The calls of a toolset as a typed enum, so that a `match` over them is exhaustive.

use std::fmt;

use serde::de::DeserializeOwned;

use crate::message::ToolCall;
use crate::tool::{CallError, Context, Output, Tool};
use tool_schema::feedback::suggest;

/// A call of the tool `T`, with its typed input.
pub struct TypedCall<T: Tool> {
    /// The id of the call.
    pub id: String,
    /// The typed arguments.
    pub input: T::Input,
}

impl<T: Tool> TypedCall<T> {
    /// Decodes the output of this call into the tool's type.
    ///
    /// Fails when the tool returned content only, or its output has another type.
    pub fn output(&self, output: &Output) -> Result<T::Output, serde_json::Error>
    where
        T::Output: DeserializeOwned,
    {
        output.decode()
    }
}

impl<T: Tool<Input: fmt::Debug>> fmt::Debug for TypedCall<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TypedCall").field("tool", &T::NAME).field("id", &self.id).field("input", &self.input).finish()
    }
}

/// An enum of a toolset's calls. `#[derive(Calls)]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an enum of a toolset's calls",
    label = "does not derive `Calls`",
    note = "add `#[derive(tool_runtime::Calls)]` to an enum whose variants each hold one `TypedCall<tool>`"
)]
pub trait Calls: Sized {
    /// The names of the tools, in the order of the variants.
    const NAMES: &'static [&'static str];

    /// Reads a call into the variant of its tool.
    ///
    /// Fails when there is no such tool, or its arguments are wrong.
    fn read(call: &ToolCall) -> Result<Self, CallError>;

    /// Returns the id of the call and the name of its tool.
    fn parts(&self) -> (&str, &'static str);
}

/// The content of a variant, as `#[derive(Calls)]` requires it: a [`TypedCall`].
#[diagnostic::on_unimplemented(
    message = "a variant of `Calls` holds a `TypedCall<tool>`, and `{Self}` is none",
    label = "write `TypedCall<the_tool>`"
)]
pub trait CallOf: Sized {
    #[doc(hidden)]
    const NAME: &'static str;
    #[doc(hidden)]
    fn read(call: &ToolCall) -> Result<Self, CallError>;
    #[doc(hidden)]
    fn parts(&self) -> (&str, &'static str);
}

#[diagnostic::do_not_recommend]
impl<T: Tool> CallOf for TypedCall<T> {
    const NAME: &'static str = T::NAME;

    fn read(call: &ToolCall) -> Result<Self, CallError> {
        let input = T::decode(&call.arguments, &Context::new(call.id.clone()))?;
        Ok(Self { id: call.id.clone(), input })
    }

    fn parts(&self) -> (&str, &'static str) {
        (&self.id, T::NAME)
    }
}

/// The witness that a variant holds a [`TypedCall`], with the functions that read a call and return its parts.
#[derive(Debug)]
pub struct VariantCall<T> {
    /// The tool's name.
    pub name: &'static str,
    /// Reads a call.
    pub read: fn(&ToolCall) -> Result<T, CallError>,
    /// Returns the call's id and its tool's name.
    pub parts: fn(&T) -> (&str, &'static str),
}

impl<T> VariantCall<T> {
    /// Creates the witness for `T`.
    pub const fn of() -> Self
    where
        T: CallOf,
    {
        Self { name: T::NAME, read: T::read, parts: T::parts }
    }
}

/// Creates the error for a tool `name` that is not among `known`.
pub fn not_available(name: &str, known: &[&str]) -> CallError {
    let suggestion = suggest::nearest(name, known.iter().copied()).map(str::to_owned);
    CallError::NotAvailable { name: name.to_owned(), suggestion }
}
