//! More tries for a call that failed.

use std::time::Duration;

use crate::tool::{CallError, CallFuture, Effect};
use crate::toolset::{Invocation, Layer, Next};

/// Tries a call again that failed in a way that may pass: a failure marked [`retryable`](crate::Failure::retryable), or a
/// time limit that lies further inside. Only tools that are read-only or idempotent are tried again.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    more: u32,
    wait: Duration,
}

impl Retry {
    /// Up to `more` tries after the first, 100 ms, 200 ms, 400 ms, … apart.
    pub fn new(more: u32) -> Self {
        Self { more, wait: Duration::from_millis(100) }
    }

    /// Sets the wait before the second try; it doubles with each further one.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }
}

impl Layer for Retry {
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        let harmless = call.spec.traits.idempotent || call.spec.traits.effect == Effect::ReadOnly;
        Box::pin(async move {
            let mut wait = self.wait;
            let mut left = if harmless { self.more } else { 0 };
            loop {
                let result = next.run().await;
                let may_pass = match &result {
                    Err(CallError::Failed(failure)) => failure.is_retryable(),
                    Err(CallError::TimedOut { .. }) => true,
                    _ => false,
                };
                if !may_pass || left == 0 {
                    return result;
                }
                tokio::select! {
                    biased;
                    () = call.cx.cancellation().cancelled() => return result,
                    () = tokio::time::sleep(wait) => {}
                }
                left -= 1;
                wait = wait.saturating_mul(2);
            }
        })
    }
}
