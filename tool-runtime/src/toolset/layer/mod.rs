//! What stands around the tools of a set: logging, limits, retries, other parameters, and whatever an application needs.

mod around;
mod next;
mod pipe;
mod translated;

use std::{borrow::Cow, sync::Arc};

pub use next::Next;
#[cfg(feature = "agent")]
pub(crate) use {pipe::not_applied, translated::carried_over};

use around::Around;
use pipe::Pipe;

use crate::tool::{CallError, CallFuture, Context, DynTool, Output, ToolSpec};

/// Code around a tool: around its calls, its parameters, its output and what is known about it.
///
/// [`call`](Self::call) is run after the arguments were accepted and a needed approval was given, so it never sees a call
/// that does not run. It calls [`Next::run`] once, not at all, or (for retries) several times.
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
/// A layer that shows other parameters than the tool has ([`spec`](Self::spec)) says in [`arguments`](Self::arguments) what
/// they mean to the tool. Then everybody outside knows the layer's parameters only: a model writes them, a policy and a person
/// see them, an edit gives them, [`Invocation::arguments`] and the run's log have them. They are put into the tool's
/// parameters whenever the call is read, so what was approved is what runs, as long as they mean the same each time.
///
/// Where the tool's validators change such arguments ([`Started::normalized`](crate::tool::Started::normalized)), the layer
/// says how that looks from outside, in [`restore`](Self::restore). It is believed only if it means what the validators said;
/// otherwise the call is refused, as nobody could see what they would approve.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no layer of a toolset",
    label = "`Layer` is not implemented",
    note = "the stock layers are in `tool_runtime::layer`; implement `Layer` for one of your own"
)]
pub trait Layer: Send + Sync + 'static {
    /// Runs a call. The default runs what lies inside.
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        let _ = call;
        next.run()
    }

    /// Changes what is known about a tool, but for its name. The default changes nothing.
    fn spec(&self, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        Arc::clone(spec)
    }

    /// What the arguments of a call mean to the tool inside, of which `inner` is what is known. The default gives them on as
    /// they are, without a copy. It must be quick, and say the same of the same arguments: it is asked whenever a call is
    /// read.
    ///
    /// Fails when they do not fit what [`spec`](Self::spec) shows; nobody has checked that before.
    fn arguments<'a>(&self, call: Invocation<'a>, inner: &ToolSpec) -> Result<Cow<'a, str>, CallError> {
        let _ = inner;
        Ok(Cow::Borrowed(call.arguments))
    }

    /// How it looks from outside that validators made `changed` of `meant`, which is what the layer has made of the
    /// arguments of `call`: arguments that mean `changed`. `None` where that cannot be said.
    ///
    /// The default takes over the changes of those parameters that the layer gave on as they were.
    fn restore(&self, call: Invocation<'_>, meant: &str, changed: &str) -> Option<String> {
        translated::carried_over(call.arguments, meant, changed)
    }

    /// Changes what is told of arguments that were refused inside: by this layer's [`arguments`](Self::arguments), the tool
    /// or its validators. The default changes nothing.
    fn refused(&self, spec: &ToolSpec, error: CallError) -> CallError {
        let _ = spec;
        error
    }

    /// Changes what somebody outside has answered to a call of an external tool. The default changes nothing.
    ///
    /// Fails when it is no answer.
    fn answered(&self, spec: &ToolSpec, output: Output) -> Result<Output, CallError> {
        let _ = spec;
        Ok(output)
    }

    /// `tool` inside this layer, under its own name.
    ///
    /// The same layer may be applied to many tools, and what it remembers is then shared by them. A layer that wants to
    /// remember something for each of them makes a new one here:
    ///
    /// ```
    /// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
    /// use tool_runtime::{CallFuture, CallError, tool::DynTool, toolset::{Invocation, Layer, Next}};
    ///
    /// /// Lets each tool be called so many times.
    /// struct Calls(usize);
    ///
    /// struct CallsOfOne(AtomicUsize);
    ///
    /// impl Layer for Calls {
    ///     fn apply(self: Arc<Self>, tool: Arc<dyn DynTool>) -> Arc<dyn DynTool> {
    ///         Arc::new(CallsOfOne(self.0.into())).apply(tool)
    ///     }
    /// }
    ///
    /// impl Layer for CallsOfOne {
    ///     fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
    ///         Box::pin(async move {
    ///             let left = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    ///             let over = |_| CallError::OverBudget { limit: "this tool was called often enough".into() };
    ///             left.map_err(over)?;
    ///             next.run().await
    ///         })
    ///     }
    /// }
    /// ```
    ///
    /// A layer that holds another and hands `call` on to it must hand this on too.
    fn apply(self: Arc<Self>, tool: Arc<dyn DynTool>) -> Arc<dyn DynTool> {
        Arc::new(Around::new(self, tool))
    }

    /// This layer, and `outer` around it: the first of a chain is the innermost, the last the outermost, and
    /// `a.pipe(b.pipe(c))` is `a.pipe(b).pipe(c)`.
    ///
    /// ```
    /// # #[cfg(feature = "agent")] {
    /// use tool_runtime::{layer::{Log, Secrets}, toolset::Layer};
    ///
    /// let both = Secrets::new(["hunter2"]).pipe(Log::new(|entry| println!("{entry}"))); // logs what is left
    /// # let _ = both;
    /// # }
    /// ```
    fn pipe<L: Layer>(self, outer: L) -> Pipe<Self, L>
    where
        Self: Sized,
    {
        Pipe::new(self, outer)
    }
}

impl<L: Layer + ?Sized> Layer for Arc<L> {
    fn call<'a>(&'a self, call: Invocation<'a>, next: Next<'a>) -> CallFuture<'a> {
        (**self).call(call, next)
    }

    fn spec(&self, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        (**self).spec(spec)
    }

    fn arguments<'a>(&self, call: Invocation<'a>, inner: &ToolSpec) -> Result<Cow<'a, str>, CallError> {
        (**self).arguments(call, inner)
    }

    fn restore(&self, call: Invocation<'_>, meant: &str, changed: &str) -> Option<String> {
        (**self).restore(call, meant, changed)
    }

    fn refused(&self, spec: &ToolSpec, error: CallError) -> CallError {
        (**self).refused(spec, error)
    }

    fn answered(&self, spec: &ToolSpec, output: Output) -> Result<Output, CallError> {
        (**self).answered(spec, output)
    }

    fn apply(self: Arc<Self>, tool: Arc<dyn DynTool>) -> Arc<dyn DynTool> {
        Arc::clone(&*self).apply(tool)
    }
}

/// A call on its way through the layers.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Invocation<'a> {
    /// What is known about the tool, as this layer shows it.
    pub spec: &'a Arc<ToolSpec>,
    /// The arguments, in the layer's parameters; accepted by the tool where it runs.
    pub arguments: &'a str,
    /// What the tool may know about the call.
    pub cx: &'a Context,
}
