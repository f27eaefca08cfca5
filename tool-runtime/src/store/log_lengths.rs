//! The lengths of logs as a process knows them.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use event_listener::Event;

use crate::run::RunId;
use crate::sync::lock;

/// The length of a log, and the event of its change.
#[derive(Debug, Default)]
pub struct LogLength {
    rev: AtomicU64,
    changed: Event,
}

impl LogLength {
    pub(super) fn new(rev: u64) -> Self {
        Self { rev: AtomicU64::new(rev), changed: Event::new() }
    }

    pub(super) fn set(&self, rev: u64) {
        self.rev.store(rev, Ordering::SeqCst);
        self.changed.notify(usize::MAX);
    }

    /// Waits until the log has more than `known` entries, and returns their number. It is [`u64::MAX`] after the run was deleted.
    pub async fn wait_for_more_than(self: Arc<Self>, known: u64) -> u64 {
        loop {
            // Listens before it loads the length, so that it misses no change in between.
            let changed = self.changed.listen();
            let rev = self.rev.load(Ordering::SeqCst);
            if rev > known {
                return rev;
            }
            changed.await;
        }
    }
}

/// The lengths of the logs that the sessions of a process use, for a [`Keeper`](super::Keeper) whose engine does not notify.
/// The process reports its own appends here. The keeper waits for these reports, and reads the log at intervals for other
/// appends.
#[derive(Debug, Default)]
pub struct LogLengths(Mutex<HashMap<RunId, Arc<LogLength>>>);

impl LogLengths {
    /// Returns the length of the log of `run`. A new length is 0 until the next report: earlier reports are not kept.
    pub fn of(&self, run: &RunId) -> Arc<LogLength> {
        let mut all = lock(&self.0);
        if !all.contains_key(run) {
            // The lengths of logs that no session uses any more are forgotten here.
            all.retain(|_, length| Arc::strong_count(length) > 1);
        }
        Arc::clone(all.entry(run.clone()).or_default())
    }

    /// Reports that the log of `run` has `length` entries; [`u64::MAX`] if it was deleted.
    pub fn report(&self, run: &RunId, length: u64) {
        let mut all = lock(&self.0);
        // A new run with this id gets a new length.
        let known = if length == u64::MAX { all.remove(run) } else { all.get(run).cloned() };
        if let Some(known) = known {
            known.set(length);
        }
    }
}
