//! A limit on calls in a time.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::tool::{CallError, CallFuture};
use crate::toolset::{Invocation, Layer, Next};

/// Lets so many calls of the set start in a time. More wait for their turn, or are refused. Clones share the limit.
#[derive(Clone, Debug)]
pub struct RateLimit {
    calls: u32,
    per: Duration,
    refuse: bool,
    /// When the allowance will be full again (the generic cell rate algorithm).
    full: Arc<Mutex<Option<Instant>>>,
}

impl RateLimit {
    /// A limit of `calls` (at least one) in any time of length `per`. All of them may come at once.
    pub fn new(calls: u32, per: Duration) -> Self {
        Self { calls: calls.max(1), per, refuse: false, full: Arc::default() }
    }

    /// Refuses a call over the limit with [`CallError::OverBudget`] in place of letting it wait.
    pub fn refuse(mut self) -> Self {
        self.refuse = true;
        self
    }

    /// When the next call may start; takes its place unless it would have to wait and must not.
    fn reserve(&self) -> Option<Instant> {
        let now = Instant::now();
        let each = self.per / self.calls;
        let mut full = self.full.lock().unwrap_or_else(PoisonError::into_inner);
        let after = full.unwrap_or(now).max(now) + each;
        let start = after.checked_sub(self.per).unwrap_or(now).max(now);
        if self.refuse && start > now {
            return None;
        }
        *full = Some(after);
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
