//! A call that runs without a run, with its time limit and its panics kept inside.

use std::{
    future::{pending, poll_fn},
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{Arc, LazyLock},
    task::Poll,
    time::Duration,
};

use futures_util::FutureExt as _;
use tokio::time::Instant;

use super::{LateJournal, task::Task};
use crate::agent::{Agent, Front};
use crate::message::ToolCall;
use crate::run::{CallId, CallResult};
use crate::tool::{CallError, Cancellation, Context, Output};
use crate::toolset::{Toolset, panicked};

/// The id of the only call of a run.
static ID: LazyLock<CallId> = LazyLock::new(|| CallId::from("call_1"));

/// A call that has no run.
pub(super) struct Single {
    underway: Underway,
    /// Says that nobody wants it any more.
    cancelled: Cancellation,
    /// The time that it has, and when that is over.
    limit: Option<(Duration, Instant)>,
}

/// A call that goes on, in whatever it belongs to. Dropped, it is given up.
pub(in crate::agent) struct Underway {
    task: Task<Ran>,
    pub(in crate::agent) stop: Cancellation,
    pub(in crate::agent) journal: Arc<LateJournal>,
    pub(in crate::agent) since: Instant,
}

/// What came of a call's task.
enum Ran {
    /// Somebody has to be asked about the arguments; nothing of the tool has run.
    Unread,
    /// The arguments were refused; the tool did not run.
    Refused(CallError),
    Worked(Result<Output, CallError>),
}

/// How a call stopped to be one without a run.
pub(super) enum Stopped {
    Ended {
        result: CallResult,
        may_have_run: bool,
    },
    Cancelled,
    /// It needs a run to be read; nothing has run.
    Unread,
    /// It needs a run to go on.
    Asks(Underway),
}

impl Single {
    /// Starts a call; none, where it needs a run.
    pub(super) fn start(
        agent: &Agent,
        call: &Arc<ToolCall>,
        context: impl FnOnce() -> Context,
        front: &Arc<dyn Front>,
    ) -> Option<Self> {
        let (at, tool) = agent.tools.find(&call.name).filter(|(_, tool)| agent.makes_plain_calls(&***tool))?;
        if agent.options.limits.too_large(&call.arguments).is_some() {
            return None;
        }
        let traits = &tool.spec().traits;
        let since = Instant::now();
        // A limit beyond what the clock can hold is none.
        let limit = traits.timeout.and_then(|limit| Some((limit, since.checked_add(limit)?)));
        let (id, stop) = (ID.clone(), Cancellation::new());
        let journal = LateJournal::new(id.clone(), Arc::clone(front));
        let context = context();
        let cancelled = context.cancellation().clone();
        let context = context.with_shared_messages(agent.opening(at, &call.name));
        let context = if context.taint().is_empty() { context } else { context.with_taint([]) };
        let mut cx = context.into_call(id.shared(), stop.clone(), Arc::clone(&journal) as _);
        if let Some((_, end)) = limit {
            cx = cx.with_deadline(end.into_std());
        }
        let work = work(agent.tools.clone(), Arc::clone(call), cx);
        // Its time is to be over whatever the tool does.
        let task = Task::new(work, limit.is_some(), traits.blocking);
        let underway = Underway { task, stop, journal, since };
        Some(Self { underway, cancelled, limit })
    }

    /// How the call stopped, if it did without waiting: many tools do not wait for anything, and then nobody has to listen for
    /// what may come meanwhile.
    pub(super) async fn at_once(&mut self) -> Option<Stopped> {
        if self.cancelled.is_cancelled() {
            return Some(Stopped::Cancelled);
        }
        match poll_fn(|cx| Poll::Ready(Pin::new(&mut self.underway.task).poll(cx))).await {
            Poll::Ready(ran) => Some(Stopped::of(ran)),
            Poll::Pending => None,
        }
    }

    /// Waits until the call has ended, is cancelled, is over its time, or needs a run.
    pub(super) async fn waited(self) -> Stopped {
        let Self { mut underway, cancelled, limit } = self;
        let Underway { task, journal, .. } = &mut underway;
        let late = async {
            match limit {
                Some((limit, end)) => {
                    tokio::time::sleep_until(end).await;
                    limit
                }
                None => pending().await,
            }
        };
        let ran = tokio::select! {
            biased;
            () = cancelled.cancelled() => return Stopped::Cancelled,
            ran = task => ran,
            () = journal.needs_run() => return Stopped::Asks(underway),
            limit = late => Some(Ran::Worked(Err(CallError::TimedOut { limit }))),
        };
        Stopped::of(ran)
    }
}

impl Stopped {
    /// What a task came to; `None` where it was dropped.
    fn of(ran: Option<Ran>) -> Self {
        let (result, may_have_run) = match ran {
            Some(Ran::Unread) => return Self::Unread,
            Some(Ran::Refused(error)) => (CallResult::refused(error), false),
            Some(Ran::Worked(outcome)) => (CallResult::of(outcome), true),
            None => (CallResult::of(Err(dropped())), true),
        };
        Self::Ended { result, may_have_run }
    }
}

impl Underway {
    /// What comes of the tool, whatever it belongs to meanwhile.
    pub(in crate::agent) async fn outcome(mut self) -> Result<Output, CallError> {
        match (&mut self.task).await {
            Some(Ran::Worked(outcome)) => outcome,
            // It has asked, so it was read.
            Some(Ran::Unread | Ran::Refused(_)) | None => Err(dropped()),
        }
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.journal.close();
        self.stop.cancel();
    }
}

fn dropped() -> CallError {
    CallError::Panicked { message: "the call's task was dropped".to_owned() }
}

/// The task of a call. What the tool left is dropped where its panic is still the call's.
fn work(tools: Toolset, call: Arc<ToolCall>, cx: Context) -> impl Future<Output = Ran> + Send {
    let work = async move {
        match tools.start(&call.name, &call.arguments, &cx).now() {
            Ok(Ok(started)) if !started.needs_approval && started.normalized.is_none() => {
                Ran::Worked(started.work.await)
            }
            Ok(Err(error)) => Ran::Refused(error),
            Ok(Ok(_)) | Err(_) => Ran::Unread,
        }
    };
    AssertUnwindSafe(work).catch_unwind().map(|ran| ran.unwrap_or_else(|panic| Ran::Worked(Err(panicked(panic)))))
}
