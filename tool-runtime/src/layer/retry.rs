//! Retries of failed calls.

use std::time::Duration;

use crate::tool::{CallError, CallFuture, Effect};
use crate::toolset::{Invocation, Layer, Next};

/// A layer that retries a call after a temporary failure: a failure marked [`retryable`](crate::Failure::retryable), or a time
/// limit further inside. Only read-only or idempotent tools are tried again.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    more: u32,
    wait: Duration,
}

impl Retry {
    /// Creates a layer with up to `more` tries after the first, 100 ms, 200 ms, 400 ms, … apart.
    pub fn new(more: u32) -> Self {
        Self { more, wait: Duration::from_millis(100) }
    }

    /// Sets the wait before the second try. It doubles with each further one.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }
}

impl Layer for Retry {
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        let harmless = call.spec.options.idempotent || call.spec.options.effect == Effect::ReadOnly;
        Box::pin(async move {
            let mut wait = self.wait;
            let mut left = if harmless { self.more } else { 0 };
            loop {
                let result = next.run().await;
                if left == 0 || !result.as_ref().is_err_and(may_pass) {
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

/// Returns whether the same call may succeed later.
pub(super) fn may_pass(error: &CallError) -> bool {
    match error {
        CallError::Failed(failure) => failure.is_retryable(),
        CallError::TimedOut { .. } => true,
        _ => false,
    }
}
