//! A tool as the runtime handles it: its declaration, and the code that starts a call. The code that reads the arguments is
//! compiled once for each list of parameter types, not for each tool.

use std::{
    fmt,
    future::poll_fn,
    marker::PhantomData,
    pin::{Pin, pin},
    sync::Arc,
    task::{self, Poll},
};

use futures_core::Stream;
use futures_util::{
    FutureExt, StreamExt as _, TryFutureExt as _,
    future::{BoxFuture, Either, Ready, lazy, ready},
};
use pin_project_lite::pin_project;

use super::{CallError, Context, DecodeError, Def, Failure, InputHooks, Output, ToolSpec, TouchedResources, Values};

/// The work of a call. Nothing happens until it is polled.
pub type CallFuture<'a> = BoxFuture<'a, Result<Output, CallError>>;

/// A call whose arguments were accepted, and which has not run yet.
pub struct AcceptedCall<'a> {
    /// Set if somebody must approve the call first.
    pub needs_approval: bool,
    /// The arguments as validators changed them, if they did. These are shown, approved and run.
    pub normalized: Option<Box<str>>,
    /// The resources that the call reads and writes, if its tool declares them.
    pub touches: Option<Arc<TouchedResources>>,
    /// The work.
    pub work: CallFuture<'a>,
}

impl<'a> AcceptedCall<'a> {
    /// Creates a call whose arguments were accepted as they are.
    #[inline]
    pub fn new(needs_approval: bool, work: CallFuture<'a>) -> Self {
        Self { needs_approval, normalized: None, touches: None, work }
    }

    /// Returns the call with the arguments as validators changed them. The validators' `remarks` follow its output.
    pub(crate) fn understood(self, normalized: Option<Box<str>>, remarks: Vec<String>) -> Self {
        if remarks.is_empty() {
            return Self { normalized, ..self };
        }
        let work = self.work.map_ok(move |output| output.with_remarks(&remarks)).boxed();
        Self { normalized, work, ..self }
    }
}

impl fmt::Debug for AcceptedCall<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("AcceptedCall").field("needs_approval", &self.needs_approval).finish_non_exhaustive()
    }
}

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

/// A call whose arguments are being read: a future, which is ready at once unless the tool has validators to ask.
pub struct PrepareFuture<'a>(Either<Ready<StartResult<'a>>, BoxFuture<'a, StartResult<'a>>>);

type StartResult<'a> = Result<AcceptedCall<'a>, CallError>;
type DecodeResult<'a> = Result<AcceptedCall<'a>, DecodeError>;

impl<'a> PrepareFuture<'a> {
    /// Creates a call whose arguments were read.
    #[inline]
    pub fn read(started: Result<AcceptedCall<'a>, CallError>) -> Self {
        Self(Either::Left(ready(started)))
    }

    /// Creates a call whose arguments `work` reads. No validator is asked before the call is polled.
    pub fn asking(work: impl Future<Output = Result<AcceptedCall<'a>, CallError>> + Send + 'a) -> Self {
        Self(Either::Right(work.boxed()))
    }

    /// Returns the result of reading, if no validator has to be asked.
    ///
    /// Otherwise fails with the call itself.
    #[inline]
    pub fn now(self) -> Result<Result<AcceptedCall<'a>, CallError>, Self> {
        match self.0 {
            Either::Left(read) => Ok(read.into_inner()),
            Either::Right(work) => Err(Self(Either::Right(work))),
        }
    }

    /// Returns the call with `change` applied to the result of reading.
    #[inline]
    pub fn map(
        self,
        change: impl FnOnce(Result<AcceptedCall<'a>, CallError>) -> Result<AcceptedCall<'a>, CallError> + Send + 'a,
    ) -> Self {
        match self.0 {
            Either::Left(read) => Self::read(change(read.into_inner())),
            Either::Right(work) => Self::asking(work.map(change)),
        }
    }
}

impl<'a> Future for PrepareFuture<'a> {
    type Output = Result<AcceptedCall<'a>, CallError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, task: &mut task::Context<'_>) -> Poll<Self::Output> {
        self.0.poll_unpin(task)
    }
}

impl fmt::Debug for PrepareFuture<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self.0 {
            Either::Left(_) => "PrepareFuture(read)",
            Either::Right(_) => "PrepareFuture(asking)",
        })
    }
}

/// A tool's declaration, and the code that starts its calls with the state `S`.
pub struct Binding<S: 'static> {
    /// Returns the declaration. It is a function, because a constant cannot refer to a static with interior mutability.
    pub def: fn() -> &'static Def,
    /// Starts a call.
    pub start: Start<S>,
}

impl<S> Clone for Binding<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Binding<S> {}

impl<S> fmt::Debug for Binding<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Binding").field("def", &(self.def)()).finish_non_exhaustive()
    }
}

/// A tool whose types are not known statically.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool that a toolset can hold",
    label = "`ErasedTool` is not implemented",
    note = "put a tool that `#[tool]` declares into a set with `toolset!(state; tool, ...)`",
    note = "a tool whose schema is known at run time is a `RuntimeTool`, finished with `handler` or `external`"
)]
pub trait ErasedTool: Send + Sync {
    /// Returns the tool's specification.
    fn spec(&self) -> &Arc<ToolSpec>;

    /// Returns the name, which is that of the specification.
    fn name(&self) -> &str {
        &self.spec().name
    }

    /// Reads the arguments and prepares the call. Validators run, but the tool itself does not before [`AcceptedCall::work`] is
    /// polled.
    fn prepare<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> PrepareFuture<'a>;

    /// Reads the output that a client gave to a call of an external tool.
    ///
    /// Fails when the tool is not external, or the output has the wrong type. Pass an output from outside the program to
    /// [`Toolset::read_external_output`](crate::Toolset::read_external_output), which also limits its size.
    fn read_external_output(&self, output: &str) -> Result<Output, CallError>;

    /// Returns the tools that a call of this one may itself call, if it is an agent. A wrapper of a tool passes this on.
    fn inner_tools(&self) -> &[Arc<dyn ErasedTool>] {
        &[]
    }

    /// Returns the hooks that receive the arguments of a call while they arrive. `None` costs nothing.
    fn hooks(&self) -> Option<&dyn InputHooks> {
        None
    }

    /// Returns whether the tool is another one inside a layer, so that its work may wait before the function begins.
    #[doc(hidden)]
    fn is_layer(&self) -> bool {
        false
    }
}

/// A tool bound to its state.
pub(crate) struct Bound<S: 'static> {
    pub(crate) def: &'static Def,
    pub(crate) start: Start<S>,
    pub(crate) state: Arc<S>,
}

impl<S: Send + Sync> ErasedTool for Bound<S> {
    fn name(&self) -> &str {
        self.def.name
    }

    fn spec(&self) -> &Arc<ToolSpec> {
        self.def.spec()
    }

    #[inline]
    fn prepare<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> PrepareFuture<'a> {
        let started = match self.start {
            Start::Stateless(begin) => begin.start(self.def, arguments, cx),
            Start::WithState(begin) => begin.start(self.def, &self.state, arguments, cx),
            Start::Validated(start) => {
                return PrepareFuture::asking(start(&self.state, arguments, cx).map(|started| Ok(started?)));
            }
        };
        PrepareFuture::read(started.map_err(CallError::from))
    }

    fn read_external_output(&self, output: &str) -> Result<Output, CallError> {
        self.def.read_external_output(output)
    }

    fn hooks(&self) -> Option<&dyn InputHooks> {
        self.def.hooks
    }
}

/// The code that reads arguments and prepares a call.
pub enum Start<S: 'static> {
    /// For a tool that needs no state.
    Stateless(&'static dyn StartStateless),
    /// For a tool that needs the state.
    WithState(&'static dyn StartWithState<S>),
    /// For a tool with dynamic parameters.
    Validated(for<'a> fn(&'a S, &'a str, &'a Context) -> BoxFuture<'a, DecodeResult<'a>>),
}

/// Starts a call of a tool that needs no state, whatever the types of its parameters.
pub trait StartStateless: Sync {
    /// Reads the arguments `text` of the tool `def`, and prepares the call.
    fn start<'a>(&self, def: &'static Def, text: &str, cx: &'a Context) -> DecodeResult<'a>;
}

/// The code of a call with the values `V`.
#[derive(Debug)]
pub struct Begin<V>(pub for<'a> fn(V, &'a Context) -> AcceptedCall<'a>);

impl<V: Values> StartStateless for Begin<V> {
    fn start<'a>(&self, def: &'static Def, text: &str, cx: &'a Context) -> DecodeResult<'a> {
        match V::read(def, text, cx) {
            Ok(values) => Ok((self.0)(values, cx)),
            Err(rejected) => Err(rejected),
        }
    }
}

/// Starts a call of a tool that needs the state `S`, whatever the types of its parameters.
pub trait StartWithState<S>: Sync {
    /// Reads the arguments `text` of the tool `def`, and prepares the call.
    fn start<'a>(&self, def: &'static Def, state: &'a S, text: &str, cx: &'a Context) -> DecodeResult<'a>;
}

/// The code of a call with the state `S` and the values `V`.
#[derive(Debug)]
pub struct BeginWithState<S, V>(pub for<'a> fn(&'a S, V, &'a Context) -> AcceptedCall<'a>);

impl<S, V: Values> StartWithState<S> for BeginWithState<S, V> {
    fn start<'a>(&self, def: &'static Def, state: &'a S, text: &str, cx: &'a Context) -> DecodeResult<'a> {
        match V::read(def, text, cx) {
            Ok(values) => Ok((self.0)(state, values, cx)),
            Err(rejected) => Err(rejected),
        }
    }
}

impl<S> Clone for Start<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Start<S> {}

impl<S> fmt::Debug for Start<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Stateless(_) => "Stateless",
            Self::WithState(_) => "WithState",
            Self::Validated(_) => "Validated",
        })
    }
}
