//! The way inwards.

use std::fmt;

use super::Invocation;
use crate::tool::{CallFuture, Context, DynTool};
use crate::toolset::dispatch::{accepted, run};

/// What lies inside a layer: the next layer, or the tool.
pub struct Next<'a> {
    pub(super) inner: &'a dyn DynTool,
    pub(super) call: Invocation<'a>,
    /// What the arguments mean inside.
    pub(super) arguments: &'a str,
    pub(super) first: Option<CallFuture<'a>>,
}

impl<'a> Next<'a> {
    /// Runs what lies inside with another context, such as one with an earlier deadline. The arguments are read again for
    /// it.
    pub fn run_with<'b>(&'b mut self, cx: &'b Context) -> CallFuture<'b> {
        // What was prepared looks at the context of before.
        self.first = None;
        begin(self.inner, self.arguments, cx)
    }

    /// Runs what lies inside. Each call of this method is another run. A panic in there is an error here.
    pub fn run(&mut self) -> CallFuture<'a> {
        match self.first.take() {
            Some(work) => Box::pin(run(work)),
            None => begin(self.inner, self.arguments, self.call.cx),
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
