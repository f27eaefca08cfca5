//! What is compiled when it is first used.

use std::{borrow::Borrow, sync::OnceLock};

/// A `T` that is made at its first use, if it can be made.
///
/// It is behind a `dyn` because of statics: that each is `Sync`, the compiler otherwise proves down to the last field of a
/// `T`, again for each static that refers to one, however indirectly.
pub struct Compiled<T: 'static>(OnceLock<Option<Box<dyn Borrow<T> + Send + Sync>>>);

impl<T: Send + Sync> Compiled<T> {
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The `T`, which `compile` makes the first time; `None` if it could not.
    pub fn get(&self, compile: impl FnOnce() -> Option<T>) -> Option<&T> {
        let made = self.0.get_or_init(|| compile().map(|made| Box::new(made) as Box<_>));
        made.as_deref().map(Borrow::borrow)
    }
}
