//! The run's log on its way into the store.

use std::time::{SystemTime, UNIX_EPOCH};

use super::Driver;
use crate::agent::AgentError;
use crate::run::{Effect, LogEvent, Run, Time, pending};
use crate::store::{Append, StoreError};

/// After how many entries, at least, a snapshot is made.
const SNAPSHOT_EVERY: u64 = 200;

/// The time on this machine's clock.
pub(in crate::agent) fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A run, and which of its entries are not in the store yet.
#[derive(Debug)]
pub(in crate::agent) struct Kept {
    pub(in crate::agent) run: Run,
    /// Entries that are in the run, and not in the store.
    new: Vec<LogEvent>,
    /// How many entries, and bytes of them, came since the last snapshot, and how long that was.
    since: (u64, usize, usize),
}

impl Kept {
    pub(in crate::agent) fn new(run: Run, new: Vec<LogEvent>) -> Self {
        Self { run, new, since: (0, 0, 0) }
    }

    /// Adds entries that follow from the run.
    pub(in crate::agent) fn add(&mut self, log: Vec<LogEvent>) {
        for event in log {
            let applied = self.run.apply(event.clone());
            debug_assert!(applied.is_ok(), "{applied:?} by {event:?}");
            if applied.is_ok() {
                self.new.push(event);
            }
        }
    }

    /// How many entries the store has.
    fn stored(&self) -> u64 {
        self.run.rev() - self.new.len() as u64
    }
}

impl Driver<'_> {
    /// Puts what is new into the store, and tells the front. What was to be done on the ground of entries that somebody
    /// else's made void is not.
    pub(super) async fn keep(&mut self) -> Result<(), AgentError> {
        while !self.kept.new.is_empty() {
            let Some(store) = self.agent.store.clone() else { break };
            let append = Append::new(self.kept.stored(), &self.kept.new, &self.kept.run, self.lease.clone());
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
        let new = std::mem::take(&mut self.kept.new);
        self.publish(&new);
        self.snapshot().await
    }

    /// Somebody else added to the log: puts what is new behind that, as far as it still follows.
    async fn rebase(&mut self) -> Result<(), AgentError> {
        let Some(store) = self.agent.store.clone() else { return Ok(()) };
        let mine = std::mem::take(&mut self.kept.new);
        let stored = store.load(self.kept.run.id()).await?.ok_or(StoreError::NotFound)?;
        self.kept.run = stored.run()?;
        let aborts = self.effects.drain(..).filter(|effect| matches!(effect, Effect::Abort(_))).collect::<Vec<_>>();
        let mut effects = Vec::new();
        for event in mine {
            if self.kept.run.apply(event.clone()).is_err() {
                continue;
            }
            if let LogEvent::Started { call, .. } = &event {
                let attempt = self.kept.run.call(call).map_or(0, |call| call.attempts);
                effects.push(Effect::Execute { call: call.clone(), attempt });
            }
            self.kept.new.push(event);
        }
        self.effects.extend(effects);
        self.effects.extend(aborts);
        self.take_up();
        Ok(())
    }

    /// Reads what others added to the log. Whether there was anything.
    pub(super) async fn refresh(&mut self) -> Result<bool, AgentError> {
        let Some(store) = self.agent.store.clone() else { return Ok(false) };
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
        let is_over = |id: &crate::run::CallId| self.kept.run.call(id).is_none_or(|call| call.result().is_some());
        let over: Vec<_> = self.live.keys().filter(|id| is_over(id)).cloned().collect();
        self.effects.extend(over.into_iter().map(Effect::Abort));
        for effect in pending(&self.kept.run) {
            match effect {
                Effect::Inspect(call) => self.looks.push_back(call),
                Effect::CallModel if self.asking.is_some() => {}
                Effect::Announce(obligation) if self.people.contains(&obligation) => {}
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

    /// Makes sure that nobody else drives the run.
    pub(super) async fn take_lease(&mut self) -> Result<(), AgentError> {
        let Some(store) = self.agent.store.clone() else { return Ok(()) };
        if self.kept.stored() == 0 {
            // Nobody else can know of it before it is there.
            self.keep().await?;
        }
        let run = self.kept.run.id().clone();
        self.lease = Some(store.lease(&run, &self.worker, now(), self.agent.lease).await?);
        Ok(())
    }

    pub(super) async fn prolong_lease(&mut self) -> Result<(), AgentError> {
        let Some(lease) = &self.lease else { return Ok(()) };
        let half = u64::try_from(self.agent.lease.as_millis() / 2).unwrap_or(u64::MAX);
        if lease.until.0.saturating_sub(now().0) > half {
            return Ok(());
        }
        self.take_lease().await
    }

    pub(super) async fn give_lease_back(&mut self) -> Result<(), AgentError> {
        if let (Some(lease), Some(store)) = (self.lease.take(), self.agent.store.clone()) {
            store.release(self.kept.run.id(), &lease).await?;
        }
        Ok(())
    }
}
