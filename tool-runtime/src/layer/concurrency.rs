//! A limit on calls at a time.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::tool::{CallError, CallFuture};
use crate::toolset::{Invocation, Layer, Next};

/// Lets so many calls of the set run at a time; the others wait in the order in which they came. Clones share the limit.
#[derive(Clone, Debug)]
pub struct ConcurrencyLimit {
    free: Arc<Semaphore>,
}

impl ConcurrencyLimit {
    /// A limit of `calls` at a time; at least one.
    pub fn new(calls: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(calls.clamp(1, Semaphore::MAX_PERMITS))) }
    }
}

impl Layer for ConcurrencyLimit {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            // Nobody closes the semaphore.
            let _permit = self.free.acquire().await.map_err(|_| CallError::Cancelled)?;
            next.run().await
        })
    }
}
