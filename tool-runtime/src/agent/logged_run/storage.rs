//! The place where the log of a run goes while it is driven.

use std::future::pending;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::leased::LeasedKeeper;
use crate::agent::Agent;
use crate::run::{Run, RunId, Timestamp};
use crate::store::{Append, Keeper, Record, StoreError};
use tool_run::run::{LogEntry, record};

/// The smallest number of entries between two snapshots.
const SNAPSHOT_EVERY: u64 = 200;

/// The stored log of a run. It has no keeper if the agent has no store.
#[derive(Default)]
pub struct Storage {
    /// The keeper of the run. If the future that drives the run is dropped, it stays here, and the next drive releases it.
    keeper: Option<Box<dyn Keeper>>,
    /// The time at which the right to drive must be renewed, on the agent's clock and on that of timers.
    renew: Option<(Timestamp, Option<Instant>)>,
    /// The numbers of entries and bytes since the last snapshot, and the length of that snapshot.
    since: (u64, usize, usize),
}

/// A pending wait for entries of other writers, with the number of known entries and whether an interrupt was open when the wait
/// began. The loop keeps it.
pub type Added = Option<((u64, bool), BoxFuture<'static, ()>)>;

/// Returns the number of the first entries whose text has at most `limit` bytes. The entries of an input stay together.
fn count_fitting(entries: &[LogEntry], begins: &[usize], limit: usize) -> Result<usize, StoreError> {
    let (mut count, mut bytes) = (0, 0);
    for end in begins.iter().copied().filter(|begin| *begin > 0).chain([entries.len()]) {
        bytes += record::encode(&entries[count..end]).len();
        if bytes > limit {
            break;
        }
        count = end;
    }
    if count == 0 { Err(StoreError::TooLarge { bytes, limit }) } else { Ok(count) }
}

impl Storage {
    /// Begins to store `run` where `agent` stores its runs. With `follows`, another worker may have the lease.
    pub fn begin(&mut self, agent: &Agent, run: &RunId, follows: bool) {
        let setup = &agent.setup;
        let keeper = |store| Box::new(LeasedKeeper::new(store, run, setup.lease, follows)) as Box<dyn Keeper>;
        self.keeper = setup.store.as_ref().map(|store| store.keeper(run).unwrap_or_else(|| keeper(store)));
        self.renew = None;
    }

    pub fn has_keeper(&self) -> bool {
        self.keeper.is_some()
    }

    pub fn drives(&self) -> bool {
        self.keeper.as_ref().is_none_or(|keeper| keeper.drives())
    }

    /// Returns whether the drive ends before the next request to the model.
    pub fn ends_drive(&self) -> bool {
        self.keeper.as_ref().is_some_and(|keeper| keeper.ends_drive())
    }

    /// Stores the entries `new` of `run`, or as many of the first as the store takes at once. `begins` has the positions at which
    /// the entries of each input begin. Returns the number of entries that were stored; `None` if another writer has added to the
    /// log before.
    pub async fn append(&mut self, run: &Run, new: &[LogEntry], begins: &[usize]) -> Result<Option<usize>, StoreError> {
        let Some(keeper) = &mut self.keeper else { return Ok(Some(new.len())) };
        let (expected, limit, mut count) = (run.rev() - new.len() as u64, keeper.max_append_bytes(), new.len());
        let mut append = Append::new(expected, new, run, None);
        if append.text.len() > limit {
            count = count_fitting(new, begins, limit)?;
            append = Append::new(expected, &new[..count], run, None);
            // The rest follows. If this process dies before, the run is resumed.
            append.head.is_active = true;
        }
        let bytes = append.text.len();
        match keeper.append(append).await {
            Ok(()) => {
                self.since.0 += count as u64;
                self.since.1 += bytes;
                Ok(Some(count))
            }
            Err(StoreError::Conflict) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the maximum size in bytes of the text of one append.
    pub fn max_append_bytes(&self) -> usize {
        self.keeper.as_ref().map_or(usize::MAX, |keeper| keeper.max_append_bytes())
    }

    /// Loads the run. Returns `None` without a store.
    pub async fn load(&mut self) -> Result<Option<Run>, StoreError> {
        match &mut self.keeper {
            Some(keeper) => Ok(Some(keeper.load().await?)),
            None => Ok(None),
        }
    }

    /// Reads the records after the first `known` entries.
    pub async fn read(&mut self, known: u64) -> Result<Vec<Record>, StoreError> {
        match &mut self.keeper {
            Some(keeper) => keeper.read(known).await,
            None => Ok(Vec::new()),
        }
    }

    /// Waits until the log may have more than `known` entries. If the future is dropped, the wait goes on in `added`.
    pub async fn added(&mut self, known: u64, asks: bool, added: &mut Added) {
        let Some(keeper) = &mut self.keeper else { return pending().await };
        added.take_if(|(began, _)| *began != (known, asks));
        added.get_or_insert_with(|| ((known, asks), keeper.wait(known, asks))).1.as_mut().await;
        *added = None;
    }

    /// Stores a snapshot if the log has grown by [`SNAPSHOT_EVERY`] entries and by the length of the last snapshot. So the cost
    /// of all snapshots does not grow faster than the log.
    pub async fn save_snapshot(&mut self, run: &Run) -> Result<(), StoreError> {
        let (entries, bytes, last) = self.since;
        let Some(keeper) = self.keeper.as_mut().filter(|_| entries >= SNAPSHOT_EVERY && bytes >= last) else {
            return Ok(());
        };
        let text = run.freeze();
        self.since = (0, 0, text.len());
        keeper.save_snapshot(run.rev(), text).await
    }

    /// Acquires the right to drive the run, or renews it in time.
    ///
    /// Fails if another process had this right in between, or has it and the keeper does not follow.
    pub async fn renew(&mut self, now: Timestamp) -> Result<(), StoreError> {
        let Some(keeper) = &mut self.keeper else { return Ok(()) };
        if let Some(at) = keeper.renew(now).await? {
            // The time on the clock of timers is computed once, when it is needed.
            self.renew = self.renew.filter(|(known, _)| *known == at).or(Some((at, None)));
        } else {
            self.renew = None;
        }
        Ok(())
    }

    pub async fn release(&mut self) -> Result<(), StoreError> {
        match &mut self.keeper {
            Some(keeper) => keeper.release().await,
            None => Ok(()),
        }
    }

    /// Returns whether the right to drive is limited in time, in this process or in the one that has it.
    pub fn must_renew(&self) -> bool {
        self.renew.is_some()
    }

    /// Returns the time at which to call [`Storage::renew`] again.
    pub fn renew_at(&mut self, instant: impl FnOnce(Timestamp) -> Instant) -> Option<Instant> {
        let (at, known) = self.renew.as_mut()?;
        Some(*known.get_or_insert_with(|| instant(*at)))
    }

    /// Forgets the time on the clock of timers, because the other clock may have been set.
    pub fn clock_moved(&mut self) {
        if let Some((_, known)) = &mut self.renew {
            *known = None;
        }
    }
}
