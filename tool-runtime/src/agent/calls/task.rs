//! The task of a call: it polls the call's work, and reports the outcome.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use super::{CallJournal, TaskEnd};
use crate::tool::{CallError, CallFuture, Output};
use crate::toolset::panicked;

/// The work of a call, as a future that reports the outcome. It is small, because each call that waits has one.
pub struct CallTask {
    /// `None` when the work is over.
    work: Option<CallFuture<'static>>,
    // Dropped after the work, also if that panics.
    ending: TaskEndGuard,
}

impl CallTask {
    /// Creates the task of a call. It records in the journal how long its polls take.
    pub fn new(work: CallFuture<'static>, journal: Arc<CallJournal>) -> Self {
        Self { work: Some(work), ending: TaskEndGuard(Some(journal)) }
    }
}

impl Future for CallTask {
    type Output = ();

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<()> {
        let Self { work, ending } = self.get_mut();
        let (Some(running), Some(journal)) = (work.as_mut(), &ending.0) else { return Poll::Ready(()) };
        journal.polls.begin();
        // A work that completes has dropped the tool's values. So a panic of a destructor counts as the call's.
        let polled = catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(task)));
        journal.polls.end();
        let outcome = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(outcome)) => outcome,
            Err(panic) => Err(panicked(panic)),
        };
        *work = None;
        ending.report(|| outcome);
        Poll::Ready(())
    }
}

/// Reports the end of a call, even if its task does not complete.
struct TaskEndGuard(Option<Arc<CallJournal>>);

impl TaskEndGuard {
    fn report(&mut self, outcome: impl FnOnce() -> Result<Output, CallError>) {
        if let Some(journal) = self.0.take() {
            let channels = Arc::clone(&journal.channels);
            channels.reports.send_ended(TaskEnd { journal, outcome: outcome() });
        }
    }
}

impl Drop for TaskEndGuard {
    fn drop(&mut self) {
        self.report(|| Err(CallError::Panicked { message: "the call's task was dropped".to_owned() }));
    }
}
