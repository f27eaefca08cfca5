//! Calls that run, each on a task of its own.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_util::FutureExt as _;
use tokio::{task::JoinHandle, time::Instant};

use super::{
    Driver,
    journal::{CallJournal, Reply},
    trace,
};
use crate::agent::single::Underway;
use crate::run::{Answer, CallId, Event, Stage, Time};
use crate::tool::{CallError, Cancellation, Context, DynTool, Output};
use crate::toolset::{accepted, panicked};

/// What came of a call's task.
pub(super) struct Worked {
    cell: Arc<CallJournal>,
    outcome: Result<Output, CallError>,
}

/// A call that runs, or waits in the middle of its work.
pub(super) struct Live {
    cell: Arc<CallJournal>,
    /// The start of the call with which its task began.
    first: u32,
    stop: Cancellation,
    task: JoinHandle<()>,
    limit: Option<Box<Limit>>,
    /// Where the answer goes that it waits for.
    reply: Option<Reply<Answer>>,
}

/// The time that a call has.
struct Limit {
    all: Duration,
    end: Option<Instant>,
    /// What was left when it asked.
    left: Duration,
}

impl Limit {
    /// So much time from `since` on. One beyond what the clock can hold is none.
    fn new(all: Duration, since: Instant) -> Option<Box<Self>> {
        let end = since.checked_add(all)?;
        Some(Box::new(Self { all, end: Some(end), left: all }))
    }
}

impl Live {
    /// A call that was under way before it had a run.
    fn joined(underway: Underway, journal: CallJournal, limit: Option<Duration>) -> Self {
        let cell = Arc::new(journal);
        underway.journal.join(Arc::clone(&cell));
        let limit = limit.and_then(|all| Limit::new(all, underway.since));
        let (stop, mut ending) = (underway.stop.clone(), Ending(Some(Arc::clone(&cell))));
        let task = tokio::spawn(async move { ending.tell(underway.outcome().await) });
        Self { first: cell.attempt(), cell, stop, task, limit, reply: None }
    }

    /// The tool waits for an answer; its time stands still.
    pub(super) fn pause(&mut self, reply: Reply<Answer>) {
        self.reply = Some(reply);
        if let Some(limit) = &mut self.limit {
            let end = limit.end.take();
            limit.left = end.map(|end| end.saturating_duration_since(Instant::now())).unwrap_or_default();
        }
    }

    /// Whether the tool waits for an answer.
    pub(super) fn waits(&self) -> bool {
        self.reply.is_some()
    }

    /// Whether the task has gone through this start of the call.
    pub(super) fn is_of(&self, attempt: u32) -> bool {
        (self.first..=self.attempt()).contains(&attempt)
    }

    /// Which start of the call it is.
    pub(super) fn attempt(&self) -> u32 {
        self.cell.attempt()
    }

    /// When its time is over.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.limit.as_ref()?.end
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.cell.close();
        self.stop.cancel();
        self.task.abort();
    }
}

impl Driver<'_> {
    /// Starts a call, or lets it go on with the answer that it waits for. `last` is where the call was that was started last.
    pub(super) fn execute(&mut self, id: CallId, attempt: u32, last: &mut usize) {
        let call = self.kept.run.call_behind(last, &id).filter(|call| call.stage() == Stage::Running);
        let Some(call) = call else { return };
        if let Some(answered) = call.answers().last()
            && let Some(live) = self.live.get_mut(&id)
            && let Some(reply) = live.reply.take()
        {
            live.cell.attempt.store(attempt, Ordering::SeqCst);
            if let Some(limit) = &mut live.limit {
                limit.end = Some(Instant::now() + limit.left);
            }
            let _ = reply.send(Ok(answered.answer.clone()));
            self.take_held(&id);
            return;
        }
        let Some(tool) = self.inspector.tools().get(&call.name) else { return };
        let (limit, blocking) = (tool.spec().traits.timeout, tool.spec().traits.blocking);
        if let Some(underway) = self.underway.take() {
            let journal = CallJournal::new(call, attempt, Arc::clone(&self.ties), None);
            self.live.insert(id, Live::joined(underway, journal, limit));
            return;
        }
        let wait = wait(call.retries);
        let limit = limit.and_then(|all| Limit::new(all, Instant::now().checked_add(wait)?));
        let stop = Cancellation::new();
        let journal = CallJournal::new(call, attempt, Arc::clone(&self.ties), self.outer(&**tool));
        let cell = Arc::new(journal);
        let mut cx = self.tainted(self.turn_context.of_call(id.shared(), stop.clone(), Arc::clone(&cell) as _));
        if call.is_revised() {
            cx = cx.revised();
        }
        if let Some(end) = limit.as_ref().and_then(|limit| limit.end) {
            cx = cx.with_deadline(end.into_std());
        }
        let work = work(Arc::clone(tool), Arc::clone(&call.arguments().text), cx, Arc::clone(&cell), wait);
        #[cfg_attr(not(feature = "tracing"), allow(clippy::unit_arg, reason = "without traces a span is nothing"))]
        let task = trace::spawn(self.trace.started(call, tool.spec()), work, blocking);
        self.live.insert(id, Live { cell, first: attempt, stop, task, limit, reply: None });
    }

    /// A call's task came to its end.
    pub(super) fn worked(&mut self, worked: Worked, at: Time) {
        let Worked { cell, outcome } = worked;
        let Some((id, live)) = self.live.remove_entry(&cell.call) else { return };
        if Arc::ptr_eq(&live.cell, &cell) {
            self.end(id, cell.attempt(), outcome, at);
        } else {
            // A task that was given up ended after all; the call's next start has another journal.
            self.live.insert(id, live);
        }
    }

    fn end(&mut self, call: CallId, attempt: u32, outcome: Result<Output, CallError>, at: Time) {
        self.trace.ended(&call, &outcome);
        if let Err(error) = &outcome {
            self.details.insert(call.clone(), error.for_log());
        }
        self.feed_late(Event::Ended { call, attempt, outcome, at });
    }

    /// Stops waiting for calls whose time is over, whether or not they cooperate.
    pub(super) fn end_overdue(&mut self) {
        let time = Instant::now();
        let is_over = |live: &Live| live.deadline().is_some_and(|deadline| deadline <= time);
        let over: Vec<CallId> = self.live.iter().filter(|(_, live)| is_over(live)).map(|(id, _)| id.clone()).collect();
        for id in over {
            let Some(live) = self.live.remove(&id) else { continue };
            let limit = live.limit.as_ref().map(|limit| limit.all).unwrap_or_default();
            self.end(id, live.cell.attempt(), Err(CallError::TimedOut { limit }), self.now());
        }
    }

    /// Lets go of a call.
    pub(super) fn abort(&mut self, id: &CallId) {
        self.trace.aborted(id);
        self.live.remove(id);
    }
}

/// Starts a task: where it may block its thread, on one of its own.
pub(in crate::agent) fn spawn<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
    blocking: bool,
) -> JoinHandle<T> {
    if blocking {
        let handle = tokio::runtime::Handle::current();
        tokio::task::spawn_blocking(move || handle.block_on(work))
    } else {
        tokio::spawn(work)
    }
}

/// How long a call waits that failed before: not followed by the next attempt at once.
fn wait(retries: u32) -> Duration {
    if retries == 0 { Duration::ZERO } else { Duration::from_millis(50) * 2u32.saturating_pow(retries.min(10) - 1) }
}

/// The task of a call. Its driver hears of its end by a message, which costs less time and memory than a `JoinSet`. What the
/// tool left is dropped where its panic is still the call's.
fn work(
    tool: Arc<dyn DynTool>,
    arguments: Arc<str>,
    cx: Context,
    cell: Arc<CallJournal>,
    wait: Duration,
) -> impl Future<Output = ()> + Send {
    // Boxed, so that calls that do not wait are small.
    let wait = (!wait.is_zero()).then(|| Box::pin(tokio::time::sleep(wait)));
    let mut ending = Ending(Some(cell));
    let work = async move {
        if let Some(wait) = wait {
            wait.await;
        }
        accepted(tool.start(&arguments, &cx)).await
    };
    // Combined, and not one block around the other, which would hold everything twice.
    AssertUnwindSafe(work)
        .catch_unwind()
        .map(move |outcome| ending.tell(outcome.unwrap_or_else(|panic| Err(panicked(panic)))))
}

/// Tells the driver of the end of a call, even if its task came to none.
struct Ending(Option<Arc<CallJournal>>);

impl Ending {
    fn tell(&mut self, outcome: Result<Output, CallError>) {
        let Some(cell) = self.0.take() else { return };
        let ties = Arc::clone(&cell.ties);
        // The run may not be driven any more.
        let _ = ties.worked.send(Worked { cell, outcome });
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.tell(Err(CallError::Panicked { message: "the call's task was dropped".to_owned() }));
    }
}
