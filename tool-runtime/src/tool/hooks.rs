//! Hooks: code that gets a call's arguments while the model writes them, and when they are accepted.

use std::{any::Any, fmt, future::ready, marker::PhantomData};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::Value;

use super::{Context, Tool, Values, exact::Exact};
use crate::json::Incremental;
use tool_schema::json::Segment;

/// Hooks around the arguments of calls. `#[tool(on_input_start = …, on_input_delta = …, on_input_available = …)]` declares
/// those of one tool, with its types; [`RuntimeToolBuilder::hooks`](crate::toolset::RuntimeToolBuilder::hooks) sets those of
/// a tool of run time, and `Agent::input_hooks` some for all tools.
///
/// They are asked by an agent, for each call in the order start, delta (as often as more arrives), available; how many calls
/// the model writes side by side does not matter. The model's stream waits for the first two, and so does the run of the
/// calls in it; other calls that run, go on. For the third nothing waits, but what it does at once, before it awaits
/// anything, is done before the call can run, be approved or be given to somebody outside.
///
/// Whatever a hook does, the run goes on: one that panics, or takes longer than ten seconds, is not asked again about that
/// call. What it is told before the third is a claim of the model's: nothing of it was checked, and none of it may ever run.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no hooks around the arguments of calls",
    label = "`InputHooks` is not implemented",
    note = "implement `InputHooks` for it; all of its methods have a default"
)]
pub trait InputHooks: Send + Sync {
    /// Whether anything is done about pieces of arguments. If not, none is read before all are there.
    fn hears_deltas(&self) -> bool {
        true
    }

    /// The model begins a call of the tool `tool`.
    fn start<'a>(&'a self, tool: &'a str, cx: &'a Context) -> BoxFuture<'a, ()> {
        let _ = (tool, cx);
        Box::pin(ready(()))
    }

    /// More of the arguments has come: `delta`, after which they are what `input` says.
    fn delta<'a>(
        &'a self,
        tool: &'a str,
        input: &'a Incremental,
        delta: &'a str,
        cx: &'a Context,
    ) -> BoxFuture<'a, ()> {
        let _ = (tool, input, delta, cx);
        Box::pin(ready(()))
    }

    /// The tool accepted `arguments`, a JSON object. Told again when a person wrote others in their place.
    fn available<'a>(&'a self, tool: &'a str, arguments: &'a str, cx: &'a Context) -> BoxFuture<'a, ()> {
        let _ = (tool, arguments, cx);
        Box::pin(ready(()))
    }
}

impl fmt::Debug for dyn InputHooks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("InputHooks")
    }
}

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

/// `on_input_delta` of the tool `T`.
pub type OnDelta<T> = for<'a> fn(Partial<'a, T>, &'a str, &'a Context) -> BoxFuture<'a, ()>;

/// `on_input_available` of the tool `T`.
pub type OnAvailable<T> = for<'a> fn(&'a <T as Tool>::Input, &'a Context) -> BoxFuture<'a, ()>;

impl<T: Tool<Input: Send>> InputHooks for Hooks<T> {
    fn hears_deltas(&self) -> bool {
        self.delta.is_some()
    }

    fn start<'a>(&'a self, _: &'a str, cx: &'a Context) -> BoxFuture<'a, ()> {
        self.start.map_or_else(nothing, |hook| hook(cx))
    }

    fn delta<'a>(&'a self, _: &'a str, input: &'a Incremental, delta: &'a str, cx: &'a Context) -> BoxFuture<'a, ()> {
        self.delta.map_or_else(nothing, |hook| hook(Partial::of(input), delta, cx))
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

/// What the function of a hook gave back: nothing, or a future of nothing. An inherent function is found before a trait's.
#[derive(Debug)]
pub struct Hook<R>(pub(super) R);

impl<R> Hook<R> {
    /// What came of a hook's function.
    pub fn of(result: R) -> Self {
        Self(result)
    }
}

impl Hook<()> {
    /// Nothing more is to be done.
    pub fn done<'a>(self) -> BoxFuture<'a, ()> {
        nothing()
    }
}

/// What the function of a hook can give back, besides nothing.
#[diagnostic::on_unimplemented(
    message = "a hook of a tool cannot return `{Self}`",
    label = "does not return `()`",
    note = "return nothing, from a `fn`, or from an `async fn` whose future can be sent to another thread"
)]
pub trait HookFuture: Future<Output = ()> + Send {}

#[diagnostic::do_not_recommend]
impl<F: Future<Output = ()> + Send> HookFuture for F {}

/// The arguments of a call of the tool `T` while they arrive: each parameter is there or is not, and what is there is typed.
///
/// It is a view of an [`Incremental`], made anew after each piece, and costs nothing by itself. What has begun and is not
/// complete is there as far as it goes: a text with what has come of it, a number with the digits so far, a list with the
/// items so far. Nothing is promised about it: limits are not checked, defaults are not filled in, secrets are not there.
///
/// ```
/// use tool_runtime::{json::Incremental, tool, tool::Partial};
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
/// let mut json = Incremental::new();
/// json.feed_str(r#"{"to": "anna@example.org", "text": "Dear An"#)?;
/// let mail = Partial::<send_mail>::of(&json);
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
/// # Ok::<(), tool_schema::json::Malformed>(())
/// ```
pub struct Partial<'a, T> {
    json: &'a Incremental,
    tool: PhantomData<fn() -> T>,
}

impl<'a, T: Tool> Partial<'a, T> {
    /// What has arrived so far.
    pub fn of(json: &'a Incremental) -> Self {
        Self { json, tool: PhantomData }
    }

    /// The parameter `name`, if it has begun and what there is of it reads as a `V`.
    ///
    /// `V` is its type, or one that borrows, such as `&str`, which copies nothing. What reads only as a whole, such as an
    /// enum or a struct with required fields, is there when enough of it is. `name` is what the model calls it.
    ///
    /// With debug assertions, a name that the tool does not have panics.
    pub fn get<V: Deserialize<'a>>(self, name: &str) -> Option<V> {
        debug_assert!(Self::knows(name), "the tool `{}` has no parameter `{name}`", T::NAME);
        V::deserialize(Exact(self.argument(name)?)).ok()
    }

    /// Whether the parameter `name` is there and will not change any more.
    pub fn is_complete(self, name: &str) -> bool {
        let open = self.json.place().and_then(|place| place.segments().next());
        self.argument(name).is_some() && open != Some(Segment::Name(name))
    }

    /// Every parameter in the order of the declaration, as an `Option` of its type: a tuple of them; of more than eight, a
    /// tuple of such tuples.
    ///
    /// Reads all that has arrived, so it costs as much as a call with these arguments.
    pub fn all(self) -> <T::Values as Values>::Places {
        let mut places = T::Values::empty();
        let mut each: Vec<&mut dyn Any> = Vec::new();
        T::Values::each(&mut places, &mut each);
        for (field, place) in T::def().fields.iter().zip(each) {
            if !field.param.secret
                && let Some(value) = self.argument(field.param.name)
            {
                // What does not read as its type yet is not there yet.
                let _ = (field.code.read)(place, &value.to_string());
            }
        }
        places
    }

    /// The arguments so far; `None` before they have begun.
    pub fn value(self) -> Option<&'a Value> {
        self.json.value()
    }

    fn argument(self, name: &str) -> Option<&'a Value> {
        self.json.value()?.as_object()?.get(name)
    }

    fn knows(name: &str) -> bool {
        T::def().knows(name)
    }
}

impl<T> Clone for Partial<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Partial<'_, T> {}

impl<T> fmt::Debug for Partial<'_, T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Partial").field(&self.json.value()).finish()
    }
}
