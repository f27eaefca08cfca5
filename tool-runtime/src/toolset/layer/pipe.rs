//! A layer inside another.

use std::sync::Arc;

use super::{Invocation, Layer, Next};
use crate::tool::{CallFuture, DynTool, Failure};

/// Two layers, one around the other: what [`Layer::pipe`] gives.
#[derive(Clone, Debug)]
pub struct Pipe<A, B> {
    inner: Arc<A>,
    outer: Arc<B>,
}

impl<A, B> Pipe<A, B> {
    pub(super) fn new(inner: A, outer: B) -> Self {
        Self { inner: Arc::new(inner), outer: Arc::new(outer) }
    }
}

impl<A: Layer, B: Layer> Layer for Pipe<A, B> {
    fn apply(self: Arc<Self>, tool: Arc<dyn DynTool>) -> Arc<dyn DynTool> {
        let inner = Arc::clone(&self.inner).apply(tool);
        Arc::clone(&self.outer).apply(inner)
    }

    /// Fails: a pipe is applied. Each of its layers has a spec and arguments of its own then, which a call alone has not.
    fn call<'a>(&'a self, call: Invocation<'a>, next: Next<'a>) -> CallFuture<'a> {
        not_applied(call, next)
    }
}

/// How a call of layers ends that were not applied. Running what lies inside would leave them out, unnoticed.
pub(crate) fn not_applied<'a>(_: Invocation<'a>, _: Next<'a>) -> CallFuture<'a> {
    Box::pin(std::future::ready(Err(Failure::hidden(NOT_APPLIED).into())))
}

const NOT_APPLIED: &str = "a pipe of layers was called without being applied; a layer that hands `call` on to another must \
                           hand on `Layer::apply` too";
