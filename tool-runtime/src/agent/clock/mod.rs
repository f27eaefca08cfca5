//! The clock of runs, and their time limits.

#[cfg(feature = "test-util")]
mod fake;

use std::{
    collections::BTreeSet,
    future::pending,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

#[cfg(feature = "test-util")]
use futures_util::FutureExt as _;
use tokio::time::Instant;

use crate::run::{StopReason, Timestamp};

#[cfg(feature = "test-util")]
pub use fake::TestClock;

/// This machine's clock, or one that a test created.
#[derive(Clone, Debug, Default)]
pub struct Source {
    #[cfg(feature = "test-util")]
    made: Option<TestClock>,
}

#[cfg_attr(not(feature = "test-util"), allow(clippy::unused_self, reason = "without a test there is one clock"))]
impl Source {
    #[cfg(feature = "test-util")]
    pub fn made(clock: &TestClock) -> Self {
        Self { made: Some(clock.clone()) }
    }

    pub fn now(&self) -> Timestamp {
        #[cfg(feature = "test-util")]
        if let Some(made) = &self.made {
            return made.now();
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// Returns the instant of a time on this clock, or the present instant if the time has passed.
    pub fn instant(&self, time: Timestamp) -> Instant {
        Instant::now() + Duration::from_millis(time.0.saturating_sub(self.now().0))
    }

    /// Waits until the clock is set forward after this call.
    pub fn moved(&self) -> impl Future<Output = ()> + Send + use<> {
        #[cfg(feature = "test-util")]
        if let Some(made) = &self.made {
            return made.moved().left_future();
        }
        #[cfg(feature = "test-util")]
        return pending().right_future();
        #[cfg(not(feature = "test-util"))]
        pending()
    }
}

/// A time limit that runs only while there is work.
#[derive(Default)]
pub struct Countdown {
    all: Option<Duration>,
    left: Option<Duration>,
    end: Option<Instant>,
}

impl Countdown {
    pub fn restart(&mut self, all: Option<Duration>) {
        *self = Self { all, left: all, end: None };
    }

    fn resume(&mut self) {
        if self.end.is_none() {
            // A time beyond the clock is no limit.
            self.end = self.left.and_then(|left| Instant::now().checked_add(left));
        }
    }

    fn pause(&mut self) {
        if let Some(end) = self.end.take() {
            self.left = Some(end.saturating_duration_since(Instant::now()));
        }
    }

    /// Returns the reason to stop the run if this time is over.
    fn overdue(&self, what: &str) -> Option<StopReason> {
        self.end.filter(|end| *end <= Instant::now())?;
        let seconds = self.all.unwrap_or_default().as_secs_f64();
        Some(StopReason::TimedOut(format!("{what} took more than {seconds} s")))
    }
}

/// The time limits of a run.
#[derive(Default)]
pub struct Clocks {
    pub run: Countdown,
    pub step: Countdown,
    /// The times at which the run's state machine needs an input.
    wakes: BTreeSet<Timestamp>,
}

impl Clocks {
    /// Returns the instant at which the first limit is over. While the run is suspended, the limits are paused.
    pub fn end(&mut self, is_suspended: bool) -> Option<Instant> {
        for clock in [&mut self.run, &mut self.step] {
            if is_suspended {
                clock.pause();
            } else {
                clock.resume();
            }
        }
        self.run.end.into_iter().chain(self.step.end).min()
    }

    /// Returns the reason to stop the run if its time or that of its step is over. Then removes both limits.
    pub fn overdue(&mut self) -> Option<StopReason> {
        let reason = self.run.overdue("the run").or_else(|| self.step.overdue("a step"))?;
        self.run.restart(None);
        self.step.restart(None);
        Some(reason)
    }

    pub fn wake_at(&mut self, at: Timestamp) {
        self.wakes.insert(at);
    }

    pub fn first_wake(&self) -> Option<Timestamp> {
        self.wakes.first().copied()
    }

    /// Returns whether one of the wake times has come by `now`, and forgets those that have.
    pub fn has_come(&mut self, now: Timestamp) -> bool {
        if self.first_wake().is_none_or(|at| at > now) {
            return false;
        }
        self.wakes.retain(|at| *at > now);
        true
    }
}
