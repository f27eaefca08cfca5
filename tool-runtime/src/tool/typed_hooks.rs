//! The hooks that a declaration names, and the arguments that they see while they arrive.

use std::{any::Any, fmt, future::ready, marker::PhantomData};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Context, InputHooks, Tool, Values,
    deserializer::{Exact, Keys},
};
use crate::json::IncrementalJson;
use tool_schema::json::Segment;

/// The hooks of the tool `T`, as constants.
#[derive(Debug)]
pub struct Hooks<T: Tool> {
    /// `on_input_start`.
    pub start: Option<for<'a> fn(&'a Context) -> BoxFuture<'a, ()>>,
    /// `on_input_delta`.
    pub delta: Option<OnDelta<T>>,
    /// `on_input_available`.
    pub available: Option<OnAvailable<T>>,
}

pub type OnDelta<T> = for<'a> fn(PartialInput<'a, T>, &'a str, &'a Context) -> BoxFuture<'a, ()>;

pub type OnAvailable<T> = for<'a> fn(&'a <T as Tool>::Input, &'a Context) -> BoxFuture<'a, ()>;

impl<T: Tool<Input: Send>> InputHooks for Hooks<T> {
    fn wants_deltas(&self) -> bool {
        self.delta.is_some()
    }

    fn start<'a>(&'a self, _: &'a str, cx: &'a Context) -> BoxFuture<'a, ()> {
        self.start.map_or_else(nothing, |hook| hook(cx))
    }

    fn delta<'a>(
        &'a self,
        _: &'a str,
        input: &'a IncrementalJson,
        delta: &'a str,
        cx: &'a Context,
    ) -> BoxFuture<'a, ()> {
        self.delta.map_or_else(nothing, |hook| hook(PartialInput::of(input), delta, cx))
    }

    fn available<'a>(&'a self, _: &'a str, arguments: &'a str, cx: &'a Context) -> BoxFuture<'a, ()> {
        let Some(hook) = self.available else { return nothing() };
        match T::decode(arguments, cx) {
            Ok(input) => Box::pin(async move { hook(&input, cx).await }),
            Err(_) => nothing(),
        }
    }
}

fn nothing<'a>() -> BoxFuture<'a, ()> {
    Box::pin(ready(()))
}

/// The return value of a hook's function: nothing, or a future of nothing. See the module `expansion`.
#[derive(Debug)]
pub struct Hook<R>(pub(super) R);

impl<R> Hook<R> {
    /// Wraps the return value of a hook's function.
    pub fn of(result: R) -> Self {
        Self(result)
    }
}

impl Hook<()> {
    /// Returns a future that is ready: nothing more is to be done.
    pub fn done<'a>(self) -> BoxFuture<'a, ()> {
        nothing()
    }
}

/// A type that a hook's function can return, besides `()`.
#[diagnostic::on_unimplemented(
    message = "a hook of a tool cannot return `{Self}`",
    label = "does not return `()`",
    note = "return nothing, from a `fn`, or from an `async fn` whose future can be sent to another thread"
)]
pub trait HookFuture: Future<Output = ()> + Send {}

#[diagnostic::do_not_recommend]
impl<F: Future<Output = ()> + Send> HookFuture for F {}

/// The arguments of a call of the tool `T` while they arrive. Each parameter is present or absent, and a present one is typed.
///
/// It is a view of an [`IncrementalJson`], created anew after each piece, and costs nothing by itself. An incomplete value is
/// present as far as it goes. A text has its characters so far, a number its digits, and a list its items.
///
/// Nothing is guaranteed about it: limits are not checked, defaults are not filled in, secrets are absent.
///
/// ```
/// use tool_runtime::{json::IncrementalJson, tool, tool::PartialInput};
///
/// /// Write to somebody.
/// #[tool]
/// async fn send_mail(
///     /// The address.
///     to: String,
///     /// The text.
///     text: String,
///     /// After how many hours.
///     delay: Option<u32>,
/// ) -> bool {
///     true
/// }
///
/// let mut json = IncrementalJson::new();
/// json.feed_str(r#"{"to": "anna@example.org", "text": "Dear An"#)?;
/// let mail = PartialInput::<send_mail>::of(&json);
///
/// // One parameter, borrowed, whatever its length.
/// assert_eq!(mail.get::<&str>("text"), Some("Dear An"));
/// assert!(mail.is_complete("to") && !mail.is_complete("text"));
///
/// // All of them, as the types that they are declared with.
/// let (to, text, delay) = mail.all();
/// assert_eq!(to.as_deref(), Some("anna@example.org"));
/// assert_eq!(text.as_deref(), Some("Dear An"));
/// assert_eq!(delay, None);
/// # Ok::<(), tool_schema::json::SyntaxError>(())
/// ```
pub struct PartialInput<'a, T> {
    json: &'a IncrementalJson,
    tool: PhantomData<fn() -> T>,
}

impl<'a, T: Tool> PartialInput<'a, T> {
    /// Creates the view of the arguments that have arrived so far.
    pub fn of(json: &'a IncrementalJson) -> Self {
        Self { json, tool: PhantomData }
    }

    /// Returns the parameter `name`, if it has begun and its content so far reads as a `V`.
    ///
    /// `V` is the parameter's type, or a type that borrows, such as `&str`, which copies nothing. A type that reads only as a
    /// whole, such as an enum or a struct with required fields, appears when enough of it has arrived. `name` is the model's
    /// name for the parameter.
    ///
    /// # Panics
    ///
    /// With debug assertions, if the tool has no parameter `name`.
    pub fn get<V: Deserialize<'a>>(self, name: &str) -> Option<V> {
        debug_assert!(Self::knows(name), "the tool `{}` has no parameter `{name}`", T::NAME);
        V::deserialize(Exact::new(self.argument(name)?, Keys::Plain)).ok()
    }

    /// Returns whether the parameter `name` is present and will not change any more.
    pub fn is_complete(self, name: &str) -> bool {
        let open = self.json.place().and_then(|place| place.segments().next());
        self.argument(name).is_some() && open != Some(Segment::Name(name))
    }

    /// Returns every parameter in the order of the declaration, as an `Option` of its type. The result is a tuple; with more than
    /// eight parameters, a tuple of such tuples.
    ///
    /// It reads everything that has arrived, so it costs as much as a call with these arguments.
    pub fn all(self) -> <T::Values as Values>::Places {
        let mut places = T::Values::empty();
        let mut each: Vec<&mut dyn Any> = Vec::new();
        T::Values::each(&mut places, &mut each);
        for (field, place) in T::def().fields.iter().zip(each) {
            if !field.param.secret
                && let Some(value) = self.argument(field.param.name)
            {
                // A value that does not read as its type yet counts as absent.
                let _ = (field.code.read)(place, &value.to_string(), Keys::Plain);
            }
        }
        places
    }

    /// Returns the arguments so far; `None` before they have begun.
    pub fn value(self) -> Option<&'a Value> {
        self.json.value()
    }

    fn argument(self, name: &str) -> Option<&'a Value> {
        self.json.value()?.as_object()?.get(name)
    }

    fn knows(name: &str) -> bool {
        T::def().has_parameter(name)
    }
}

impl<T> Clone for PartialInput<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for PartialInput<'_, T> {}

impl<T> fmt::Debug for PartialInput<'_, T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("PartialInput").field(&self.json.value()).finish()
    }
}
