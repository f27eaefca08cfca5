//! A store in memory.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, hash_map::Entry},
    ops::Range,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{
    future::{BoxFuture, ready},
    stream::{BoxStream, StreamExt as _, unfold},
};

use super::log_lengths::LogLength;
use super::pieces::PieceChannels;
use super::{Append, Head, Lease, Record, RunItem, Store, StoreError, StoredRun, WaitingFilter, WaitingItem};
use crate::run::{Interrupt, Principal, RunId, Timestamp};
use crate::sync::lock;

/// A store in memory: its runs are gone with the process. For tests, and for programs whose runs need not survive. Clones are the same
/// store.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    kept: Arc<Mutex<Kept>>,
    pieces: PieceChannels,
    limit: Option<usize>,
    max_owner_bytes: Option<usize>,
}

#[derive(Debug, Default)]
struct Kept {
    runs: BTreeMap<RunId, KeptRun>,
    /// The size of all runs, and of the runs of each owner, in bytes.
    bytes: usize,
    owners: HashMap<Principal, usize>,
    /// The last token of any lease. So a token of a deleted run is not valid for a new run with the same id.
    token: u64,
}

#[derive(Debug)]
struct KeptRun {
    /// The latest head. `opened` has all open interrupts; the change and the title may be of an earlier append.
    head: Head,
    rev: u64,
    snapshot: Option<(u64, String)>,
    records: Vec<Record>,
    /// The size of the run in bytes, with its snapshot and its open interrupts.
    bytes: usize,
    token: u64,
    lease: Option<Lease>,
    /// The time at which a worker last acquired or renewed the lease.
    taken: Timestamp,
    /// The length of the log, if somebody has watched it.
    watched: Option<Arc<LogLength>>,
}

/// The time by which a clock may be moved back without an effect on leases.
const CLOCK_TOLERANCE: Duration = Duration::from_mins(1);

impl KeptRun {
    /// Returns whether the lease was taken in the future, because the clock was moved back since. Then its end says nothing, and a
    /// worker that is gone would hold the run until the clock has caught up.
    fn is_from_the_future(&self, now: Timestamp) -> bool {
        self.taken > now.saturating_add(CLOCK_TOLERANCE)
    }
}

impl Kept {
    /// Changes the size of a run by `more`, and then by `less`.
    fn resize(&mut self, run: &RunId, more: usize, less: usize) {
        let Some(kept) = self.runs.get_mut(run) else { return };
        kept.bytes = kept.bytes + more - less;
        self.bytes = self.bytes + more - less;
        match self.owners.get_mut(&kept.head.owner) {
            Some(of_owner) => *of_owner = *of_owner + more - less,
            None => drop(self.owners.insert(kept.head.owner.clone(), more - less)),
        }
    }

    /// Removes a run. Returns whether there was one.
    fn remove(&mut self, run: &RunId) -> bool {
        let Some(kept) = self.runs.remove(run) else { return false };
        self.bytes -= kept.bytes;
        if let Some(watched) = &kept.watched {
            watched.set(u64::MAX);
        }
        if let Entry::Occupied(mut of_owner) = self.owners.entry(kept.head.owner) {
            *of_owner.get_mut() -= kept.bytes;
            if *of_owner.get() == 0 {
                of_owner.remove();
            }
        }
        true
    }
}

/// Returns the size of a run without entries.
fn size(run: &RunId, owner: &Principal) -> usize {
    size_of::<(RunId, KeptRun)>() + run.as_str().len() + owner.as_str().len()
}

/// Returns the size of open interrupts in bytes. Their JSON texts count, because the head has them in addition to the log.
fn size_of_open<'a>(open: impl IntoIterator<Item = &'a Interrupt>) -> usize {
    open.into_iter().map(|open| size_of::<Interrupt>() + serde_json::to_vec(open).map_or(0, |text| text.len())).sum()
}

fn size_of_title(title: Option<&String>) -> usize {
    title.map_or(0, String::len)
}

impl MemoryStore {
    /// Creates a store without runs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum size of all runs together, in bytes: of their logs, snapshots, open interrupts and names. At the limit,
    /// the store appends nothing until runs are deleted ([`StoreError::Full`]), and keeps no snapshots.
    pub fn max_bytes(self, bytes: usize) -> Self {
        Self { limit: Some(bytes), ..self }
    }

    /// Sets the maximum size of the runs of one owner, in bytes, so that no owner fills the store for all.
    pub fn max_owner_bytes(self, bytes: usize) -> Self {
        Self { max_owner_bytes: Some(bytes), ..self }
    }

    /// Checks that runs of `owner` may take up `more` bytes.
    fn check_room(&self, kept: &Kept, owner: &Principal, more: usize) -> Result<(), StoreError> {
        let of_owner = kept.owners.get(owner).copied().unwrap_or_default();
        if self.max_owner_bytes.is_some_and(|limit| of_owner + more > limit) {
            return Err(StoreError::Full { of_owner: true });
        }
        if self.limit.is_some_and(|limit| kept.bytes + more > limit) {
            return Err(StoreError::Full { of_owner: false });
        }
        Ok(())
    }

    fn add(&self, run: &RunId, append: Append) -> Result<(), StoreError> {
        let mut guard = lock(&self.kept);
        let Append { expected, count, mut text, lease, mut head } = append;
        text.shrink_to_fit();
        let (token, rev) = match guard.runs.get(run) {
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
        let of_run = if guard.runs.contains_key(run) { 0 } else { size(run, &head.owner) };
        let of_record = if count > 0 { size_of::<Record>() + text.len() } else { 0 };
        let more = of_run + of_record + size_of_open(&head.opened) + size_of_title(head.title.as_ref());
        self.check_room(&guard, &head.owner, more)?;
        let kept = guard.runs.entry(run.clone()).or_insert_with(|| KeptRun {
            head: Head { opened: Vec::new(), title: None, ..head.clone() },
            rev: 0,
            snapshot: None,
            records: Vec::new(),
            bytes: 0,
            token: 0,
            lease: None,
            taken: Timestamp(0),
            watched: None,
        });
        if count > 0 {
            kept.records.push(Record { rev: expected, count, text });
        }
        kept.rev += count;
        let is_closed = |open: &Interrupt| head.closed.contains(&open.id);
        let (closed, open): (Vec<_>, Vec<_>) = kept.head.opened.drain(..).partition(is_closed);
        let mut less = size_of_open(&closed);
        head.opened.splice(..0, open);
        head.changed = head.changed.or(kept.head.changed);
        match &head.title {
            Some(_) => less += size_of_title(kept.head.title.as_ref()),
            None => head.title = kept.head.title.take(),
        }
        kept.head = head;
        if let Some(watched) = &kept.watched {
            watched.set(kept.rev);
        }
        guard.resize(run, more, less);
        Ok(())
    }

    /// Keeps a snapshot, if there is room for it. Without it, the run is read from its log.
    fn keep_snapshot(&self, run: &RunId, rev: u64, text: String) {
        let mut guard = lock(&self.kept);
        let Some(kept) = guard.runs.get(run) else { return };
        let known = kept.snapshot.as_ref();
        let (is_newer, less) = (known.is_none_or(|(known, _)| *known < rev), known.map_or(0, |(_, text)| text.len()));
        let more = text.len();
        if !is_newer || self.check_room(&guard, &kept.head.owner, more.saturating_sub(less)).is_err() {
            return;
        }
        guard.resize(run, more, less);
        if let Some(kept) = guard.runs.get_mut(run) {
            kept.snapshot = Some((rev, text));
        }
    }

    fn take(&self, run: &RunId, worker: &str, now: Timestamp, ttl: Duration) -> Result<Lease, StoreError> {
        let Kept { runs, token, .. } = &mut *lock(&self.kept);
        let kept = runs.get_mut(run).ok_or(StoreError::NotFound)?;
        let until = now.saturating_add(ttl);
        match &kept.lease {
            Some(lease) if lease.worker == worker => {}
            Some(lease) if lease.until > now && !kept.is_from_the_future(now) => {
                return Err(StoreError::Leased { until: lease.until });
            }
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

    fn load<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<StoredRun>, StoreError>> {
        let stored = lock(&self.kept).runs.get(run).map(|kept| {
            let (rev, text) = kept.snapshot.clone().map_or((0, None), |(rev, text)| (rev, Some(text)));
            let records = kept.records.iter().filter(|record| record.rev + record.count > rev).cloned().collect();
            StoredRun { snapshot: text, records }
        });
        Box::pin(ready(Ok(stored)))
    }

    fn read<'a>(&'a self, run: &'a RunId, rev: u64) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        let is_new = |record: &&Record| record.rev + record.count > rev;
        let kept = lock(&self.kept);
        let records = kept.runs.get(run).map(|kept| kept.records.iter().filter(is_new).cloned().collect());
        Box::pin(ready(records.ok_or(StoreError::NotFound)))
    }

    fn save_snapshot<'a>(&'a self, run: &'a RunId, rev: u64, text: String) -> BoxFuture<'a, Result<(), StoreError>> {
        self.keep_snapshot(run, rev, text);
        Box::pin(ready(Ok(())))
    }

    fn lease<'a>(
        &'a self,
        run: &'a RunId,
        worker: &'a str,
        now: Timestamp,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        Box::pin(ready(self.take(run, worker, now, ttl)))
    }

    fn release<'a>(&'a self, run: &'a RunId, lease: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        if let Some(kept) = lock(&self.kept).runs.get_mut(run) {
            kept.lease.take_if(|held| held.token == lease.token);
        }
        Box::pin(ready(Ok(())))
    }

    fn waiting<'a>(&'a self, filter: &'a WaitingFilter) -> BoxFuture<'a, Result<Vec<WaitingItem>, StoreError>> {
        let runs = &lock(&self.kept).runs;
        let mut items: Vec<WaitingItem> = Vec::new();
        for (run, kept) in runs.iter().filter(|(run, _)| filter.run.as_ref().is_none_or(|wanted| wanted == *run)) {
            let head = &kept.head;
            let may = |open: &&Interrupt| filter.principal.as_ref().is_none_or(|by| head.deciders(open).contains(by));
            let item = |open: &Interrupt| WaitingItem::new(run.clone(), head.owner.clone(), open.clone());
            items.extend(head.opened.iter().filter(may).map(item));
        }
        items.sort_by_key(|item| item.interrupt.opened_at);
        let items = items.into_iter().skip(filter.offset).take(filter.max_items()).collect();
        Box::pin(ready(Ok(items)))
    }

    fn due(&self, now: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<RunId>, StoreError>> {
        let is_due = |kept: &KeptRun| {
            let is_free = kept.lease.as_ref().is_none_or(|lease| lease.until <= now);
            (is_free || kept.is_from_the_future(now)) && kept.head.due_at().is_some_and(|due| due <= now)
        };
        let runs = &lock(&self.kept).runs;
        let mut due: Vec<_> = runs.iter().filter(|(_, kept)| is_due(kept)).collect();
        due.sort_by_key(|(_, kept)| kept.taken);
        let due = due.into_iter().map(|(run, _)| run.clone()).take(limit).collect();
        Box::pin(ready(Ok(due)))
    }

    fn list<'a>(&'a self, owner: &'a Principal, page: Range<usize>) -> BoxFuture<'a, Result<Vec<RunItem>, StoreError>> {
        let runs = &lock(&self.kept).runs;
        let mut runs: Vec<_> = runs.iter().rev().filter(|(_, kept)| kept.head.owner == *owner).collect();
        runs.sort_by_key(|(_, kept)| Reverse(kept.head.changed));
        let item = |(run, kept): (&RunId, &KeptRun)| {
            RunItem::new(run.clone(), kept.head.title.clone(), kept.head.changed.unwrap_or(Timestamp(0)))
        };
        Box::pin(ready(Ok(runs.into_iter().skip(page.start).take(page.len()).map(item).collect())))
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(ready(Ok(lock(&self.kept).remove(run))))
    }

    fn watch(&self, run: &RunId) -> Option<BoxStream<'static, u64>> {
        let mut kept = lock(&self.kept);
        let kept = kept.runs.get_mut(run)?;
        let watched = Arc::clone(kept.watched.get_or_insert_with(|| Arc::new(LogLength::new(kept.rev))));
        let next = |(watched, known): (Arc<LogLength>, u64)| async move {
            let rev = watched.wait_beyond(known).await;
            Some((rev, (watched, rev)))
        };
        Some(unfold((watched, kept.rev), next).boxed())
    }

    fn publish(&self, run: &RunId, piece: String) {
        self.pieces.publish(run, &piece);
    }

    fn pieces(&self, run: &RunId) -> Option<BoxStream<'static, String>> {
        Some(self.pieces.pieces(run))
    }

    fn watch_readers(&self, run: &RunId) -> Option<BoxStream<'static, bool>> {
        Some(self.pieces.watch_readers(run))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use serde_json::json;

    use super::*;

    fn append(owner: &str, expected: u64, text: &str) -> Append {
        let head = Head {
            owner: owner.into(),
            is_active: false,
            wake: None,
            opened: Vec::new(),
            closed: Vec::new(),
            changed: Some(Timestamp(1)),
            title: Some(text[..1].to_owned()),
        };
        Append { expected, count: 1, text: text.to_owned(), lease: None, head }
    }

    /// Returns an interrupt with a text of this length.
    fn interrupt(bytes: usize) -> Interrupt {
        let shown = json!({
            "tool": "t", "effect": "read_only", "arguments": { "text": "x".repeat(bytes) }, "lines": [],
        });
        let open = json!({ "id": "c.1", "kind": { "kind": "external" }, "shown": shown, "opened_at": 1 });
        serde_json::from_value(open).unwrap()
    }

    #[test]
    fn everything_that_is_kept_counts_until_it_is_gone() {
        let store = MemoryStore::new().max_bytes(50_000);
        let run = RunId::from("run");
        let size = || lock(&store.kept).bytes;
        store.add(&run, append("a", 0, "x")).unwrap();
        let mut least = size();
        assert!(least > 100, "a run costs more than its text");
        let mut grows_by = |least_more: usize, change: &dyn Fn()| {
            change();
            assert!(
                (least + least_more..least + least_more + 1000).contains(&size()),
                "{least} {least_more} {}",
                size()
            );
            least = size();
        };
        grows_by(5000, &|| store.add(&run, append("a", 1, &"y".repeat(5000))).unwrap());
        grows_by(7000, &|| store.keep_snapshot(&run, 1, "s".repeat(7000)));
        grows_by(2000, &|| store.keep_snapshot(&run, 2, "s".repeat(9000)));
        let opens =
            Append { head: Head { opened: vec![interrupt(6000)], ..append("a", 2, "z").head }, ..append("a", 2, "z") };
        grows_by(6000, &|| store.add(&run, opens.clone()).unwrap());
        // A snapshot without room is left out, and the old one stays.
        store.keep_snapshot(&run, 3, "s".repeat(60_000));
        let stored = store.load(&run).now_or_never().unwrap().unwrap().unwrap();
        assert_eq!(stored.snapshot.map(|text| text.len()), Some(9000));
        let before = size();
        let closes =
            Append { head: Head { closed: vec![interrupt(0).id], ..append("a", 3, "z").head }, ..append("a", 3, "z") };
        store.add(&run, closes).unwrap();
        assert!(size() + 5000 < before, "an interrupt that was closed counts no more");
        assert!(lock(&store.kept).remove(&run));
        assert!(size() == 0 && lock(&store.kept).owners.is_empty());
    }
}
