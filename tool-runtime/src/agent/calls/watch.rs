//! The watch over calls that hold their executor: such a call stops every other task of its thread.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use crate::sync::lock;

/// The time from which on one poll of a call is worth a warning.
const LONG_POLL: Duration = Duration::from_millis(200);

/// The polls of a call.
#[derive(Default)]
pub struct Polls(Mutex<PollTimes>);

#[derive(Default)]
struct PollTimes {
    longest: Duration,
    /// The beginning of the present poll.
    since: Option<Instant>,
}

impl Polls {
    /// Returns the warning for the operator if a poll took long, or has been going on for long.
    pub fn warning(&self) -> Option<String> {
        let polls = lock(&self.0);
        let present = polls.since.map(|since| since.elapsed()).unwrap_or_default();
        let longest = polls.longest.max(present);
        (longest >= LONG_POLL).then(|| {
            let seconds = longest.as_secs_f64();
            format!(
                "the call held its executor for {seconds:.1} s, and other tasks waited: declare the tool `blocking`, and let \
                 layers await"
            )
        })
    }

    pub fn begin(&self) {
        lock(&self.0).since = Some(Instant::now());
    }

    pub fn end(&self) {
        let mut polls = lock(&self.0);
        let present = polls.since.take().map(|since| since.elapsed()).unwrap_or_default();
        polls.longest = polls.longest.max(present);
    }
}
