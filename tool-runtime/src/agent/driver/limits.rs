//! The time that a run and its steps may take.

use std::time::Duration;

use tokio::time::Instant;

use super::Driver;
use crate::run::{Event, Phase, StopReason};

/// Time that passes only while something is done.
#[derive(Default)]
pub(super) struct Countdown {
    left: Option<Duration>,
    end: Option<Instant>,
}

impl Countdown {
    pub(super) fn restart(&mut self, all: Option<Duration>) {
        *self = Self { left: all, end: None };
    }

    fn go_on(&mut self) {
        if self.end.is_none() {
            self.end = self.left.map(|left| Instant::now() + left);
        }
    }

    fn stand_still(&mut self) {
        if let Some(end) = self.end.take() {
            self.left = Some(end.saturating_duration_since(Instant::now()));
        }
    }

    fn is_over(&self) -> bool {
        self.end.is_some_and(|end| end <= Instant::now())
    }
}

/// The time that is left.
#[derive(Default)]
pub(super) struct Clocks {
    run: Countdown,
    step: Countdown,
}

impl Driver<'_> {
    /// A prompt has all the time again.
    pub(super) fn restart_run_clock(&mut self) {
        self.clocks.run.restart(self.run_time());
    }

    pub(super) fn restart_step_clock(&mut self) {
        self.clocks.step.restart(self.agent.knobs.timeouts.step);
    }

    /// When the first of them is over, unless only a person could go on: then they stand still.
    pub(super) fn clocks_end(&mut self) -> Option<Instant> {
        let is_suspended = self.kept.run.phase() == Phase::Suspended;
        let clocks = [&mut self.clocks.run, &mut self.clocks.step];
        let ends = clocks.into_iter().filter_map(|clock| {
            if is_suspended {
                clock.stand_still();
            } else {
                clock.go_on();
            }
            clock.end
        });
        ends.min()
    }

    /// Ends what is over its time.
    pub(super) fn end_clocks(&mut self) {
        let too_long = |what: &str, time: Option<Duration>| {
            let seconds = time.unwrap_or_default().as_secs_f64();
            Some(StopReason::TimedOut(format!("{what} took more than {seconds} s")))
        };
        let reason = if self.clocks.run.is_over() {
            too_long("the run", self.run_time())
        } else if self.clocks.step.is_over() {
            too_long("a step", self.agent.knobs.timeouts.step)
        } else {
            None
        };
        if let Some(reason) = reason {
            self.clocks = Clocks::default();
            self.feed_late(Event::Stop { reason, at: self.now() });
        }
    }

    fn run_time(&self) -> Option<Duration> {
        self.kept.run.options().limits.time.map(Duration::from_millis)
    }
}
