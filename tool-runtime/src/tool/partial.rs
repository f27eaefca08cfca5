//! A tool's input while its text arrives.

use std::{any::Any, fmt, marker::PhantomData};

use serde::Deserialize;
use serde_json::Value;

use super::{Tool, Values, exact::Exact};
use crate::json::Incremental;
use tool_schema::json::Segment;

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
