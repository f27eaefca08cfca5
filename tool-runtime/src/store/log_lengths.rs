//! The lengths of logs as a process knows them.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use event_listener::Event;

use crate::run::RunId;
use crate::sync::lock;

/// The length of a log as one keeper knows it, and the event of its change.
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

    /// Waits until a length of more than `known` entries is reported, and returns it. It is [`u64::MAX`] after the run was
    /// deleted.
    ///
    /// Each report ends one wait at most. So a report of a run that was deleted elsewhere cannot end the waits of a later run with
    /// the same id.
    pub async fn wait_for_more_than(self: Arc<Self>, known: u64) -> u64 {
        let rev = self.wait_beyond(known).await;
        let _ = self.rev.compare_exchange(rev, 0, Ordering::SeqCst, Ordering::SeqCst);
        rev
    }

    /// Waits until the length is more than `known`, and returns it.
    pub(super) async fn wait_beyond(&self, known: u64) -> u64 {
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
pub struct LogLengths(Mutex<HashMap<RunId, Vec<Weak<LogLength>>>>);

impl LogLengths {
    /// Returns a new length of the log of `run`, for one keeper. It is 0 until the next report: earlier reports are not kept.
    pub fn of(&self, run: &RunId) -> Arc<LogLength> {
        let mut all = lock(&self.0);
        if !all.contains_key(run) {
            // The lengths of keepers that were dropped are forgotten here.
            all.retain(|_, lengths| lengths.iter().any(|length| length.strong_count() > 0));
        }
        let (length, lengths) = (Arc::<LogLength>::default(), all.entry(run.clone()).or_default());
        lengths.retain(|length| length.strong_count() > 0);
        lengths.push(Arc::downgrade(&length));
        length
    }

    /// Reports that the log of `run` has `length` entries; [`u64::MAX`] if it was deleted.
    pub fn report(&self, run: &RunId, length: u64) {
        let all = lock(&self.0);
        all.get(run).into_iter().flatten().filter_map(Weak::upgrade).for_each(|known| known.set(length));
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_report_ends_one_wait_of_each_keeper() {
        let (lengths, run) = (LogLengths::default(), RunId::from("r"));
        let (one, other) = (lengths.of(&run), lengths.of(&run));
        let wait = |length: &Arc<LogLength>, known| Arc::clone(length).wait_for_more_than(known).now_or_never();
        lengths.report(&run, 7);
        assert_eq!([wait(&one, 7), wait(&one, 3), wait(&one, 3)], [None, Some(7), None]);
        assert_eq!([wait(&other, 3), wait(&other, 3)], [Some(7), None]);
        lengths.report(&run, u64::MAX);
        assert_eq!(wait(&one, 9), Some(u64::MAX));
        // A keeper of a later run with this id does not know the lengths of the earlier one.
        assert_eq!(wait(&lengths.of(&run), 0), None);
    }
}
