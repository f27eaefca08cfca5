//! A limit on the time of a call.

use std::time::Duration;

use crate::tool::{CallError, CallFuture};
use crate::toolset::{Invocation, Layer, Next};

/// Ends a call that takes too long with [`CallError::TimedOut`]; its work is dropped.
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
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            let timeout = tokio::time::timeout(self.limit, next.run()).await;
            timeout.unwrap_or(Err(CallError::TimedOut { limit: self.limit }))
        })
    }
}
