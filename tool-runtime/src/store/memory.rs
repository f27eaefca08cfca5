//! A store in memory.

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::{BoxFuture, ready};

use super::{Append, Head, Lease, Record, RunItem, Store, StoreError, Stored, Waiting, WaitingItem};
use crate::run::{Interrupt, Principal, RunId, Time};

/// A store in memory: its runs are gone with the process. For tests, and for programs whose runs need not survive.
#[derive(Debug, Default)]
pub struct MemoryStore {
    kept: Mutex<Kept>,
    limit: Option<usize>,
}

#[derive(Debug, Default)]
struct Kept {
    runs: BTreeMap<RunId, KeptRun>,
    bytes: usize,
    /// The last token of any lease. A token of a deleted run is therefore not valid for a new run of the same name.
    token: u64,
}

#[derive(Debug)]
struct KeptRun {
    /// The latest head. `opened` has all open interrupts; the change and the title may be of an earlier append.
    head: Head,
    rev: u64,
    snapshot: Option<(u64, String)>,
    records: Vec<Record>,
    token: u64,
    lease: Option<Lease>,
    /// The time at which a worker last took it up.
    taken: Time,
}

impl MemoryStore {
    /// Creates a store without runs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum size of all logs, in bytes. At the limit, the store appends nothing until runs are deleted.
    pub fn limit(self, bytes: usize) -> Self {
        Self { limit: Some(bytes), ..self }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, run: &RunId, append: Append) -> Result<(), StoreError> {
        let Kept { runs, bytes, .. } = &mut *self.lock();
        let Append { expected, count, mut text, lease, mut head } = append;
        text.shrink_to_fit();
        let (token, rev) = match runs.get(run) {
            Some(kept) => (kept.token, kept.rev),
            None if expected > 0 => return Err(StoreError::NotFound),
            None => (0, 0),
        };
        if lease.is_some_and(|lease| lease.token != token) {
            return Err(StoreError::Fenced);
        }
        if rev != expected {
            return Err(StoreError::Conflict);
        }
        if self.limit.is_some_and(|limit| *bytes + text.len() > limit) {
            return Err(StoreError::unavailable(
                "the store in memory is full: delete runs, or use SQLite or PostgreSQL",
            ));
        }
        *bytes += text.len();
        let kept = runs.entry(run.clone()).or_insert_with(|| KeptRun {
            head: Head { opened: Vec::new(), ..head.clone() },
            rev: 0,
            snapshot: None,
            records: Vec::new(),
            token: 0,
            lease: None,
            taken: Time(0),
        });
        if count > 0 {
            kept.records.push(Record { rev: expected, count, text });
        }
        kept.rev += count;
        kept.head.opened.retain(|open| !head.closed.contains(&open.id));
        head.opened.splice(..0, kept.head.opened.drain(..));
        head.changed = head.changed.or(kept.head.changed);
        head.title = head.title.or_else(|| kept.head.title.take());
        kept.head = head;
        Ok(())
    }

    fn take(&self, run: &RunId, worker: &str, now: Time, ttl: Duration) -> Result<Lease, StoreError> {
        let Kept { runs, token, .. } = &mut *self.lock();
        let kept = runs.get_mut(run).ok_or(StoreError::NotFound)?;
        let until = now.after(ttl);
        match &kept.lease {
            Some(lease) if lease.worker == worker => {}
            Some(lease) if lease.until > now => return Err(StoreError::Leased { until: lease.until }),
            _ => {
                *token += 1;
                kept.token = *token;
            }
        }
        let lease = Lease { token: kept.token, worker: worker.to_owned(), until };
        kept.lease = Some(lease.clone());
        kept.taken = now;
        Ok(lease)
    }
}

impl Store for MemoryStore {
    fn append<'a>(&'a self, run: &'a RunId, append: Append) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(ready(self.add(run, append)))
    }

    fn load<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<Stored>, StoreError>> {
        let stored = self.lock().runs.get(run).map(|kept| {
            let (rev, text) = kept.snapshot.clone().map_or((0, None), |(rev, text)| (rev, Some(text)));
            let records = kept.records.iter().filter(|record| record.rev + record.count > rev).cloned().collect();
            Stored { snapshot: text, records }
        });
        Box::pin(ready(Ok(stored)))
    }

    fn read<'a>(&'a self, run: &'a RunId, rev: u64) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        let is_new = |record: &&Record| record.rev + record.count > rev;
        let kept = self.lock();
        let records = kept.runs.get(run).map(|kept| kept.records.iter().filter(is_new).cloned().collect());
        Box::pin(ready(records.ok_or(StoreError::NotFound)))
    }

    fn snapshot<'a>(&'a self, run: &'a RunId, rev: u64, text: String) -> BoxFuture<'a, Result<(), StoreError>> {
        if let Some(kept) = self.lock().runs.get_mut(run)
            && kept.snapshot.as_ref().is_none_or(|(known, _)| *known < rev)
        {
            kept.snapshot = Some((rev, text));
        }
        Box::pin(ready(Ok(())))
    }

    fn lease<'a>(
        &'a self,
        run: &'a RunId,
        worker: &'a str,
        now: Time,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        Box::pin(ready(self.take(run, worker, now, ttl)))
    }

    fn release<'a>(&'a self, run: &'a RunId, lease: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        if let Some(kept) = self.lock().runs.get_mut(run) {
            kept.lease.take_if(|held| held.token == lease.token);
        }
        Box::pin(ready(Ok(())))
    }

    fn waiting<'a>(&'a self, filter: &'a Waiting) -> BoxFuture<'a, Result<Vec<WaitingItem>, StoreError>> {
        let runs = &self.lock().runs;
        let mut items: Vec<WaitingItem> = Vec::new();
        for (run, kept) in runs.iter().filter(|(run, _)| filter.run.as_ref().is_none_or(|wanted| wanted == *run)) {
            let head = &kept.head;
            let may = |open: &&Interrupt| filter.principal.as_ref().is_none_or(|by| head.deciders(open).contains(by));
            let item = |open: &Interrupt| WaitingItem::new(run.clone(), head.owner.clone(), open.clone());
            items.extend(head.opened.iter().filter(may).map(item));
        }
        items.sort_by_key(|item| item.interrupt.since);
        let items = items.into_iter().skip(filter.offset).take(filter.most()).collect();
        Box::pin(ready(Ok(items)))
    }

    fn due(&self, now: Time, limit: usize) -> BoxFuture<'_, Result<Vec<RunId>, StoreError>> {
        let is_due = |kept: &KeptRun| {
            let is_free = kept.lease.as_ref().is_none_or(|lease| lease.until <= now);
            is_free && kept.head.due().is_some_and(|due| due <= now)
        };
        let runs = &self.lock().runs;
        let mut due: Vec<_> = runs.iter().filter(|(_, kept)| is_due(kept)).collect();
        due.sort_by_key(|(_, kept)| kept.taken);
        let due = due.into_iter().map(|(run, _)| run.clone()).take(limit).collect();
        Box::pin(ready(Ok(due)))
    }

    fn list<'a>(&'a self, owner: &'a Principal, page: Range<usize>) -> BoxFuture<'a, Result<Vec<RunItem>, StoreError>> {
        let runs = &self.lock().runs;
        let mut runs: Vec<_> = runs.iter().rev().filter(|(_, kept)| kept.head.owner == *owner).collect();
        runs.sort_by_key(|(_, kept)| Reverse(kept.head.changed));
        let item = |(run, kept): (&RunId, &KeptRun)| {
            RunItem::new(run.clone(), kept.head.title.clone(), kept.head.changed.unwrap_or(Time(0)))
        };
        Box::pin(ready(Ok(runs.into_iter().skip(page.start).take(page.len()).map(item).collect())))
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        let Kept { runs, bytes, .. } = &mut *self.lock();
        let deleted = runs.remove(run);
        *bytes -= deleted.iter().flat_map(|kept| &kept.records).map(|record| record.text.len()).sum::<usize>();
        Box::pin(ready(Ok(deleted.is_some())))
    }
}
