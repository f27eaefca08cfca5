//! The log of a run inside of a call: kept as steps of that call.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::{BoxFuture, ready};
use serde_json::{Value, json};

use crate::agent::calls::CallJournal;
use crate::run::{GrantedBy, RunId, Time};
use crate::store::{Append, Lease, Record, Store, StoreError, Stored, Waiting, WaitingItem};
use crate::tool::Journal;
use tool_run::run::{LogEvent, NestedUsage, record};

/// The name of the steps.
const STEP: &str = "run";

/// A store of one run, whose records are steps of the call that it goes on in.
pub struct StepStore {
    journal: Arc<dyn Journal>,
    records: Mutex<Vec<Record>>,
}

impl StepStore {
    /// The store, with what was kept when the call ran before.
    pub fn new(journal: Arc<dyn Journal>) -> Self {
        let mut records = Vec::new();
        while let Some(step) = journal.recorded(STEP) {
            let number = |name: &str| step[name].as_u64().unwrap_or_default();
            let record = Record { rev: number("rev"), count: number("count"), text: step["log"].to_string() };
            if record.rev == 0 {
                // Something around the tool has called it again: that is another run.
                records.clear();
            }
            records.push(record);
        }
        Self { journal, records: Mutex::new(records) }
    }

    /// Returns whether there is no run yet.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Record>> {
        // Nothing is left half-done in there.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn rev(&self) -> u64 {
        self.lock().last().map_or(0, |last| last.rev + last.count)
    }

    async fn add(&self, append: Append) -> Result<(), StoreError> {
        let Append { expected, count, text, .. } = append;
        if expected != self.rev() {
            return Err(StoreError::Conflict);
        }
        let Some(journal) = CallJournal::of(&*self.journal) else {
            return Err(StoreError::unavailable("the call has no run that could keep it"));
        };
        let malformed = |error: serde_json::Error| StoreError::unavailable(error.to_string());
        let log: Value = serde_json::from_str(&text).map_err(malformed)?;
        let step = json!({ "rev": expected, "count": count, "log": log });
        let spent = spent(&record::decode(&text)?);
        let kept = journal.record_spent(STEP, step, spent).await;
        kept.map_err(|failure| StoreError::unavailable(failure.for_log()))?;
        self.lock().push(Record { rev: expected, count, text });
        Ok(())
    }
}

/// Returns the part of a run's limits that these entries used.
fn spent(events: &[LogEvent]) -> NestedUsage {
    let mut spent = NestedUsage::default();
    for event in events {
        match event {
            LogEvent::TurnEnded { usage, .. } => spent.usage += *usage,
            LogEvent::Called { .. } => spent.calls += 1,
            LogEvent::Granted { by: GrantedBy::Retry, .. } => spent.retries += 1,
            LogEvent::Stepped { spent: inside, .. } => spent += *inside,
            _ => {}
        }
    }
    spent
}

impl Store for StepStore {
    fn append<'a>(&'a self, _: &'a RunId, append: Append) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.add(append))
    }

    fn load<'a>(&'a self, _: &'a RunId) -> BoxFuture<'a, Result<Option<Stored>, StoreError>> {
        let records = self.lock().clone();
        let stored = (!records.is_empty()).then_some(Stored { snapshot: None, records });
        Box::pin(ready(Ok(stored)))
    }

    fn read<'a>(&'a self, _: &'a RunId, from: u64) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        let records = self.lock().iter().filter(|record| record.rev + record.count > from).cloned().collect();
        Box::pin(ready(Ok(records)))
    }

    fn snapshot<'a>(&'a self, _: &'a RunId, _: u64, _: String) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    /// Leases the run to any worker: the driver of the outer run drives this one.
    fn lease<'a>(
        &'a self,
        _: &'a RunId,
        worker: &'a str,
        now: Time,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        let until = now.plus(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
        Box::pin(ready(Ok(Lease { token: 1, worker: worker.to_owned(), until })))
    }

    fn release<'a>(&'a self, _: &'a RunId, _: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    fn waiting<'a>(&'a self, _: &'a Waiting) -> BoxFuture<'a, Result<Vec<WaitingItem>, StoreError>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn due(&self, _: Time, _: usize) -> BoxFuture<'_, Result<Vec<RunId>, StoreError>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn delete<'a>(&'a self, _: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(ready(Ok(false)))
    }
}
