//! A value that is created at its first use, for statics.

use std::{borrow::Borrow, sync::OnceLock};

/// A `T` that is created at its first use, if that is possible.
///
/// The value is behind a `dyn` because of statics. Otherwise, for each static that refers to a `Compiled`, even indirectly, the
/// compiler proves again that all fields of `T` are `Sync`.
pub struct Compiled<T: 'static>(OnceLock<Option<Box<dyn Borrow<T> + Send + Sync>>>);

impl<T: Send + Sync> Compiled<T> {
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Returns the `T`, which `compile` creates the first time; `None` if it could not.
    pub fn get(&self, compile: impl FnOnce() -> Option<T>) -> Option<&T> {
        let made = self.0.get_or_init(|| compile().map(|made| Box::new(made) as Box<_>));
        made.as_deref().map(Borrow::borrow)
    }
}
