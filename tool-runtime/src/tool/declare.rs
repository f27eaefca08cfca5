//! The traits that `#[tool]` implements, and those that its users implement.

use serde::Serialize;

use super::{AcceptedCall, Binding, Context, DecodeError, Def, Start, Values, binding::Begin};

/// A declared tool. `#[tool]` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not declared with `#[tool]`",
    note = "put `#[tool]` on the function or struct",
    note = "in `toolset!`, a state comes first and ends with a semicolon: `toolset!(state; tool, ...)`",
    note = "a method that is a tool is called after its type too: `ShopSearch` for `Shop::search`; or take `value.toolset()`, and `merge`"
)]
pub trait Tool {
    /// The parameters, including secrets, as a struct or an enum.
    type Input: 'static;
    /// The output of the tool: `T` of a `Result<T, E>`.
    type Output;
    /// The types of the parameters, in order.
    #[doc(hidden)]
    type Values: Values + 'static;
    /// The name by which the model calls the tool.
    const NAME: &'static str;

    /// Returns the declaration.
    fn def() -> &'static Def;

    /// Reads arguments. The error lists everything that is wrong with them.
    #[inline]
    fn decode(arguments: &str, cx: &Context) -> Result<Self::Input, DecodeError> {
        Ok(Self::input(Self::Values::read(Self::def(), arguments, cx)?))
    }

    /// Converts the parameters into the input struct.
    #[doc(hidden)]
    fn input(values: Self::Values) -> Self::Input;
}

impl Context {
    /// Shows a preliminary output of the tool `T`, which has the type of the final one.
    ///
    /// ```
    /// use tool_runtime::{Context, tool};
    ///
    /// #[derive(serde::Serialize, schemars::JsonSchema)]
    /// struct Found {
    ///     pages: Vec<String>,
    /// }
    ///
    /// /// Searches the handbook.
    /// #[tool(effect = read_only)]
    /// async fn search(
    ///     /// The words to look for.
    ///     words: Vec<String>,
    ///     #[context] cx: &Context,
    /// ) -> Found {
    ///     let mut found = Found { pages: Vec::new() };
    ///     for word in words {
    ///         found.pages.push(format!("about {word}"));
    ///         cx.show_preliminary_of::<search>(&found);
    ///         cx.wait_for_room().await;
    ///     }
    ///     found
    /// }
    /// ```
    pub fn show_preliminary_of<T: Tool<Output: Serialize>>(&self, output: &T::Output) {
        self.show_preliminary(output);
    }
}

/// A tool that needs no state.
pub trait Stateless: Tool {
    /// Starts the call with these parameters.
    fn begin(values: Self::Values, cx: &Context) -> AcceptedCall<'_>;
}

/// A tool that works with the state `S`. `#[tool]` implements it for every state that provides what the tool needs.
#[diagnostic::on_unimplemented(message = "the tool `{Self}` has errors", label = "its declaration does not compile")]
pub trait WithState<S: 'static>: Tool {
    /// The tool bound to that state.
    const BINDING: Binding<S>;
}

#[diagnostic::do_not_recommend]
impl<T: Stateless, S: 'static> WithState<S> for T {
    const BINDING: Binding<S> = Binding { def: T::def, start: Start::Stateless(&Begin::<T::Values>(T::begin)) };
}

/// A state that holds a `T` for the tools that need one.
///
/// Every type provides itself. `#[derive(Provide)]` lets a struct provide each of its fields.
#[diagnostic::on_unimplemented(
    message = "the state `{Self}` does not provide `{T}`",
    label = "this tool needs a `{T}`",
    note = "the state comes first: `toolset!(state; tool, ...)`; one in an `Arc` provides what is in the `Arc`",
    note = "a state struct provides its fields with `#[derive(tool_runtime::Provide)]`; or implement `Provide<{T}>` for it"
)]
pub trait Provide<T: ?Sized> {
    /// Returns the value.
    fn provide(&self) -> &T;
}

#[diagnostic::do_not_recommend]
impl<T> Provide<T> for T {
    fn provide(&self) -> &T {
        self
    }
}

/// The work of a struct that is declared with `#[tool]`.
///
/// ```
/// use tool_runtime::{Context, Execute, Failure, tool};
///
/// /// Adds two numbers.
/// #[tool]
/// struct Add {
///     /// The first.
///     a: i64,
///     /// The second.
///     b: i64,
/// }
///
/// impl Execute for Add {
///     type Output = i64;
///     type Error = Failure;
///
///     async fn execute(self, _cx: &Context) -> Result<i64, Failure> {
///         self.a.checked_add(self.b).ok_or_else(|| Failure::new("the sum is too large"))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "the tool `{Self}` does not implement `Execute`",
    label = "`Execute` is not implemented",
    note = "write `impl Execute for {Self}`, or declare it `#[tool(external, output = ...)]` if a client executes it",
    note = "a struct that needs state is declared `#[tool(state = ...)]` and implements `ExecuteWith`"
)]
pub trait Execute: Sized {
    /// The type of the output.
    type Output;
    /// The type of the error: one whose `Display` text the model receives, a [`Failure`](super::Failure), or
    /// [`Infallible`](std::convert::Infallible).
    type Error;

    /// Does the work.
    fn execute(self, cx: &Context) -> impl Future<Output = Result<Self::Output, Self::Error>> + Send
    where
        Self: Send;
}

/// The work of a struct that is declared with `#[tool(state = S)]`.
#[diagnostic::on_unimplemented(
    message = "the tool `{Self}` does not implement `ExecuteWith<{S}>`",
    label = "`ExecuteWith<{S}>` is not implemented",
    note = "write `impl ExecuteWith<{S}> for {Self}`"
)]
pub trait ExecuteWith<S: ?Sized>: Sized {
    /// The type of the output.
    type Output;
    /// The type of the error: one whose `Display` text the model receives, a [`Failure`](super::Failure), or
    /// [`Infallible`](std::convert::Infallible).
    type Error;

    /// Does the work.
    fn execute(self, state: &S, cx: &Context) -> impl Future<Output = Result<Self::Output, Self::Error>> + Send
    where
        Self: Send,
        S: Sync;
}
