//! The first thing that cannot be undone, and the end of a run that nobody follows any more.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use futures_util::future::BoxFuture;

use super::Driver;
use crate::agent::AgentError;
use crate::run::{Effect, Event, Stage};

/// The condition of the first thing that cannot be undone.
pub(in crate::agent) struct Commit(Mutex<BoxFuture<'static, Result<(), AgentError>>>);

impl Commit {
    pub(in crate::agent) fn new(commit: impl Future<Output = Result<(), AgentError>> + Send + 'static) -> Self {
        Self(Mutex::new(Box::pin(commit)))
    }
}

impl fmt::Debug for Commit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Commit")
    }
}

impl Driver<'_> {
    /// Meets the condition of what comes next, if that cannot be undone: a call starts, or the model is asked. It comes
    /// before the log is kept, so that nothing is in the store that was not done.
    pub(super) async fn commit(&mut self) -> Result<(), AgentError> {
        let acts = |effect: &Effect| match effect {
            Effect::Execute { .. } => true,
            Effect::CallModel => !self.holds,
            _ => false,
        };
        if self.kept.commit.is_none() || !self.effects.iter().any(acts) {
            return Ok(());
        }
        match self.kept.commit.take() {
            Some(Commit(commit)) => commit.into_inner().unwrap_or_else(PoisonError::into_inner).await,
            None => Ok(()),
        }
    }

    /// Calls the run off when nobody follows it and nothing is left that somebody has decided about. Returns whether anything
    /// has changed.
    pub(super) async fn leave(&mut self) -> Result<bool, AgentError> {
        if !self.kept.handle.has_left() || self.has_decided_work() {
            return Ok(false);
        }
        // A decision that is in the store by now comes first.
        if self.refresh().await? {
            return Ok(true);
        }
        let by = self.kept.run.owner().clone();
        self.feed(Event::Cancel { by, at: self.now() })?;
        // By itself: where somebody decides at this moment, `rebase` forgets it, and it is looked at anew.
        self.is_leaving = true;
        let kept = self.keep().await;
        self.is_leaving = false;
        kept.map(|()| true)
    }

    /// Returns whether a call is to run, or runs, about which somebody has decided.
    fn has_decided_work(&self) -> bool {
        let is_work = |stage| matches!(stage, Stage::Ready | Stage::Running);
        self.kept.run.current().iter().any(|call| is_work(call.stage()) && call.is_decided_about())
    }
}
