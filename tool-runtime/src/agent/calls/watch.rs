//! The watch over calls that hold their executor: such a call stops every other task of its thread.

use std::{
    future::poll_fn,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use super::CallJournal;
use crate::sync::lock;
use crate::tool::{CallError, CallFuture, Output};

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
            format!("the tool held its executor for {seconds:.1} s, and other tasks waited: declare it `blocking`")
        })
    }

    fn begin(&self) {
        lock(&self.0).since = Some(Instant::now());
    }

    fn end(&self) {
        let mut polls = lock(&self.0);
        let present = polls.since.take().map(|since| since.elapsed()).unwrap_or_default();
        polls.longest = polls.longest.max(present);
    }
}

/// Runs a call, and records how long its polls take.
pub async fn watched(mut work: CallFuture<'static>, journal: Arc<CallJournal>) -> Result<Output, CallError> {
    poll_fn(move |task| {
        journal.polls.begin();
        let polled = work.as_mut().poll(task);
        journal.polls.end();
        polled
    })
    .await
}
