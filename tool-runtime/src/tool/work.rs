//! The boxed work of a call, from a function, a struct or a stream, and the witnesses that it can run on any thread.

use std::{
    future::poll_fn,
    marker::PhantomData,
    pin::{Pin, pin},
    task::{self, Poll},
};

use futures_core::Stream;
use futures_util::{StreamExt as _, future::lazy};
use pin_project_lite::pin_project;

use super::{
    CallError, CallFuture, Context, Def, Execute, ExecuteWith, Failure, Output, ToolError, ToolOutput,
    output::{Returned, encode},
};

/// Boxes a function's call as a future. `V` holds the input and the states. `WorkFallback` handles a `V` that is not `Send`: see
/// the module `expansion`.
#[derive(Debug)]
pub struct Work<V>(PhantomData<fn() -> V>);

impl<V: Send> Work<V> {
    /// Returns the work of an `async fn`.
    pub fn async_fn<'a, R: 'static>(def: &'static Def, future: impl Future<Output = R> + Send + 'a) -> CallFuture<'a> {
        boxed(Box::new(Encoded { def, future }))
    }

    /// Returns the work of a `fn`.
    pub fn plain_fn<'a, R: 'static>(def: &'static Def, call: impl FnOnce() -> R + Send + 'a) -> CallFuture<'a> {
        boxed(Box::new(lazy(move |_| def.output.encode(call()))))
    }

    /// Returns the work of an `async fn` that returns a stream of outputs.
    pub fn async_stream<'a, R: 'static, S: Stream<Item = R> + Send + 'a>(
        def: &'static Def,
        cx: &'a Context,
        future: impl Future<Output = S> + Send + 'a,
    ) -> CallFuture<'a> {
        boxed(Box::new(async move { streamed(future.await, cx, |item| def.output.encode(item)).await }))
    }

    /// Returns the work of a `fn` that returns a stream of outputs.
    pub fn plain_stream<'a, R: 'static, S: Stream<Item = R> + Send + 'a>(
        def: &'static Def,
        cx: &'a Context,
        call: impl FnOnce() -> S + Send + 'a,
    ) -> CallFuture<'a> {
        boxed(Box::new(async move { streamed(call(), cx, |item| def.output.encode(item)).await }))
    }
}

pin_project! {
    /// A future whose output is encoded. An `async` block would add a state machine per tool, half of an empty tool's size in a
    /// release build.
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

/// Pins a box. `Box::pin` would be another function for each tool.
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

/// Clones a state that a tool takes by value.
#[derive(Debug)]
pub struct StateCloner<T>(PhantomData<fn() -> T>);

impl<T> StateCloner<T> {
    /// Returns the function that clones the state.
    pub const fn by_value() -> fn(&T) -> T
    where
        T: Owned,
    {
        T::clone
    }
}

/// Application state that a toolset can hold.
#[diagnostic::on_unimplemented(
    message = "the state `{Self}` cannot be shared between threads",
    label = "not `Send` and `Sync`, but calls run side by side, on any thread",
    note = "hold a `Mutex` or an atomic instead of a `Cell`, a `Mutex` or `RwLock` instead of a `RefCell`, an `Arc` instead of an `Rc`"
)]
pub trait State: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> State for T {}

/// The witness that the struct `T` can be executed with the state `S`, and that its output can be returned.
#[derive(Debug)]
pub struct Executor<T, S> {
    pub(super) start: for<'a> fn(T, &'a S, &'a Context) -> CallFuture<'a>,
    /// The code that describes the output.
    pub returned: Returned,
}

impl<T, S> Executor<T, S> {
    /// Returns the work of a call.
    pub fn start<'a>(&self, input: T, state: &'a S, cx: &'a Context) -> CallFuture<'a> {
        (self.start)(input, state, cx)
    }
}

/// The witness that the struct `T` implements [`Execute`].
#[derive(Debug)]
pub struct ExecuteWitness<T>(PhantomData<fn() -> T>);

/// The witness that the struct `T` implements [`ExecuteWith<S>`].
#[derive(Debug)]
pub struct ExecuteWithWitness<T, S>(PhantomData<fn() -> (T, S)>);

impl<T: Execute + Send + 'static> ExecuteWitness<T> {
    /// The marker value, on which the method `fits` is called.
    pub const KIND: &'static Self = &Self(PhantomData);
}

impl<T: ExecuteWith<S> + Send + 'static, S: Sync + 'static> ExecuteWithWitness<T, S> {
    /// The marker value, on which the method `fits` is called.
    pub const KIND: &'static Self = &Self(PhantomData);
}

impl<T: Execute<Output: ToolOutput> + Send + 'static> ExecuteWitness<T> {
    /// Returns the executor, if the output and the error types fit.
    pub const fn fits<L: ?Sized>(&self) -> Executor<T, ()>
    where
        T::Error: ToolError,
    {
        Executor {
            start: |input, (), cx| {
                let work = input.execute(cx);
                Box::pin(async move { encode(work.await) })
            },
            returned: Returned::described(T::Output::output_schema),
        }
    }
}

impl<T: ExecuteWith<S, Output: ToolOutput> + Send + 'static, S: Sync> ExecuteWithWitness<T, S> {
    /// Returns the executor, if the output and the error types fit.
    pub const fn fits<L: ?Sized>(&self) -> Executor<T, S>
    where
        T::Error: ToolError,
    {
        Executor {
            start: |input, state, cx| {
                let work = input.execute(state, cx);
                Box::pin(async move { encode(work.await) })
            },
            returned: Returned::described(T::Output::output_schema),
        }
    }
}

/// Returns the last item of `stream`, encoded. Shows each item as a preliminary output when it arrives.
///
/// Polls the next item after the observer accepted the previous one, so only one item is buffered. Drops the stream as soon as an
/// item is an error or cannot be encoded.
///
/// Fails when the stream ends without an output.
pub(crate) async fn streamed<S: Stream>(
    stream: S,
    cx: &Context,
    encode: impl Fn(S::Item) -> Result<Output, CallError>,
) -> Result<Output, CallError> {
    // Encodes each item at once, so that items need not be `Send`.
    let mut outputs = pin!(stream.map(encode));
    let mut last = None;
    while let Some(output) = outputs.next().await {
        let output = output?;
        cx.show(&output).await;
        last = Some(output);
        yield_once().await;
    }
    last.ok_or_else(|| CallError::Failed(Failure::new("the tool ended without an output")))
}

/// Yields to other tasks once. Otherwise a caller could not stop a stream that is always ready.
pub(crate) async fn yield_once() {
    let mut yielded = false;
    poll_fn(|task| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        task.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
