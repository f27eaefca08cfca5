//! The run's log on its way into the store.

use super::{Driver, leave::Commit};
use crate::agent::{AgentError, Handle, steering::Steered};
use crate::run::{CallId, Effect, Event, LogEvent, Phase, Run, pending};
use crate::store::{Append, Lease, StoreError};
use tokio::time::Instant;

/// After how many entries, at least, a snapshot is made.
const SNAPSHOT_EVERY: u64 = 200;

/// A run, and which of its entries are not in the store yet.
#[derive(Debug)]
pub(in crate::agent) struct Kept {
    pub(in crate::agent) run: Run,
    /// Who wants it to stop.
    pub(in crate::agent) handle: Handle,
    /// Entries that are in the run, and not in the store.
    new: Vec<LogEvent>,
    /// Where in `new` the entries begin that followed from one event.
    begins: Vec<usize>,
    /// The right to drive the run. Still here when the future that drove it was dropped.
    pub(super) lease: Option<Lease>,
    /// What is said to the run while it goes on.
    pub(in crate::agent) steered: Option<Steered>,
    /// The condition of the first thing that cannot be undone.
    pub(in crate::agent) commit: Option<Commit>,
    /// How many entries, and bytes of them, came since the last snapshot, and how long that was.
    since: (u64, usize, usize),
}

impl Kept {
    pub(in crate::agent) fn new(run: Run, new: Vec<LogEvent>) -> Self {
        let (handle, begins) = (Handle::default(), Vec::new());
        Self { run, handle, new, begins, lease: None, steered: None, commit: None, since: (0, 0, 0) }
    }

    /// Adds the entries that follow from one event.
    pub(in crate::agent) fn add(&mut self, log: &mut Vec<LogEvent>) {
        self.begins.push(self.new.len());
        self.add_to(log);
    }

    /// Adds more entries that follow from that event.
    pub(super) fn add_to(&mut self, log: &mut Vec<LogEvent>) {
        for event in log.drain(..) {
            let applied = self.run.apply_ref(&event);
            debug_assert!(applied.is_ok(), "{applied:?} by {event:?}");
            if applied.is_ok() {
                self.new.push(event);
            }
        }
    }

    fn take_new(&mut self) -> (Vec<LogEvent>, Vec<usize>) {
        (std::mem::take(&mut self.new), std::mem::take(&mut self.begins))
    }

    /// Whether nothing is new.
    pub(super) fn is_kept(&self) -> bool {
        self.new.is_empty()
    }

    /// How many entries the store has.
    pub(super) fn stored(&self) -> u64 {
        self.run.rev() - self.new.len() as u64
    }
}

impl Driver<'_> {
    /// Puts what is new into the store, and tells the front. What was to be done on the ground of entries that somebody
    /// else's made void is not.
    pub(super) async fn keep(&mut self) -> Result<(), AgentError> {
        while !self.kept.new.is_empty() {
            let Some(store) = self.agent.store.clone() else { break };
            let append = Append::new(self.kept.stored(), &self.kept.new, &self.kept.run, self.kept.lease.clone());
            let bytes = append.text.len();
            match store.append(self.kept.run.id(), append).await {
                Ok(()) => {
                    self.kept.since.0 += self.kept.new.len() as u64;
                    self.kept.since.1 += bytes;
                    break;
                }
                Err(StoreError::Conflict) => self.rebase().await?,
                Err(error) => return Err(error.into()),
            }
        }
        let (new, _) = self.kept.take_new();
        self.publish(&new);
        self.hear_accepted(&new);
        self.snapshot().await
    }

    /// Forgets what did not get into the store when the run was driven last, or nobody knows whether it did: nothing that
    /// follows from it was done.
    pub(super) async fn forget_unkept(&mut self) -> Result<(), AgentError> {
        if self.agent.store.is_some() && !self.kept.new.is_empty() {
            self.kept.take_new();
            self.reload().await?;
        }
        Ok(())
    }

    async fn reload(&mut self) -> Result<(), AgentError> {
        let Some(store) = self.agent.store.clone() else { return Ok(()) };
        let stored = store.load(self.kept.run.id()).await?.ok_or(StoreError::NotFound)?;
        self.kept.run = stored.run()?;
        self.history.forget();
        Ok(())
    }

    /// Somebody else added to the log: puts what is new behind that, as far as it still follows. What followed from one
    /// event does not without its first entry: a denial that came second must not end the call that was approved first.
    async fn rebase(&mut self) -> Result<(), AgentError> {
        let known = self.kept.stored();
        let (mut mine, begins) = self.kept.take_new();
        if self.is_leaving {
            mine.clear();
            self.effects.clear();
        }
        self.reload().await?;
        self.publish_since(known).await?;
        self.effects.retain(|effect| matches!(effect, Effect::Abort(_) | Effect::Execute { .. }));
        let mut is_dropped = false;
        for (at, event) in mine.into_iter().enumerate() {
            let is_first = begins.contains(&at);
            if !is_first && is_dropped {
                continue;
            }
            let follows = self.kept.run.apply_ref(&event).is_ok();
            if is_first {
                is_dropped = !follows;
            }
            if follows {
                if is_first {
                    self.kept.begins.push(self.kept.new.len());
                }
                self.kept.new.push(event);
            }
        }
        self.take_up();
        Ok(())
    }

    /// Tells the front what others added to the log behind its first `known` entries.
    async fn publish_since(&mut self, known: u64) -> Result<(), AgentError> {
        let Some(store) = self.agent.store.clone() else { return Ok(()) };
        // What came after the run was loaded is told when it is read.
        let mut left = usize::try_from(self.kept.run.rev().saturating_sub(known)).unwrap_or(usize::MAX);
        for record in store.read(self.kept.run.id(), known).await? {
            let mut events = crate::run::record::decode(&record.text).map_err(StoreError::from)?;
            events.truncate(left);
            left -= events.len();
            self.publish(&events);
        }
        Ok(())
    }

    /// Reads what others added to the log. Whether there was anything.
    pub(super) async fn refresh(&mut self) -> Result<bool, AgentError> {
        let Some(store) = self.agent.store.clone() else { return Ok(false) };
        self.refreshed = Instant::now();
        if !self.kept.new.is_empty() {
            return Ok(false);
        }
        let records = match store.read(self.kept.run.id(), self.kept.run.rev()).await {
            Err(StoreError::NotFound) => return Err(StoreError::NotFound.into()),
            records => records?,
        };
        if records.is_empty() {
            return Ok(false);
        }
        for record in &records {
            let events = crate::run::record::decode(&record.text).map_err(StoreError::from)?;
            record.apply(&mut self.kept.run)?;
            self.publish(&events);
        }
        self.take_up();
        Ok(true)
    }

    /// Takes up what is to be done in a run that others changed, and lets go of calls that they ended.
    fn take_up(&mut self) {
        let is_over = |id: &CallId| self.kept.run.call(id).is_none_or(|call| call.result().is_some());
        let over: Vec<_> = self.live.keys().filter(|id| is_over(id)).cloned().collect();
        self.effects.extend(over.into_iter().map(Effect::Abort));
        if self.kept.run.phase() != Phase::Generating {
            // Somebody called it off.
            self.asking = None;
        }
        // What followed from neither theirs nor mine alone follows now: the last call of a turn ended twice over, for one.
        self.feed_late(Event::Tick { at: self.now() });
        for effect in pending(&self.kept.run) {
            match effect {
                Effect::Inspect(call) => self.looks.push_back(call),
                Effect::CallModel if self.asking.is_some() => {}
                Effect::Announce(obligation) if self.is_asked(&obligation) => {}
                effect if self.effects.contains(&effect) => {}
                effect => self.effects.push_back(effect),
            }
        }
    }

    /// Makes a snapshot now and then: when as much has come since the last as that was long, so that what all of them cost
    /// together does not grow faster than the log.
    async fn snapshot(&mut self) -> Result<(), AgentError> {
        let (events, bytes, last) = self.kept.since;
        let Some(store) = self.agent.store.clone().filter(|_| events >= SNAPSHOT_EVERY && bytes >= last) else {
            return Ok(());
        };
        let text = self.kept.run.freeze();
        self.kept.since = (0, 0, text.len());
        store.snapshot(self.kept.run.id(), self.kept.run.rev(), text).await?;
        Ok(())
    }
}
