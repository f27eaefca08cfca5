//! The journal of a call that has no run, until it needs one.

use std::{
    any::Any,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::Notify;

use crate::agent::{
    Front,
    driver::{CallJournal, room, tell_progress},
};
use crate::run::{Answer, CallId, Question};
use crate::tool::{Failure, Journal, Progress};

/// The journal of a call that has no run. What has to be kept waits until the call has one; from then on this is that run's.
pub(in crate::agent) struct LateJournal {
    call: CallId,
    front: Arc<dyn Front>,
    /// Whether nobody hears it any more.
    closed: Mutex<bool>,
    /// Says that a run is needed.
    needed: Notify,
    run: OnceLock<Arc<CallJournal>>,
    /// Says that it is there.
    found: Notify,
    /// For what goes on longer than a borrow.
    this: Weak<Self>,
}

impl LateJournal {
    pub(super) fn new(call: CallId, front: Arc<dyn Front>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            call,
            front,
            closed: Mutex::new(false),
            needed: Notify::new(),
            run: OnceLock::new(),
            found: Notify::new(),
            this: Weak::clone(this),
        })
    }

    /// Waits until the call needs a run.
    pub(super) async fn needs_run(&self) {
        self.needed.notified().await;
    }

    /// Says that the call has ended: what its tool still reports is not told, and nobody is asked any more.
    pub(super) fn close(&self) {
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.found.notify_waiters();
    }

    fn is_closed(&self) -> bool {
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the call of `journal` a run, if it has none yet: what works with the run itself would find nobody.
    pub(in crate::agent) async fn give_run(journal: &dyn Journal) {
        if let Some(late) = journal.as_any().and_then(|journal| journal.downcast_ref::<Self>()) {
            let _ = Self::of_run(Weak::clone(&late.this)).await;
        }
    }

    /// The call belongs to a run from now on.
    pub(in crate::agent) fn join(&self, run: Arc<CallJournal>) {
        let _ = self.run.set(run);
        self.found.notify_waiters();
    }

    /// The journal of the call's run, which it gets for that.
    async fn of_run(this: Weak<Self>) -> Result<Arc<CallJournal>, Failure> {
        let this = this.upgrade().ok_or_else(over)?;
        loop {
            let found = this.found.notified();
            if let Some(run) = this.run.get() {
                return Ok(Arc::clone(run));
            }
            if this.is_closed() {
                return Err(over());
            }
            this.needed.notify_one();
            found.await;
        }
    }
}

impl Journal for LateJournal {
    fn report(&self, progress: Progress) {
        match self.run.get() {
            Some(run) => run.report(progress),
            None => tell_progress(&self.closed, &*self.front, &progress),
        }
    }

    fn room(&self) -> Option<BoxFuture<'_, ()>> {
        room(&*self.front, &self.call)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(match self.run.get() {
            Some(run) => &**run,
            None => self,
        })
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Answer, Failure>> {
        let this = Weak::clone(&self.this);
        Box::pin(async move { Self::of_run(this).await?.ask(question).await })
    }

    /// Nothing was: the call runs for the first time.
    fn recorded(&self, _: &str) -> Option<Value> {
        None
    }

    fn record(&self, name: &str, value: Value) -> BoxFuture<'static, Result<(), Failure>> {
        let (this, name) = (Weak::clone(&self.this), name.to_owned());
        Box::pin(async move { Self::of_run(this).await?.record(&name, value).await })
    }
}

fn over() -> Failure {
    Failure::told("the run does not go on")
}
