//! A limit on calls in a time.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::Mutex as Turn, time::Instant};

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
    /// When the last calls started: at most `calls` of them, oldest first.
    starts: Arc<Mutex<VecDeque<Instant>>>,
    /// Whose turn it is among those that wait. A call that is dropped while it waits gives its turn to the next.
    turn: Arc<Turn<()>>,
}

impl RateLimit {
    /// A limit of `calls` (at least one) in any time of length `per`. All of them may come at once.
    pub fn new(calls: u32, per: Duration) -> Self {
        let calls = usize::try_from(calls).unwrap_or(usize::MAX).max(1);
        Self { calls, per: per.min(EVER), refuse: false, starts: Arc::default(), turn: Arc::default() }
    }

    /// Refuses a call over the limit with [`CallError::OverBudget`] in place of letting it wait.
    pub fn refuse(mut self) -> Self {
        self.refuse = true;
        self
    }

    /// Starts a call now, or tells when the next one may start.
    fn start(&self) -> Result<(), Instant> {
        let now = Instant::now();
        let mut starts = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
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
                return Err(CallError::OverBudget { limit });
            }
            next.run().await
        })
    }
}
