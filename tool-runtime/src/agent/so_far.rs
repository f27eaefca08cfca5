//! The arguments of a call while they arrive, for whoever looks.

use std::{
    fmt,
    sync::{Mutex, PoisonError, TryLockError},
};

use crate::json::Incremental;
use tool_schema::json::{Change, Path};

/// The arguments of a call so far, as text and, where somebody looks, as a value: it is read when it is first looked at, and
/// then each piece once. An observer that never looks pays nothing.
///
/// ```
/// use tool_runtime::agent::{Event, Observer};
///
/// struct Typing;
///
/// impl Observer for Typing {
///     fn event(&self, event: Event<'_>) {
///         if let Event::CallArguments { so_far, .. } = event {
///             so_far.look(|json| match json.value() {
///                 Some(value) => println!("writes to {}", value["to"]),
///                 None => println!("begins"),
///             });
///         }
///     }
/// }
/// ```
#[derive(Clone, Copy)]
pub struct PartialArguments<'a> {
    text: &'a str,
    view: &'a View,
}

/// The part of a call's arguments that was read.
#[derive(Debug, Default)]
pub struct View(Mutex<Option<Box<Incremental>>>);

static NOBODY: View = View(Mutex::new(None));

impl PartialArguments<'static> {
    /// The arguments of a call before their first piece, for tests of observers.
    pub const EMPTY: Self = Self { text: "", view: &NOBODY };
}

impl<'a> PartialArguments<'a> {
    pub(super) fn new(text: &'a str, view: &'a View) -> Self {
        Self { text, view }
    }

    /// The text.
    pub fn text(self) -> &'a str {
        self.text
    }

    /// Lends the value; nothing is copied. Text that is no JSON is in [`Incremental::error`], and the value is what came
    /// before it.
    ///
    /// # Panics
    ///
    /// When it is called from inside `look`, or from inside `tell` of [`PartialArguments::changes`].
    pub fn look<R>(self, look: impl FnOnce(&Incremental) -> R) -> R {
        self.read(look, |json, rest| json.feed_str(rest).ok())
    }

    /// Tells what has changed since this or [`PartialArguments::look`] was last called for the call: with each piece, for an
    /// observer that calls it with each.
    ///
    /// # Panics
    ///
    /// As [`PartialArguments::look`] does.
    pub fn changes(self, tell: &mut dyn FnMut(Path<'_>, Change<'_>)) {
        self.read(|_| (), |json, rest| json.feed_str_with(rest, tell).ok());
    }

    fn read<R>(
        self,
        look: impl FnOnce(&Incremental) -> R,
        feed: impl FnOnce(&mut Incremental, &str) -> Option<()>,
    ) -> R {
        let mut view = match self.view.0.try_lock() {
            Ok(view) => view,
            Err(TryLockError::Poisoned(view)) => PoisonError::into_inner(view),
            Err(TryLockError::WouldBlock) => panic!("the arguments are looked at already"),
        };
        let json = view.get_or_insert_default();
        // All of them are read up to where they are wrong, so what is read is what was there when it was last looked at.
        if json.error().is_none() {
            let read = json.offset();
            feed(json, &self.text[read..]);
        }
        look(json)
    }
}

impl fmt::Debug for PartialArguments<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("PartialArguments").field(&self.text).finish()
    }
}
