//! Calls that run, each on a task of its own.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use tokio::{task::JoinHandle, time::Instant};

use super::journal::{CallJournal, Reply};
use crate::tool::Answer;
use crate::tool::{CallError, Cancellation, Output};
use crate::toolset::{Prepared, panicked};

/// A call's task that came to its end.
pub struct Ended {
    pub(super) journal: Arc<CallJournal>,
    pub(super) outcome: Result<Output, CallError>,
}

/// A call that runs, or waits in the middle of its work. Dropped, it is given up.
pub struct Live {
    journal: Arc<CallJournal>,
    /// The start of the call with which its task began.
    first: u32,
    stop: Cancellation,
    task: JoinHandle<()>,
    limit: Option<Box<TimeLimit>>,
    /// The way of the answer that it waits for.
    reply: Option<Reply<Answer>>,
}

/// The time that a call has.
pub struct TimeLimit {
    all: Duration,
    end: Option<Instant>,
    /// The rest at the time when it asked.
    left: Duration,
}

impl TimeLimit {
    /// So much time from `since` on. One beyond what the clock can hold is none.
    pub fn new(all: Duration, since: Instant) -> Option<Box<Self>> {
        let end = since.checked_add(all)?;
        Some(Box::new(Self { all, end: Some(end), left: all }))
    }

    pub fn end(&self) -> Option<Instant> {
        self.end
    }
}

impl Live {
    pub fn new(
        journal: Arc<CallJournal>,
        first: u32,
        stop: Cancellation,
        task: JoinHandle<()>,
        limit: Option<Box<TimeLimit>>,
    ) -> Self {
        Self { journal, first, stop, task, limit, reply: None }
    }

    pub fn has(&self, journal: &Arc<CallJournal>) -> bool {
        Arc::ptr_eq(&self.journal, journal)
    }

    /// Lets the tool wait for an answer; its time stands still.
    pub fn pause(&mut self, reply: Reply<Answer>) {
        self.reply = Some(reply);
        if let Some(limit) = &mut self.limit {
            let end = limit.end.take();
            limit.left = end.map(|end| end.saturating_duration_since(Instant::now())).unwrap_or_default();
        }
    }

    /// Returns whether the tool waits for an answer.
    pub fn waits(&self) -> bool {
        self.reply.is_some()
    }

    /// Gives the tool the answer that it waits for. Returns whether it does wait.
    pub fn answer(&mut self, attempt: u32, answer: Answer) -> bool {
        let Some(reply) = self.reply.take() else { return false };
        self.journal.resume(attempt);
        if let Some(limit) = &mut self.limit {
            limit.end = Some(Instant::now() + limit.left);
        }
        let _ = reply.send(Ok(answer));
        true
    }

    /// Returns whether the task has gone through this start of the call.
    pub fn is_of(&self, attempt: u32) -> bool {
        (self.first..=self.attempt()).contains(&attempt)
    }

    /// Returns which start of the call it is.
    pub fn attempt(&self) -> u32 {
        self.journal.attempt()
    }

    /// Returns when its time is over.
    pub fn deadline(&self) -> Option<Instant> {
        self.limit.as_ref()?.end
    }

    /// Returns all of its time.
    pub fn limit(&self) -> Duration {
        self.limit.as_ref().map(|limit| limit.all).unwrap_or_default()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.journal.close();
        self.stop.cancel();
        self.task.abort();
    }
}

/// Starts a task: where it may block its thread, on one of its own.
pub fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static, blocking: bool) -> JoinHandle<T> {
    if blocking {
        let handle = tokio::runtime::Handle::current();
        tokio::task::spawn_blocking(move || handle.block_on(work))
    } else {
        tokio::spawn(work)
    }
}

/// Returns how long a call waits that failed before: not followed by the next attempt at once.
pub fn retry_wait(retries: u32) -> Duration {
    if retries == 0 { Duration::ZERO } else { Duration::from_millis(50) * 2u32.saturating_pow(retries.min(10) - 1) }
}

/// The task of a call that was read.
pub fn run(prepared: Prepared, journal: Arc<CallJournal>) -> impl Future<Output = ()> + Send {
    ending(prepared.run(), journal)
}

/// The task of a call that was read and accepted before, maybe in another process, or that failed before.
pub fn run_again(prepared: Prepared, journal: Arc<CallJournal>, wait: Duration) -> impl Future<Output = ()> + Send {
    // Boxed, so that calls that do not wait are small.
    let wait = (!wait.is_zero()).then(|| Box::pin(tokio::time::sleep(wait)));
    let work = async move {
        if let Some(wait) = wait {
            wait.await;
        }
        prepared.run_again().await
    };
    ending(work, journal)
}

/// Reports how `work` ends. What the tool left is dropped where its panic is still the call's.
fn ending(
    work: impl Future<Output = Result<Output, CallError>> + Send,
    journal: Arc<CallJournal>,
) -> impl Future<Output = ()> + Send {
    let mut ending = Ending(Some(journal));
    // Combined, and not one block around the other, which would hold everything twice.
    AssertUnwindSafe(work)
        .catch_unwind()
        .map(move |outcome| ending.report(outcome.unwrap_or_else(|panic| Err(panicked(panic)))))
}

/// Reports the end of a call, even if its task comes to none.
struct Ending(Option<Arc<CallJournal>>);

impl Ending {
    fn report(&mut self, outcome: Result<Output, CallError>) {
        if let Some(journal) = self.0.take() {
            CallJournal::end(journal, outcome);
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.report(Err(CallError::Panicked { message: "the call's task was dropped".to_owned() }));
    }
}
