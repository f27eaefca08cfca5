//! What stands around the tools of a set: logging, limits, retries, and whatever an application needs.

use std::{fmt, sync::Arc};

use super::dispatch::{accepted, run};
use crate::tool::{CallError, CallFuture, Context, DynTool, Output, Started, Starting, ToolSpec};

/// Code around the calls of a toolset.
///
/// A layer is run after the arguments were accepted and a needed approval was given, so it never sees a call that does not
/// run. It calls [`Next::run`] once, not at all, or (for retries) several times.
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
pub trait Layer: Send + Sync + 'static {
    /// Runs a call.
    fn call<'a>(&'a self, call: Invocation<'a>, next: Next<'a>) -> CallFuture<'a>;

    /// Changes what is known about a tool, but for its name. The default changes nothing.
    fn spec(&self, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        Arc::clone(spec)
    }
}

impl<L: Layer + ?Sized> Layer for Arc<L> {
    fn call<'a>(&'a self, call: Invocation<'a>, next: Next<'a>) -> CallFuture<'a> {
        (**self).call(call, next)
    }

    fn spec(&self, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        (**self).spec(spec)
    }
}

/// A call on its way through the layers.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Invocation<'a> {
    /// What is known about the tool.
    pub spec: &'a Arc<ToolSpec>,
    /// The arguments, accepted by the tool.
    pub arguments: &'a str,
    /// What the tool may know about the call.
    pub cx: &'a Context,
}

/// What lies inside a layer: the next layer, or the tool.
pub struct Next<'a> {
    inner: &'a dyn DynTool,
    call: Invocation<'a>,
    first: Option<CallFuture<'a>>,
}

impl<'a> Next<'a> {
    /// Runs what lies inside with another context, such as one with an earlier deadline. The arguments are read again for
    /// it.
    pub fn run_with<'b>(&'b mut self, cx: &'b Context) -> CallFuture<'b> {
        // What was prepared looks at the context of before.
        self.first = None;
        begin(self.inner, self.call.arguments, cx)
    }

    /// Runs what lies inside. Each call of this method is another run. A panic in there is an error here.
    pub fn run(&mut self) -> CallFuture<'a> {
        match self.first.take() {
            Some(work) => Box::pin(run(work)),
            None => begin(self.inner, self.call.arguments, self.call.cx),
        }
    }
}

fn begin<'a>(tool: &'a dyn DynTool, arguments: &'a str, cx: &'a Context) -> CallFuture<'a> {
    Box::pin(run(accepted(tool.start(arguments, cx))))
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Next").field("call", &self.call).finish_non_exhaustive()
    }
}

/// `tool` inside `layer`, under its own name: a layer that gave names could give one twice.
pub(super) fn wrap(tool: &Arc<dyn DynTool>, layer: &Arc<dyn Layer>) -> Arc<dyn DynTool> {
    let mut spec = layer.spec(tool.spec());
    if spec.name != tool.name() {
        spec = Arc::new(ToolSpec { name: tool.name().to_owned(), ..ToolSpec::clone(&spec) });
    }
    Arc::new(Layered { inner: Arc::clone(tool), spec, layer: Arc::clone(layer) })
}

struct Layered {
    inner: Arc<dyn DynTool>,
    layer: Arc<dyn Layer>,
    spec: Arc<ToolSpec>,
}

impl DynTool for Layered {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn start<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> Starting<'a> {
        self.inner.start(arguments, cx).then(move |started| {
            let Started { needs_approval, normalized, work } = started;
            let settled = normalized.clone();
            // The layer is asked when the work is polled, not before: an approval may still be missing.
            let work = Box::pin(async move {
                let call = Invocation { spec: &self.spec, arguments: settled.as_deref().unwrap_or(arguments), cx };
                let next = Next { inner: &*self.inner, call, first: Some(work) };
                self.layer.call(call, next).await
            });
            Ok(Started { needs_approval, normalized, work })
        })
    }

    fn answer(&self, output: &str) -> Result<Output, CallError> {
        self.inner.answer(output)
    }
}
