//! The work of a call, boxed: the evidence that it can be done where a call may run, on any thread.

use std::{
    marker::PhantomData,
    pin::Pin,
    task::{self, Poll},
};

use futures_core::Stream;
use futures_util::future::lazy;
use pin_project_lite::pin_project;

use super::{CallError, CallFuture, Context, Def, Output, streamed};

/// The work of a function that gets the values `V`: its input, and what it takes from the state.
///
/// An input that cannot be sent to another thread is reported at its parameter, and state that threads cannot share where
/// it is given to the tools; then `WorkFallback` asks for nothing more.
#[derive(Debug)]
pub struct Work<V>(PhantomData<fn() -> V>);

impl<V: Send> Work<V> {
    /// The work of an `async fn`.
    pub fn wait<'a, R: 'static>(def: &'static Def, future: impl Future<Output = R> + Send + 'a) -> CallFuture<'a> {
        boxed(Box::new(Encoded { def, future }))
    }

    /// The work of a `fn`.
    pub fn call<'a, R: 'static>(def: &'static Def, call: impl FnOnce() -> R + Send + 'a) -> CallFuture<'a> {
        boxed(Box::new(lazy(move |_| def.output.encode(call()))))
    }

    /// The work of an `async fn` that returns a stream of outputs.
    pub fn wait_for_stream<'a, R: 'static, S: Stream<Item = R> + Send + 'a>(
        def: &'static Def,
        cx: &'a Context,
        future: impl Future<Output = S> + Send + 'a,
    ) -> CallFuture<'a> {
        boxed(Box::new(async move { streamed(future.await, cx, |item| def.output.encode(item)).await }))
    }

    /// The work of a `fn` that returns a stream of outputs.
    pub fn stream<'a, R: 'static, S: Stream<Item = R> + Send + 'a>(
        def: &'static Def,
        cx: &'a Context,
        call: impl FnOnce() -> S + Send + 'a,
    ) -> CallFuture<'a> {
        boxed(Box::new(async move { streamed(call(), cx, |item| def.output.encode(item)).await }))
    }
}

pin_project! {
    /// A future, and its output encoded. An `async` block would do the same with a state machine more for each tool: half of
    /// what a tool without a body costs in a release build.
    struct Encoded<F> {
        def: &'static Def,
        #[pin]
        future: F,
    }
}

impl<R: 'static, F: Future<Output = R>> Future for Encoded<F> {
    type Output = Result<Output, CallError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        match this.future.poll(cx) {
            Poll::Ready(output) => Poll::Ready(this.def.output.encode(output)),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// `Box::pin`, but not one more function for each tool.
fn boxed<'a>(work: Box<dyn Future<Output = Result<Output, CallError>> + Send + 'a>) -> CallFuture<'a> {
    Box::into_pin(work)
}

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

/// Application state that a toolset can keep.
#[diagnostic::on_unimplemented(
    message = "the state `{Self}` cannot be shared between threads",
    label = "not `Send` and `Sync`, but calls run side by side, on any thread",
    note = "hold a `Mutex` or an atomic instead of a `Cell`, a `Mutex` or `RwLock` instead of a `RefCell`, an `Arc` instead of an `Rc`"
)]
pub trait State: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> State for T {}
