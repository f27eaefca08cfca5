//! What the driver waits for.

use std::time::Duration;

use tokio::{task::JoinError, time::Instant};

use super::{Asked, Asking, Driver, Live, Person, Worked, look::Looked, now, people::Decided};
use crate::agent::AgentError;
use crate::model::{Delta, ModelError};
use crate::run::{Event, Time};

/// How often a run that waits for somebody is looked up in its store.
const POLL: Duration = Duration::from_millis(200);

/// Something that the driver waited for.
pub(super) enum Happened {
    Worked(Worked),
    Looked(Result<Looked, JoinError>),
    Asked(Asked),
    Delta(Option<Result<Delta, ModelError>>),
    Decided(Decided),
    Time,
    Cancelled,
}

impl Driver<'_> {
    pub(super) async fn next(&mut self) -> Happened {
        let timer = self.timer();
        if !self.was_time && timer.is_some_and(|at| at <= Instant::now()) {
            // First, so that a model that never pauses cannot keep a lease from being prolonged; but not twice in a row, so
            // that a lease that is over at once cannot keep everything else from happening.
            self.was_time = true;
            return Happened::Time;
        }
        self.was_time = false;
        let cancellation = self.agent.context.cancellation().clone();
        tokio::select! {
            biased;
            () = cancellation.cancelled() => Happened::Cancelled,
            Some(worked) = self.worked.recv() => Happened::Worked(worked),
            Some(looked) = self.readings.join_next(), if !self.readings.is_empty() => Happened::Looked(looked),
            Some(asked) = self.asked.recv() => Happened::Asked(asked),
            decided = Person::decided(&mut self.person) => Happened::Decided(decided),
            delta = Asking::next(&mut self.asking) => Happened::Delta(delta),
            () = until(timer) => Happened::Time,
        }
    }

    /// When something is to be looked at again.
    fn timer(&self) -> Option<Instant> {
        let limits = self.live.values().filter_map(Live::deadline);
        let wake = self.wakes.first().map(|at| instant(*at));
        let waits = self.kept.run.obligations().next().is_some();
        let poll = (waits && self.agent.store.is_some()).then(|| self.refreshed + POLL);
        let lease = self.prolong_at().map(instant);
        limits.chain(wake).chain(poll).chain(lease).min()
    }

    pub(super) async fn time_passed(&mut self) -> Result<(), AgentError> {
        // However often this comes, the tasks of the calls get their turn.
        tokio::task::yield_now().await;
        let time = now();
        if self.wakes.first().is_some_and(|at| *at <= time) {
            self.wakes.retain(|at| *at > time);
            self.feed_late(Event::Tick { at: time });
        }
        // What came to its end just in time is not over.
        self.take_worked();
        self.end_overdue();
        self.prolong_lease().await?;
        self.refresh().await?;
        Ok(())
    }

    /// Takes what has ended already.
    pub(super) fn take_worked(&mut self) {
        let at = now();
        while let Ok(worked) = self.worked.try_recv() {
            self.worked(worked, at);
        }
    }
}

/// Waits until then. Without a time there is no timer, which not every runtime has.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// The moment of a time on this machine's clock; now, if it has passed.
fn instant(time: Time) -> Instant {
    Instant::now() + Duration::from_millis(time.0.saturating_sub(now().0))
}
