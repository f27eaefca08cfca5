//! Layers: code around the tools of a set, such as logging, limits, retries or other parameters.

use std::{borrow::Cow, collections::HashMap, fmt, ptr, sync::Arc};

use super::prepared::{accepted_work, run};
use crate::feedback::Rejection;
use crate::tool::{
    AcceptedCall, CallError, CallFuture, Context, ErasedTool, Failure, InputHooks, Output, PrepareFuture, ToolSpec,
    start,
};
use tool_schema::json;
use tool_schema::json::text;

/// Code around a tool: around its calls, its parameters, its output and its specification.
///
/// The runtime runs [`call`](Self::call) after the tool has accepted the arguments, and after any needed approval.
/// [`translate_arguments`](Self::translate_arguments) and [`translate_error`](Self::translate_error) also see calls that do not
/// run. The layer calls [`Next::run`] once, not at all, or (for retries) several times.
///
/// ```
/// use tool_runtime::{CallFuture, toolset::{Invocation, Layer, Next}};
///
/// /// Prints every call.
/// struct Print;
///
/// impl Layer for Print {
///     fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
///         Box::pin(async move {
///             println!("{} {}", call.spec.name, call.arguments);
///             next.run().await
///         })
///     }
/// }
/// ```
///
/// [`Toolset::layer`](crate::Toolset::layer) puts a layer around every tool of a set, [`apply`](Self::apply) around one.
///
/// # Other parameters
///
/// A layer can show other parameters than the tool has ([`spec`](Self::spec)). It then translates them in
/// [`translate_arguments`](Self::translate_arguments). Everything outside sees only the layer's parameters. The model writes
/// them, policies and people see them, and an edit provides them. [`Invocation::arguments`] and the run's log hold them. The
/// layer translates them whenever the call is read. So a call runs as approved, if the translation is always the same.
///
/// If the tool's validators change such arguments ([`AcceptedCall::normalized`](crate::tool::AcceptedCall::normalized)),
/// [`restore`](Self::restore) translates the change back. The runtime checks that the result means what the validators
/// returned. If it does not, the runtime refuses the call, because a person could not see the arguments to approve.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layer of a toolset",
    label = "`Layer` is not implemented",
    note = "the stock layers are in `tool_runtime::layer`; implement `Layer` for one of your own"
)]
pub trait Layer: Send + Sync + 'static {
    /// Runs a call. The default runs the next layer, or the tool.
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        let _ = call;
        next.run()
    }

    /// Changes the specification of a tool, except its name. The default changes nothing.
    fn spec(&self, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        Arc::clone(spec)
    }

    /// Translates the arguments of a call into those of the tool inside, whose specification is `inner`. The default passes them
    /// on as they are, without a copy.
    ///
    /// It must be quick, and return the same result for the same arguments: the runtime calls it whenever it reads a call.
    ///
    /// Fails when the arguments do not fit the parameters of [`spec`](Self::spec). Nothing has checked them before.
    fn translate_arguments<'a>(&self, call: Invocation<'a>, inner: &ToolSpec) -> Result<Cow<'a, str>, CallError> {
        let _ = inner;
        Ok(Cow::Borrowed(call.arguments))
    }

    /// Translates a change by validators back into the layer's parameters. `meant` is the layer's translation of the arguments
    /// of `call`; validators changed it into `changed`. Returns arguments of the layer that translate to `changed`, or `None`
    /// if there are none.
    ///
    /// The default copies changes of parameters that the layer passed on unchanged.
    fn restore(&self, call: Invocation<'_>, meant: &str, changed: &str) -> Option<String> {
        carry_over(call.arguments, meant, changed)
    }

    /// Changes the error of a call that is refused while its arguments are read: by
    /// [`translate_arguments`](Self::translate_arguments), or by the tool, a validator or a policy inside. Changes nothing by
    /// default.
    fn translate_error(&self, spec: &ToolSpec, error: CallError) -> CallError {
        let _ = spec;
        error
    }

    /// Changes the output that a client sent for a call of an external tool. The default changes nothing.
    ///
    /// Fails when the layer refuses the output.
    fn translate_external_output(&self, spec: &ToolSpec, output: Output) -> Result<Output, CallError> {
        let _ = spec;
        Ok(output)
    }

    /// Returns `tool` inside this layer, under its own name.
    ///
    /// One layer may be applied to many tools, which then share its state. A layer that keeps state for each tool creates a new
    /// layer here:
    ///
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
    /// use tool_runtime::{CallFuture, CallError, tool::ErasedTool, toolset::{Invocation, Layer, Next}};
    ///
    /// /// Lets each tool be called so many times.
    /// struct Calls(usize);
    ///
    /// struct CallsOfOne(AtomicUsize);
    ///
    /// impl Layer for Calls {
    ///     fn apply(self: Arc<Self>, tool: Arc<dyn ErasedTool>) -> Arc<dyn ErasedTool> {
    ///         Arc::new(CallsOfOne(self.0.into())).apply(tool)
    ///     }
    /// }
    ///
    /// impl Layer for CallsOfOne {
    ///     fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
    ///         Box::pin(async move {
    ///             let left = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    ///             let over = |_| CallError::LimitReached { limit: "this tool was called often enough".into() };
    ///             left.map_err(over)?;
    ///             next.run().await
    ///         })
    ///     }
    /// }
    /// ```
    ///
    /// A layer that passes `call` on to another layer must pass `apply` on, too.
    fn apply(self: Arc<Self>, tool: Arc<dyn ErasedTool>) -> Arc<dyn ErasedTool> {
        Arc::new(Around::new(self, tool))
    }

    /// Returns this layer with `outer` around it. The first of a chain is the innermost, the last the outermost, and
    /// `a.pipe(b.pipe(c))` is `a.pipe(b).pipe(c)`.
    ///
    /// ```
    /// # #[cfg(feature = "agent")] {
    /// use tool_runtime::{layer::{CallLog, SecretFilter}, toolset::Layer};
    ///
    /// let both = SecretFilter::new(["hunter2"]).pipe(CallLog::new(|entry| println!("{entry}"))); // logs what is left
    /// # let _ = both;
    /// # }
    /// ```
    fn pipe<L: Layer>(self, outer: L) -> Pipe<Self, L>
    where
        Self: Sized,
    {
        Pipe { inner: Arc::new(self), outer: Arc::new(outer) }
    }
}

impl<L: Layer + ?Sized> Layer for Arc<L> {
    fn call<'a>(&'a self, call: Invocation<'a>, next: Next<'a>) -> CallFuture<'a> {
        (**self).call(call, next)
    }

    fn spec(&self, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        (**self).spec(spec)
    }

    fn translate_arguments<'a>(&self, call: Invocation<'a>, inner: &ToolSpec) -> Result<Cow<'a, str>, CallError> {
        (**self).translate_arguments(call, inner)
    }

    fn restore(&self, call: Invocation<'_>, meant: &str, changed: &str) -> Option<String> {
        (**self).restore(call, meant, changed)
    }

    fn translate_error(&self, spec: &ToolSpec, error: CallError) -> CallError {
        (**self).translate_error(spec, error)
    }

    fn translate_external_output(&self, spec: &ToolSpec, output: Output) -> Result<Output, CallError> {
        (**self).translate_external_output(spec, output)
    }

    fn apply(self: Arc<Self>, tool: Arc<dyn ErasedTool>) -> Arc<dyn ErasedTool> {
        Arc::clone(&*self).apply(tool)
    }
}

/// A call on its way through the layers.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Invocation<'a> {
    /// The tool's specification, as this layer shows it.
    pub spec: &'a Arc<ToolSpec>,
    /// The arguments in the layer's parameters. When the call runs, the tool has accepted them.
    pub arguments: &'a str,
    /// The context of the call.
    pub cx: &'a Context,
}

/// The inside of a layer: the next layer, or the tool.
pub struct Next<'a> {
    inner: &'a dyn ErasedTool,
    call: Invocation<'a>,
    /// The arguments in the parameters of the next layer, or of the tool.
    arguments: &'a str,
    first: Option<CallFuture<'a>>,
}

impl<'a> Next<'a> {
    /// Runs the inside with another context, such as one with an earlier deadline. The tool reads the arguments again.
    ///
    /// The context may be that of another call. If either call has ended meanwhile, the tool's function does not begin, as in
    /// [`run`](Self::run).
    pub fn run_with<'b>(&'b mut self, cx: &'b Context) -> CallFuture<'b> {
        // The prepared work uses the old context.
        self.first = None;
        let (inner, arguments) = (self.inner, self.arguments);
        // The context may be that of another call. Whether this call stands is asked when the function begins, too.
        let cx = cx.clone().inside(self.call.cx);
        Box::pin(async move { begin(inner, arguments, &cx).await })
    }

    /// Runs the inside. Each call of this method is another run. A panic in the tool's work becomes an error.
    ///
    /// If the call has ended meanwhile, because it was cancelled or was too late, the tool's function does not begin, and the
    /// result is [`CallError::Cancelled`].
    pub fn run(&mut self) -> CallFuture<'a> {
        let (inner, cx) = (self.inner, self.call.cx);
        match self.first.take() {
            Some(work) => Box::pin(run(start(inner, cx, work))),
            None => begin(inner, self.arguments, cx),
        }
    }
}

fn begin<'a>(tool: &'a dyn ErasedTool, arguments: &'a str, cx: &'a Context) -> CallFuture<'a> {
    // The validators are asked before the function begins, so that it begins at once after the question whether the call stands.
    Box::pin(run(async move {
        let work = accepted_work(tool.prepare(arguments, cx)).await?;
        start(tool, cx, work).await
    }))
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Next").field("call", &self.call).finish_non_exhaustive()
    }
}

/// Two layers, one around the other, as [`Layer::pipe`] returns them.
#[derive(Clone, Debug)]
pub struct Pipe<A, B> {
    inner: Arc<A>,
    outer: Arc<B>,
}

impl<A: Layer, B: Layer> Layer for Pipe<A, B> {
    fn apply(self: Arc<Self>, tool: Arc<dyn ErasedTool>) -> Arc<dyn ErasedTool> {
        let inner = Arc::clone(&self.inner).apply(tool);
        Arc::clone(&self.outer).apply(inner)
    }

    /// Fails, because a pipe must be applied. Only then does each of its layers have its own spec and arguments.
    fn call<'a>(&'a self, call: Invocation<'a>, next: Next<'a>) -> CallFuture<'a> {
        not_applied(call, next)
    }
}

/// Fails because the layers were not applied. Running the inside would silently skip them.
pub(crate) fn not_applied<'a>(_: Invocation<'a>, _: Next<'a>) -> CallFuture<'a> {
    Box::pin(std::future::ready(Err(Failure::hidden(NOT_APPLIED).into())))
}

const NOT_APPLIED: &str = "a pipe of layers was called without being applied; a layer that hands `call` on to another must \
                           hand on `Layer::apply` too";

pub struct Around<L: ?Sized> {
    pub inner: Arc<dyn ErasedTool>,
    pub spec: Arc<ToolSpec>,
    pub layer: Arc<L>,
}

impl<L: Layer + ?Sized> Around<L> {
    /// Creates `tool` inside `layer`. The tool keeps its name, because a layer could give two tools one name.
    pub fn new(layer: Arc<L>, tool: Arc<dyn ErasedTool>) -> Self {
        let mut spec = layer.spec(tool.spec());
        if spec.name != tool.name() {
            Arc::make_mut(&mut spec).name = tool.name().to_owned();
        }
        Self { inner: tool, spec, layer }
    }

    pub fn invocation<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> Invocation<'a> {
        Invocation { spec: &self.spec, arguments, cx }
    }

    /// Passes an error in reading a call to the layer, which may change it.
    fn translate_errors<T>(&self, read: Result<T, CallError>) -> Result<T, CallError> {
        read.map_err(|error| self.layer.translate_error(&self.spec, error))
    }

    /// Starts a call whose arguments need no translation.
    fn start_as_it_is<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> PrepareFuture<'a> {
        self.inner.prepare(arguments, cx).map(move |started| {
            let AcceptedCall { needs_approval, normalized, touches, work } = self.translate_errors(started)?;
            let settled = normalized.clone();
            // The layer is called when the work is polled, not before: an approval may still be missing.
            let work = Box::pin(async move {
                let arguments = settled.as_deref().unwrap_or(arguments);
                let call = self.invocation(arguments, cx);
                self.layer.call(call, Next { inner: &*self.inner, call, arguments, first: Some(work) }).await
            });
            Ok(AcceptedCall { needs_approval, normalized, touches, work })
        })
    }
}

impl<L: Layer + ?Sized> ErasedTool for Around<L> {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> PrepareFuture<'a> {
        match self.layer.translate_arguments(self.invocation(arguments, cx), self.inner.spec()) {
            Ok(Cow::Borrowed(same)) if ptr::eq(same, arguments) => self.start_as_it_is(arguments, cx),
            Ok(meant) => prepare_translated(self, arguments, meant.into_owned(), cx)
                .map(|started| self.translate_errors(started)),
            Err(error) => PrepareFuture::read(self.translate_errors(Err(error))),
        }
    }

    fn read_external_output(&self, output: &str) -> Result<Output, CallError> {
        self.layer.translate_external_output(&self.spec, self.inner.read_external_output(output)?)
    }

    fn inner_tools(&self) -> &[Arc<dyn ErasedTool>] {
        self.inner.inner_tools()
    }

    /// If the layer changes the arguments, the model writes the layer's parameters, so the tool's hooks do not receive them.
    fn hooks(&self) -> Option<&dyn InputHooks> {
        self.inner.hooks().filter(|_| Arc::ptr_eq(&self.spec.input, &self.inner.spec().input))
    }

    fn is_layer(&self) -> bool {
        true
    }
}

/// Prepares a call of `around` with `arguments`, which are `meant` in the parameters inside.
///
/// The tool reads `meant` once more when the call runs: its prepared work borrows `meant`, which the call owns.
fn prepare_translated<'a, L: Layer + ?Sized>(
    around: &'a Around<L>,
    arguments: &'a str,
    meant: String,
    cx: &'a Context,
) -> PrepareFuture<'a> {
    if let Ok(started) = around.inner.prepare(&meant, cx).now() {
        return PrepareFuture::read(accept_translated(around, arguments, &meant, started, cx));
    }
    // No validator was asked before the caller waits for the answers.
    PrepareFuture::asking(async move {
        let started = around.inner.prepare(&meant, cx).await;
        accept_translated(around, arguments, &meant, started, cx)
    })
}

/// Returns the tool's answer to `meant` as the answer of `around` to `arguments`.
fn accept_translated<'a, L: Layer + ?Sized>(
    around: &'a Around<L>,
    arguments: &'a str,
    meant: &str,
    started: Result<AcceptedCall<'_>, CallError>,
    cx: &'a Context,
) -> Result<AcceptedCall<'a>, CallError> {
    let AcceptedCall { needs_approval, normalized: changed, touches, work: _ } = started?;
    let restored = |changed: &str| restore(around, arguments, meant, changed, cx);
    let normalized = changed.as_deref().map(restored).transpose()?;
    let (settled, meant) = (normalized.clone(), changed.unwrap_or_else(|| meant.into()));
    let work = Box::pin(async move {
        let call = around.invocation(settled.as_deref().unwrap_or(arguments), cx);
        around.layer.call(call, Next { inner: &*around.inner, call, arguments: &meant, first: None }).await
    });
    Ok(AcceptedCall { needs_approval, normalized, touches, work })
}

/// Returns arguments in the layer's parameters that translate to `changed`.
fn restore<L: Layer + ?Sized>(
    around: &Around<L>,
    arguments: &str,
    meant: &str,
    changed: &str,
    cx: &Context,
) -> Result<Box<str>, CallError> {
    let restored = around.layer.restore(around.invocation(arguments, cx), meant, changed);
    let restored = restored.filter(|restored| {
        let means = around.layer.translate_arguments(around.invocation(restored, cx), around.inner.spec());
        means.is_ok_and(|means| json::is_same_value(&means, changed))
    });
    restored.map(Box::from).ok_or_else(|| {
        let text = format!("the tool read the arguments as {changed}, which the layer's parameters cannot express");
        let cause = "a layer that changes arguments around a tool that normalises them implements `Layer::restore`";
        Rejection::from_message(text).with_causes([cause.to_owned()]).into()
    })
}

/// Returns `given` with the changes from `meant` to `changed`, for parameters that have the same value in `given` and `meant`.
/// Adds parameters that neither has. Returns `None` if another parameter changed.
pub(crate) fn carry_over(given: &str, meant: &str, changed: &str) -> Option<String> {
    let (mut given, meant, changed) =
        (text::last_entries(given)?, text::last_entries(meant)?, text::last_entries(changed)?);
    let places: HashMap<String, usize> = given.iter().map(|(name, _)| name.clone()).zip(0..).collect();
    let mut meant: HashMap<String, String> = meant.into_iter().collect();
    for (name, value) in changed {
        let before = meant.remove(&name);
        if before.as_ref().is_some_and(|before| json::is_same_value(before, &value)) {
            continue;
        }
        match (before, places.get(&name)) {
            (Some(before), Some(index)) if json::is_same_value(&before, &given[*index].1) => given[*index].1 = value,
            (None, None) => given.push((name, value)),
            _ => return None,
        }
    }
    // If `changed` lacks an entry of `meant`, it cannot be removed from `given`, which may express it otherwise.
    meant.is_empty().then(|| text::write_object(&given))
}
