//! Calls that run, each on a task of its own.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::{
    task::{AbortHandle, JoinError},
    time::Instant,
};

use super::{Driver, journal::CallJournal, journal::Reply, now, tell::tell};
use crate::agent::Event as Told;
use crate::run::{Answer, CallId, Event, Stage};
use crate::tool::{CallError, Cancellation, Output, Started};
use crate::toolset::run;

/// What came of a call's task.
pub(super) struct Worked {
    call: CallId,
    attempt: Arc<AtomicU32>,
    outcome: Result<Output, CallError>,
}

/// A call that runs, or waits in the middle of its work.
pub(super) struct Live {
    attempt: Arc<AtomicU32>,
    stop: Cancellation,
    task: AbortHandle,
    limit: Option<Duration>,
    pub(super) deadline: Option<Instant>,
    /// The time it had left when it asked.
    left: Option<Duration>,
    /// Where the answer goes that it waits for.
    reply: Option<Reply<Answer>>,
}

impl Live {
    /// The tool waits for an answer; its time stands still.
    pub(super) fn pause(&mut self, reply: Reply<Answer>) {
        self.reply = Some(reply);
        self.left = self.deadline.take().map(|deadline| deadline.saturating_duration_since(Instant::now()));
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.stop.cancel();
        self.task.abort();
    }
}

impl Driver<'_> {
    /// Starts a call, or lets it go on with the answer that it waits for.
    pub(super) fn execute(&mut self, id: CallId, attempt: u32) {
        let Some(call) = self.kept.run.call(&id).filter(|call| call.stage() == Stage::Running) else { return };
        if let Some(live) = self.live.get_mut(&id)
            && let (Some(reply), Some(answered)) = (live.reply.take(), call.answers().last())
        {
            live.attempt.store(attempt, Ordering::SeqCst);
            live.deadline = live.left.take().map(|left| Instant::now() + left);
            let _ = reply.send(Ok(answered.answer.clone()));
            return;
        }
        let Some(tool) = self.inspector.tools().get(&call.name) else { return };
        let traits = &tool.spec().traits;
        let (limit, blocking) = (traits.timeout, traits.blocking);
        // A failed attempt is not followed by the next at once.
        let wait =
            (call.retries > 0).then(|| Duration::from_millis(50) * 2u32.saturating_pow(call.retries.min(10) - 1));
        let wait = wait.unwrap_or_default();
        let deadline = limit.map(|limit| Instant::now() + wait + limit);
        let stop = Cancellation::new();
        let attempt = Arc::new(AtomicU32::new(attempt));
        let journal = CallJournal::new(call, Arc::clone(&attempt), self.asked.0.clone());
        let front = Arc::clone(&self.agent.front);
        let mut cx = self
            .context(&id)
            .with_cancellation(stop.clone())
            .with_journal(Arc::new(journal))
            .with_progress(move |progress| tell(&*front, Told::CallProgress(&progress)));
        if let Some(deadline) = deadline {
            cx = cx.with_deadline(deadline.into_std());
        }
        let (tools, name, arguments) =
            (self.inspector.tools().clone(), call.name.clone(), Arc::clone(&call.arguments().text));
        let worked = (id.clone(), Arc::clone(&attempt));
        let work = async move {
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            let outcome = match tools.start(&name, &arguments, &cx) {
                Ok(Started { work, .. }) => run(work).await,
                Err(error) => Err(error),
            };
            let (call, attempt) = worked;
            Worked { call, attempt, outcome }
        };
        let task = if blocking {
            let handle = tokio::runtime::Handle::current();
            self.jobs.spawn_blocking(move || handle.block_on(work))
        } else {
            self.jobs.spawn(work)
        };
        let live = Live { attempt, stop, task, limit, deadline, left: None, reply: None };
        self.live.insert(id, live);
    }

    /// A call's task came to its end.
    pub(super) fn joined(&mut self, joined: Result<Worked, JoinError>) {
        match joined {
            Ok(worked) => self.worked(worked),
            Err(error) if error.is_panic() => {
                // Not in the tool, whose panics are outcomes: in what it left behind when it was dropped.
                let broken = self.live.iter().find(|(_, live)| live.task.id() == error.id()).map(|(id, _)| id.clone());
                let Some((id, live)) = broken.and_then(|id| self.live.remove_entry(&id)) else { return };
                let outcome = Err(CallError::Panicked { message: error.to_string() });
                self.end(id, live.attempt.load(Ordering::SeqCst), outcome);
            }
            // Aborted: its call has ended already.
            Err(_) => {}
        }
    }

    fn worked(&mut self, worked: Worked) {
        let Worked { call, attempt, outcome } = worked;
        // A task that was given up may still end; the call's next start has another counter.
        if self.live.get(&call).is_some_and(|live| Arc::ptr_eq(&live.attempt, &attempt)) {
            self.live.remove(&call);
            self.end(call, attempt.load(Ordering::SeqCst), outcome);
        }
    }

    fn end(&mut self, call: CallId, attempt: u32, outcome: Result<Output, CallError>) {
        if let Err(error) = &outcome {
            self.details.insert(call.clone(), error.for_log());
        }
        self.feed_late(Event::Ended { call, attempt, outcome, at: now() });
    }

    /// Stops waiting for calls whose time is over, whether or not they cooperate.
    pub(super) fn end_overdue(&mut self) {
        let time = Instant::now();
        let is_over = |live: &Live| live.deadline.is_some_and(|deadline| deadline <= time);
        let over: Vec<CallId> = self.live.iter().filter(|(_, live)| is_over(live)).map(|(id, _)| id.clone()).collect();
        for id in over {
            let Some(live) = self.live.remove(&id) else { continue };
            let limit = live.limit.unwrap_or_default();
            self.end(id, live.attempt.load(Ordering::SeqCst), Err(CallError::TimedOut { limit }));
        }
    }

    /// Lets go of a call.
    pub(super) fn abort(&mut self, id: &CallId) {
        self.live.remove(id);
    }
}
