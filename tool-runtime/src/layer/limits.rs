//! Limits on calls: their number at a time, their rate, and the duration of each.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{
    by_key::{ByKey, CallKey, MAX_KEYS, key_settings},
    queue::{Places, Queue},
};
use crate::tool::{CallError, CallFuture, ErasedTool};
use crate::toolset::{Invocation, Layer, Next};

/// A layer that limits how many calls of the set, or of each of its tools, run at a time. The others wait. Clones share the
/// limit, and so do all runs that use the set.
///
/// The limit is one for all principals, because it protects the service behind the tools. The principals that wait take turns,
/// so a principal with many waiting calls does not delay the first call of another one. The calls of one principal keep their
/// order. [`by_principal`](Self::by_principal) and [`key`](Self::key) set other limits.
///
/// For its run, a call that waits here has started, and counts for [`Limits::parallel_calls`](crate::run::Limits::parallel_calls).
/// Its function has not begun, so the time limit of its tool does not count yet;
/// [`Timeouts::start`](crate::agent::Timeouts::start) limits the wait.
#[derive(Clone, Debug)]
pub struct ConcurrencyLimit {
    calls: usize,
    key: CallKey,
    /// The places of all tools together. Without them, each tool has its own.
    shared: Option<Arc<ByKey<Queue<Running>>>>,
}

/// The calls that run.
struct Running {
    now: usize,
    most: usize,
}

impl Places for Running {
    fn take(&mut self, _: u64) -> Result<(), Option<Instant>> {
        if self.now >= self.most {
            return Err(None);
        }
        self.now += 1;
        Ok(())
    }

    fn give_back(&mut self, _: u64) {
        self.now -= 1;
    }
}

impl ConcurrencyLimit {
    /// Creates a limit of `calls` (at least one) at a time for all tools together.
    pub fn new(calls: usize) -> Self {
        let calls = calls.max(1);
        Self { calls, key: CallKey::All, shared: Some(Arc::new(places(calls))) }
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
        Self { shared: None, ..Self::new(calls) }
    }
}

key_settings!(ConcurrencyLimit: "Limits", "share a limit", by_principal);

fn places(calls: usize) -> ByKey<Queue<Running>> {
    ByKey::new(MAX_KEYS, move || Queue::new(Running { now: 0, most: calls }))
}

impl Layer for ConcurrencyLimit {
    fn apply(self: Arc<Self>, tool: Arc<dyn ErasedTool>) -> Arc<dyn ErasedTool> {
        let places = self.shared.clone().unwrap_or_else(|| Arc::new(places(self.calls)));
        Arc::new(Limited { key: self.key.clone(), places }).apply(tool)
    }
}

struct Limited {
    key: CallKey,
    places: Arc<ByKey<Queue<Running>>>,
}

impl Layer for Limited {
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            let _place = self.key.state(&call, &self.places).enter(call.cx.principal()).await;
            next.run().await
        })
    }
}

/// A duration longer than any program runs: 100 years.
const EVER: Duration = Duration::from_hours(100 * 365 * 24);

/// A layer that limits how many calls of the set start in a period. Further calls wait, or are refused. Clones share the limit.
///
/// The limit is one for all principals, because it protects the service behind the tools. The principals that wait take turns,
/// so a principal with many waiting calls does not delay the first call of another one. The calls of one principal keep their
/// order. [`by_principal`](Self::by_principal) and [`key`](Self::key) set other limits. A call that is dropped while it waits
/// uses nothing up.
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::layer::RateLimit;
///
/// let of_the_service = RateLimit::new(1_000, Duration::from_secs(60));
/// let of_each_person = RateLimit::new(20, Duration::from_secs(60)).by_principal().refuse();
/// let of_each_tool = RateLimit::new(100, Duration::from_secs(60)).key(|call| Some(call.spec.name.clone()));
/// # let _ = (of_the_service, of_each_person, of_each_tool);
/// ```
#[derive(Clone, Debug)]
pub struct RateLimit {
    calls: usize,
    per: Duration,
    refuse: bool,
    key: CallKey,
    places: Arc<ByKey<Queue<Starts>>>,
}

/// The starts of the last calls: at most `most` of them, oldest first.
struct Starts {
    last: VecDeque<(Instant, u64)>,
    most: usize,
    per: Duration,
}

impl Starts {
    /// Returns whether a call has started in the last period.
    fn has_recent(&self) -> bool {
        self.last.back().is_some_and(|(start, _)| *start + self.per > Instant::now())
    }
}

impl Places for Starts {
    fn take(&mut self, ticket: u64) -> Result<(), Option<Instant>> {
        let now = Instant::now();
        while self.last.front().is_some_and(|(start, _)| *start + self.per <= now) {
            self.last.pop_front();
        }
        match self.last.front() {
            Some((first, _)) if self.last.len() >= self.most => Err(Some(*first + self.per)),
            _ => {
                self.last.push_back((now, ticket));
                Ok(())
            }
        }
    }

    fn give_back(&mut self, ticket: u64) {
        self.last.retain(|(_, start)| *start != ticket);
    }
}

impl RateLimit {
    /// Creates a limit of `calls` (at least one) in any period of length `per`. All of them may come at once.
    pub fn new(calls: u32, per: Duration) -> Self {
        let (calls, per) = (usize::try_from(calls).unwrap_or(usize::MAX).max(1), per.min(EVER));
        let starts = move || Queue::new(Starts { last: VecDeque::new(), most: calls, per });
        let places = ByKey::new(MAX_KEYS, starts).keep_while(|queue| queue.look(Starts::has_recent));
        Self { calls, per, refuse: false, key: CallKey::All, places: Arc::new(places) }
    }

    /// Refuses a call over the limit with [`CallError::LimitReached`], instead of letting it wait.
    pub fn refuse(mut self) -> Self {
        self.refuse = true;
        self
    }
}

key_settings!(RateLimit: "Limits", "share a limit", by_principal);

impl Layer for RateLimit {
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            let queue = self.key.state(&call, &self.places);
            let place = if self.refuse { queue.try_enter() } else { Some(queue.enter(call.cx.principal()).await) };
            let Some(place) = place else {
                let noun = if self.calls == 1 { "call" } else { "calls" };
                let limit = format!("at most {} {noun} in {} s", self.calls, self.per.as_secs_f64());
                return Err(CallError::LimitReached { limit });
            };
            place.use_up();
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
