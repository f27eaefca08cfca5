//! The right to drive a run, which one worker has at a time.

use super::Driver;
use crate::agent::AgentError;
use crate::run::Time;
use crate::store::StoreError;

impl Driver<'_> {
    /// Makes sure that nobody else drives the run.
    pub(super) async fn take_lease(&mut self) -> Result<(), AgentError> {
        let Some(store) = self.agent.store.clone() else { return Ok(()) };
        let run = self.kept.run.id().clone();
        if let Some(left) = self.kept.lease.take() {
            // Of a future that was dropped. What it had under way must not get into the log any more, so it is not reused.
            store.release(&run, &left).await?;
        }
        if self.kept.stored() == 0 {
            // Nobody else can know of it before it is there.
            self.keep().await?;
        }
        self.kept.lease = Some(store.lease(&run, &self.worker, self.now(), self.agent.lease).await?);
        Ok(())
    }

    /// When the lease is to be prolonged: when half of it is over.
    pub(super) fn prolong_at(&self) -> Option<Time> {
        let half = u64::try_from(self.agent.lease.as_millis() / 2).unwrap_or(u64::MAX);
        self.kept.lease.as_ref().map(|lease| Time(lease.until.0.saturating_sub(half)))
    }

    pub(super) async fn prolong_lease(&mut self) -> Result<(), AgentError> {
        let (Some(lease), Some(store)) = (&self.kept.lease, self.agent.store.clone()) else { return Ok(()) };
        if self.prolong_at().is_some_and(|at| at > self.now()) {
            return Ok(());
        }
        let (run, token) = (self.kept.run.id().clone(), lease.token);
        let lease = store.lease(&run, &self.worker, self.now(), self.agent.lease).await?;
        let is_new = lease.token != token;
        self.kept.lease = Some(lease);
        // In between another worker had it, and declared lost what runs here.
        if is_new { Err(StoreError::Fenced.into()) } else { Ok(()) }
    }

    pub(super) async fn give_lease_back(&mut self) -> Result<(), AgentError> {
        if let (Some(lease), Some(store)) = (self.kept.lease.take(), self.agent.store.clone()) {
            store.release(self.kept.run.id(), &lease).await?;
        }
        Ok(())
    }
}
