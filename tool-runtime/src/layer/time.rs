//! A limit on the time of a call.

use std::time::Duration;

use tokio::time::Instant;

use crate::tool::{CallError, CallFuture};
use crate::toolset::{Invocation, Layer, Next};

/// Ends a call that takes too long with [`CallError::TimedOut`]; its work is dropped. The tool sees the end of its time as
/// [`Context::deadline`](crate::Context::deadline).
///
/// Work that blocks its thread cannot be dropped: declare such tools `blocking`, and let an agent run them.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimit {
    limit: Duration,
}

impl TimeLimit {
    /// A limit for each run of what lies inside.
    pub fn new(limit: Duration) -> Self {
        Self { limit }
    }
}

impl Layer for TimeLimit {
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            // A limit beyond what the clock can hold is none.
            let Some(deadline) = Instant::now().checked_add(self.limit) else { return next.run().await };
            let cx = call.cx.clone().with_deadline(deadline.into_std());
            let timeout = tokio::time::timeout_at(deadline, next.run_with(&cx)).await;
            timeout.unwrap_or(Err(CallError::TimedOut { limit: self.limit }))
        })
    }
}
