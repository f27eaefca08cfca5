//! A store with hooks, for events between a run's reads and writes.

#![allow(dead_code, reason = "each binary uses some of the hooks")]

use std::{
    any::Any,
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{future::BoxFuture, stream::BoxStream};
use tool_runtime::{
    run::{Principal, RunId, Timestamp},
    store::{Append, Keeper, Lease, Record, RunItem, Store, StoreError, StoredRun, WaitingFilter, WaitingItem},
};

type Promise<'a, T> = BoxFuture<'a, Result<T, StoreError>>;
type Hook<T> = Box<dyn Fn(T) -> Promise<'static, ()> + Send + Sync>;

type Keep = Box<dyn Fn(&RunId, Box<dyn Keeper>) -> Box<dyn Keeper> + Send + Sync>;

/// A store that runs hooks before its operations. Keepers of an engine do not run them.
pub(crate) struct Wrapped {
    inner: Arc<dyn Store>,
    append: Hook<Append>,
    read: Hook<RunId>,
    change: Box<dyn Fn(String) -> String + Send + Sync>,
    keep: Keep,
    is_alone: bool,
    /// The runs that were used through this store, if it returns interrupts of no others.
    own: Option<Mutex<Vec<RunId>>>,
    /// The number of published pieces, of which every third is lost; `None` if none is.
    lost: Option<AtomicUsize>,
    /// Dropped after the store.
    held: Option<Box<dyn Any + Send + Sync>>,
}

impl Wrapped {
    pub(crate) fn new(inner: &Arc<dyn Store>) -> Self {
        Self {
            inner: Arc::clone(inner),
            append: Box::new(|_| Box::pin(async { Ok(()) })),
            read: Box::new(|_| Box::pin(async { Ok(()) })),
            change: Box::new(|text| text),
            keep: Box::new(|_, keeper| keeper),
            is_alone: false,
            own: None,
            held: None,
            lost: None,
        }
    }

    /// Runs `hook` before each append. Its error becomes the append's error.
    pub(crate) fn before_append(
        mut self,
        hook: impl Fn(Append) -> Promise<'static, ()> + Send + Sync + 'static,
    ) -> Self {
        self.append = Box::new(hook);
        self
    }

    /// Runs `hook` before each read of added entries.
    pub(crate) fn before_read(mut self, hook: impl Fn(RunId) -> Promise<'static, ()> + Send + Sync + 'static) -> Self {
        self.read = Box::new(hook);
        self
    }

    /// Changes the texts that [`Store::load`] returns.
    pub(crate) fn tampered(mut self, change: impl Fn(String) -> String + Send + Sync + 'static) -> Self {
        self.change = Box::new(change);
        self
    }

    /// Keeps `held` until the store is dropped.
    pub(crate) fn holding(mut self, held: impl Any + Send + Sync) -> Self {
        self.held = Some(Box::new(held));
        self
    }

    /// Grants every lease, as for one worker at a time. So no worker waits for the lease of a dead one.
    pub(crate) fn alone(mut self) -> Self {
        self.is_alone = true;
        self
    }

    /// Replaces the keepers of an engine.
    pub(crate) fn keeping(
        mut self,
        keep: impl Fn(&RunId, Box<dyn Keeper>) -> Box<dyn Keeper> + Send + Sync + 'static,
    ) -> Self {
        self.keep = Box::new(keep);
        self
    }

    /// Returns only interrupts of runs that are used through this store, as if no other test used its server.
    pub(crate) fn apart(mut self) -> Self {
        self.own = Some(Mutex::default());
        self
    }

    fn use_run(&self, run: &RunId) {
        if let Some(own) = &self.own {
            let mut own = own.lock().unwrap();
            if !own.contains(run) {
                own.push(run.clone());
            }
        }
    }

    /// Loses every third piece that is published.
    pub(crate) fn losing_pieces(mut self) -> Self {
        self.lost = Some(AtomicUsize::new(0));
        self
    }

    pub(crate) fn shared(self) -> Arc<dyn Store> {
        Arc::new(self)
    }
}

impl Store for Wrapped {
    fn append<'a>(&'a self, run: &'a RunId, append: Append) -> Promise<'a, ()> {
        self.use_run(run);
        Box::pin(async move {
            (self.append)(append.clone()).await?;
            self.inner.append(run, append).await
        })
    }

    fn load<'a>(&'a self, run: &'a RunId) -> Promise<'a, Option<StoredRun>> {
        Box::pin(async move {
            Ok(self.inner.load(run).await?.map(|mut stored| {
                stored.snapshot = stored.snapshot.map(&self.change);
                for record in &mut stored.records {
                    record.text = (self.change)(std::mem::take(&mut record.text));
                }
                stored
            }))
        })
    }

    fn read<'a>(&'a self, run: &'a RunId, rev: u64) -> Promise<'a, Vec<Record>> {
        Box::pin(async move {
            (self.read)(run.clone()).await?;
            self.inner.read(run, rev).await
        })
    }

    fn save_snapshot<'a>(&'a self, run: &'a RunId, rev: u64, text: String) -> Promise<'a, ()> {
        self.inner.save_snapshot(run, rev, text)
    }

    fn lease<'a>(&'a self, run: &'a RunId, worker: &'a str, now: Timestamp, ttl: Duration) -> Promise<'a, Lease> {
        Box::pin(async move {
            match self.inner.lease(run, worker, now, ttl).await {
                Err(StoreError::Leased { until }) if self.is_alone => self.inner.lease(run, worker, until, ttl).await,
                leased => leased,
            }
        })
    }

    fn release<'a>(&'a self, run: &'a RunId, lease: &'a Lease) -> Promise<'a, ()> {
        self.inner.release(run, lease)
    }

    fn waiting<'a>(&'a self, filter: &'a WaitingFilter) -> Promise<'a, Vec<WaitingItem>> {
        let Some(own) = &self.own else { return self.inner.waiting(filter) };
        let own = own.lock().unwrap().clone();
        Box::pin(async move {
            let mut items = Vec::new();
            for run in own.into_iter().filter(|run| filter.run.as_ref().is_none_or(|wanted| wanted == run)) {
                let mut of_run = WaitingFilter::new().in_run(run);
                of_run.principal = filter.principal.clone();
                items.extend(self.inner.waiting(&of_run).await?);
            }
            items.sort_by_key(|item| item.interrupt.opened_at);
            Ok(items.into_iter().skip(filter.offset).take(filter.max_items()).collect())
        })
    }

    fn due(&self, now: Timestamp, limit: usize) -> Promise<'_, Vec<RunId>> {
        self.inner.due(now, limit)
    }

    fn list<'a>(&'a self, owner: &'a Principal, page: Range<usize>) -> Promise<'a, Vec<RunItem>> {
        self.inner.list(owner, page)
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> Promise<'a, bool> {
        self.inner.delete(run)
    }

    fn keeper(&self, run: &RunId) -> Option<Box<dyn Keeper>> {
        self.use_run(run);
        self.inner.keeper(run).map(|keeper| (self.keep)(run, keeper))
    }

    fn watch(&self, run: &RunId) -> Option<BoxStream<'static, u64>> {
        self.inner.watch(run)
    }

    fn follow(&self, run: &RunId) -> Option<BoxStream<'static, u64>> {
        self.inner.follow(run)
    }

    fn publish(&self, run: &RunId, piece: String) {
        if self.lost.as_ref().is_none_or(|count| count.fetch_add(1, Ordering::SeqCst) % 3 != 2) {
            self.inner.publish(run, piece);
        }
    }

    fn pieces(&self, run: &RunId) -> Option<BoxStream<'static, String>> {
        self.inner.pieces(run)
    }

    fn watch_readers(&self, run: &RunId) -> Option<BoxStream<'static, bool>> {
        self.inner.watch_readers(run)
    }
}
