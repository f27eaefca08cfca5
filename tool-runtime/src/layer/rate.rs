//! A limit on calls in a time.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::tool::{CallError, CallFuture};
use crate::toolset::{Invocation, Layer, Next};

/// No program runs this long.
const EVER: Duration = Duration::from_hours(100 * 365 * 24);

/// Lets so many calls of the set start in a time. More wait for their turn, or are refused. Clones share the limit.
#[derive(Clone, Debug)]
pub struct RateLimit {
    calls: usize,
    per: Duration,
    refuse: bool,
    /// When the last calls started, or will: at most `calls` of them, oldest first.
    starts: Arc<Mutex<VecDeque<Instant>>>,
}

impl RateLimit {
    /// A limit of `calls` (at least one) in any time of length `per`. All of them may come at once.
    pub fn new(calls: u32, per: Duration) -> Self {
        let calls = usize::try_from(calls).unwrap_or(usize::MAX).max(1);
        Self { calls, per: per.min(EVER), refuse: false, starts: Arc::default() }
    }

    /// Refuses a call over the limit with [`CallError::OverBudget`] in place of letting it wait.
    pub fn refuse(mut self) -> Self {
        self.refuse = true;
        self
    }

    /// When the next call may start; takes its place unless it would have to wait and must not.
    fn reserve(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut starts = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
        while starts.front().is_some_and(|start| *start + self.per <= now) {
            starts.pop_front();
        }
        let start = if starts.len() < self.calls { now } else { starts[0] + self.per };
        if self.refuse && start > now {
            return None;
        }
        if starts.len() >= self.calls {
            starts.pop_front();
        }
        starts.push_back(start);
        Some(start)
    }
}

impl Layer for RateLimit {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            match self.reserve() {
                Some(start) => tokio::time::sleep_until(start).await,
                None => {
                    let limit = format!("at most {} calls in {} s", self.calls, self.per.as_secs_f64());
                    return Err(CallError::OverBudget { limit });
                }
            }
            next.run().await
        })
    }
}
