//! A store with hooks, for events between a run's reads and writes.

use std::{any::Any, ops::Range, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tool_runtime::{
    run::{Principal, RunId, Time},
    store::{Append, Lease, Record, RunItem, Store, StoreError, Stored, Waiting, WaitingItem},
};

type Promise<'a, T> = BoxFuture<'a, Result<T, StoreError>>;
type Hook<T> = Box<dyn Fn(T) -> Promise<'static, ()> + Send + Sync>;

/// A store that runs hooks before its operations.
pub(crate) struct Wrapped {
    inner: Arc<dyn Store>,
    append: Hook<Append>,
    read: Hook<RunId>,
    change: Box<dyn Fn(String) -> String + Send + Sync>,
    is_alone: bool,
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
            held: None,
            is_alone: false,
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

    /// Changes the texts before they are stored.
    pub(crate) fn tampered(mut self, change: impl Fn(String) -> String + Send + Sync + 'static) -> Self {
        self.change = Box::new(change);
        self
    }

    /// Keeps `held` until the store is dropped.
    pub(crate) fn holding(mut self, held: impl Any + Send + Sync) -> Self {
        self.held = Some(Box::new(held));
        self
    }

    /// Grants every lease, as for one worker at a time. So nobody waits for the lease of a dead worker.
    pub(crate) fn alone(mut self) -> Self {
        self.is_alone = true;
        self
    }

    pub(crate) fn shared(self) -> Arc<dyn Store> {
        Arc::new(self)
    }
}

impl Store for Wrapped {
    fn append<'a>(&'a self, run: &'a RunId, append: Append) -> Promise<'a, ()> {
        Box::pin(async move {
            (self.append)(append.clone()).await?;
            self.inner.append(run, append).await
        })
    }

    fn load<'a>(&'a self, run: &'a RunId) -> Promise<'a, Option<Stored>> {
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

    fn snapshot<'a>(&'a self, run: &'a RunId, rev: u64, text: String) -> Promise<'a, ()> {
        self.inner.snapshot(run, rev, text)
    }

    fn lease<'a>(&'a self, run: &'a RunId, worker: &'a str, now: Time, ttl: Duration) -> Promise<'a, Lease> {
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

    fn waiting<'a>(&'a self, filter: &'a Waiting) -> Promise<'a, Vec<WaitingItem>> {
        self.inner.waiting(filter)
    }

    fn due(&self, now: Time, limit: usize) -> Promise<'_, Vec<RunId>> {
        self.inner.due(now, limit)
    }

    fn list<'a>(&'a self, owner: &'a Principal, page: Range<usize>) -> Promise<'a, Vec<RunItem>> {
        self.inner.list(owner, page)
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> Promise<'a, bool> {
        self.inner.delete(run)
    }
}
