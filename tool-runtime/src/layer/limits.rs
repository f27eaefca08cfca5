//! Limits on calls: their number at a time, their rate, and the duration of each.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    sync::{Mutex as Turn, Semaphore},
    time::Instant,
};

use crate::sync::lock;
use crate::tool::{CallError, CallFuture, ErasedTool};
use crate::toolset::{Invocation, Layer, Next};

/// A layer that limits how many calls of the set, or of each of its tools, run at a time. The others wait in the order of their
/// arrival. Clones share the limit, and so do all runs that use the set.
///
/// For its run, a call that waits here has started: its time limit runs, and it counts for
/// [`Limits::parallel_calls`](crate::run::Limits::parallel_calls).
#[derive(Clone, Debug)]
pub struct ConcurrencyLimit {
    calls: usize,
    /// The free places of all tools together. Without it, each tool has its own.
    free: Option<Arc<Semaphore>>,
}

impl ConcurrencyLimit {
    /// Creates a limit of `calls` (at least one) at a time for all tools together.
    pub fn new(calls: usize) -> Self {
        let calls = calls.clamp(1, Semaphore::MAX_PERMITS);
        Self { calls, free: Some(Arc::new(Semaphore::new(calls))) }
    }

    /// Creates a limit of `calls` (at least one) at a time for each tool.
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
    /// # Ok::<(), tool_runtime::toolset::ToolsetError>(())
    /// ```
    pub fn each(calls: usize) -> Self {
        Self { free: None, ..Self::new(calls) }
    }
}

impl Layer for ConcurrencyLimit {
    fn apply(self: Arc<Self>, tool: Arc<dyn ErasedTool>) -> Arc<dyn ErasedTool> {
        let free = self.free.clone().unwrap_or_else(|| Arc::new(Semaphore::new(self.calls)));
        Arc::new(Limited(free)).apply(tool)
    }
}

struct Limited(Arc<Semaphore>);

impl Layer for Limited {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            // The semaphore is never closed.
            let _permit = self.0.acquire().await.map_err(|_| CallError::Cancelled)?;
            next.run().await
        })
    }
}

/// A duration longer than any program runs: 100 years.
const EVER: Duration = Duration::from_hours(100 * 365 * 24);

/// A layer that limits how many calls of the set start in a period. Further calls wait, or are refused. Clones share the limit.
#[derive(Clone, Debug)]
pub struct RateLimit {
    calls: usize,
    per: Duration,
    refuse: bool,
    /// The start times of the last calls: at most `calls` of them, oldest first.
    starts: Arc<Mutex<VecDeque<Instant>>>,
    /// The lock that orders the waiting calls. A call that is dropped while it waits passes its turn to the next.
    turn: Arc<Turn<()>>,
}

impl RateLimit {
    /// Creates a limit of `calls` (at least one) in any period of length `per`. All of them may come at once.
    pub fn new(calls: u32, per: Duration) -> Self {
        let calls = usize::try_from(calls).unwrap_or(usize::MAX).max(1);
        Self { calls, per: per.min(EVER), refuse: false, starts: Arc::default(), turn: Arc::default() }
    }

    /// Refuses a call over the limit with [`CallError::LimitReached`], instead of letting it wait.
    pub fn refuse(mut self) -> Self {
        self.refuse = true;
        self
    }

    /// Starts a call now, or fails with the time at which the next one may start.
    fn start(&self) -> Result<(), Instant> {
        let now = Instant::now();
        let mut starts = lock(&self.starts);
        while starts.front().is_some_and(|start| *start + self.per <= now) {
            starts.pop_front();
        }
        if starts.len() >= self.calls {
            return Err(starts[0] + self.per);
        }
        starts.push_back(now);
        Ok(())
    }

    async fn wait(&self) {
        let _turn = self.turn.lock().await;
        while let Err(free) = self.start() {
            tokio::time::sleep_until(free).await;
        }
    }
}

impl Layer for RateLimit {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            if !self.refuse {
                self.wait().await;
            } else if self.start().is_err() {
                let limit = format!("at most {} calls in {} s", self.calls, self.per.as_secs_f64());
                return Err(CallError::LimitReached { limit });
            }
            next.run().await
        })
    }
}

/// A layer that ends a call that takes too long with [`CallError::TimedOut`], and drops its work. The tool sees the time limit as
/// [`Context::deadline`](crate::Context::deadline).
///
/// Work that blocks its thread cannot be dropped: declare such tools `blocking`, and let an agent run them.
#[derive(Clone, Copy, Debug)]
pub struct Timeout {
    limit: Duration,
}

impl Timeout {
    /// Creates a limit for each run of the inside.
    pub fn new(limit: Duration) -> Self {
        Self { limit }
    }
}

impl Layer for Timeout {
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            // A limit beyond the range of the clock is no limit.
            let Some(deadline) = Instant::now().checked_add(self.limit) else { return next.run().await };
            let cx = call.cx.clone().with_deadline(deadline.into_std());
            let timeout = tokio::time::timeout_at(deadline, next.run_with(&cx)).await;
            timeout.unwrap_or(Err(CallError::TimedOut { limit: self.limit }))
        })
    }
}
