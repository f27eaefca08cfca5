//! A limit on calls at a time.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::tool::{CallError, CallFuture, DynTool};
use crate::toolset::{Invocation, Layer, Next};

/// Lets so many calls of the set, or of each of its tools, run at a time; the others wait in the order in which they came.
/// Clones share the limit, and so do all runs that use the set.
///
/// A call that waits here has been started as far as its run is concerned: its time limit runs, and it counts as one of those
/// [in flight](crate::run::Limits::in_flight).
#[derive(Clone, Debug)]
pub struct ConcurrencyLimit {
    calls: usize,
    /// Without one, each tool has its own.
    free: Option<Arc<Semaphore>>,
}

impl ConcurrencyLimit {
    /// A limit of `calls` of all tools together at a time; at least one.
    pub fn new(calls: usize) -> Self {
        let calls = calls.clamp(1, Semaphore::MAX_PERMITS);
        Self { calls, free: Some(Arc::new(Semaphore::new(calls))) }
    }

    /// A limit of `calls` of each tool at a time; at least one.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use tool_runtime::{layer::ConcurrencyLimit, tool, toolset};
    ///
    /// /// Convert a video.
    /// #[tool(idempotent)]
    /// async fn convert(path: String) {}
    ///
    /// /// Look at a file.
    /// #[tool(effect = read_only)]
    /// async fn look(path: String) {}
    ///
    /// // Two conversions at a time, and as many looks as there are.
    /// let tools = toolset!(convert).layer(ConcurrencyLimit::each(2)).merge(toolset!(look))?;
    /// # drop(tools);
    /// # }
    /// # Ok::<(), tool_runtime::toolset::NameError>(())
    /// ```
    pub fn each(calls: usize) -> Self {
        Self { free: None, ..Self::new(calls) }
    }
}

impl Layer for ConcurrencyLimit {
    fn apply(self: Arc<Self>, tool: Arc<dyn DynTool>) -> Arc<dyn DynTool> {
        let free = self.free.clone().unwrap_or_else(|| Arc::new(Semaphore::new(self.calls)));
        Arc::new(Limited(free)).apply(tool)
    }
}

struct Limited(Arc<Semaphore>);

impl Layer for Limited {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            // Nobody closes the semaphore.
            let _permit = self.0.acquire().await.map_err(|_| CallError::Cancelled)?;
            next.run().await
        })
    }
}
