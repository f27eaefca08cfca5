//! The work of a call, boxed: the evidence that it can be done where a call may run, on any thread.

use std::marker::PhantomData;

use super::{CallFuture, Def, expansion};

/// The work of a function with the input `I`.
///
/// An input that cannot be sent to another thread has been reported at its parameter; then [`NoWork`] asks for nothing
/// more.
#[derive(Debug)]
pub struct Work<I>(PhantomData<fn() -> I>);

impl<I: Send> Work<I> {
    /// The work of an `async fn`.
    pub fn wait<'a, R: 'static>(def: &'static Def, future: impl Future<Output = R> + Send + 'a) -> CallFuture<'a> {
        Box::pin(async move { def.output.encode(future.await) })
    }

    /// The work of a `fn`.
    pub fn call<'a, R: 'static>(def: &'static Def, call: impl FnOnce() -> R + Send + 'a) -> CallFuture<'a> {
        Box::pin(async move { def.output.encode(call()) })
    }
}

/// The work of a function that does not compile: an inherent function is found before a trait's.
pub trait NoWork {
    /// See [`Work::wait`].
    fn wait<'a, R>(_: &'static Def, _: impl Future<Output = R>) -> CallFuture<'a> {
        expansion::outside()
    }

    /// See [`Work::call`].
    fn call<'a, R>(_: &'static Def, _: impl FnOnce() -> R) -> CallFuture<'a> {
        expansion::outside()
    }
}

impl<I> NoWork for Work<I> {}

/// State that a tool takes by value.
#[diagnostic::on_unimplemented(
    message = "a tool takes state by value only if it is `Clone`, and `{Self}` is not",
    label = "cloned for each call",
    note = "take `&{Self}`, or `Arc<{Self}>`"
)]
pub trait Owned: Clone {}

#[diagnostic::do_not_recommend]
impl<T: Clone> Owned for T {}

/// How state that a tool takes by value is made.
#[derive(Debug)]
pub struct Taken<T>(PhantomData<fn() -> T>);

impl<T> Taken<T> {
    /// The evidence that it can be.
    pub const fn by_value() -> fn(&T) -> T
    where
        T: Owned,
    {
        T::clone
    }
}
