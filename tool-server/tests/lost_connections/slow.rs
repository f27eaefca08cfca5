//! Stores that return some polls later, so that a request waits wherever it calls a store.

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::task::yield_now;
use tool_runtime::{
    run::{Principal, RunId, Timestamp},
    store::{Append, Lease, MemoryStore, Record, RunItem, Store, StoreError, StoredRun, WaitingFilter, WaitingItem},
};
use tool_stores::sealed::{MemoryNonces, NonceStore};

/// A store in memory that returns some polls later.
#[derive(Default)]
pub(crate) struct SlowStore(MemoryStore);

/// Yields before and after `call`.
fn slow_down<'a, T: Send + 'a>(call: BoxFuture<'a, T>) -> BoxFuture<'a, T> {
    Box::pin(async move {
        yield_now().await;
        let result = call.await;
        yield_now().await;
        result
    })
}

impl Store for SlowStore {
    fn append<'a>(&'a self, run: &'a RunId, append: Append) -> BoxFuture<'a, Result<(), StoreError>> {
        slow_down(Box::pin(async move { self.0.append(run, append).await }))
    }

    fn load<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<StoredRun>, StoreError>> {
        slow_down(Box::pin(async move { self.0.load(run).await }))
    }

    fn read<'a>(&'a self, run: &'a RunId, rev: u64) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        slow_down(Box::pin(async move { self.0.read(run, rev).await }))
    }

    fn save_snapshot<'a>(&'a self, run: &'a RunId, rev: u64, text: String) -> BoxFuture<'a, Result<(), StoreError>> {
        slow_down(Box::pin(async move { self.0.save_snapshot(run, rev, text).await }))
    }

    fn lease<'a>(
        &'a self,
        run: &'a RunId,
        worker: &'a str,
        now: Timestamp,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        slow_down(Box::pin(async move { self.0.lease(run, worker, now, ttl).await }))
    }

    fn release<'a>(&'a self, run: &'a RunId, lease: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        slow_down(Box::pin(async move { self.0.release(run, lease).await }))
    }

    fn waiting<'a>(&'a self, filter: &'a WaitingFilter) -> BoxFuture<'a, Result<Vec<WaitingItem>, StoreError>> {
        slow_down(Box::pin(async move { self.0.waiting(filter).await }))
    }

    fn due(&self, now: Timestamp, limit: usize) -> BoxFuture<'_, Result<Vec<RunId>, StoreError>> {
        slow_down(Box::pin(async move { self.0.due(now, limit).await }))
    }

    fn list<'a>(&'a self, owner: &'a Principal, page: Range<usize>) -> BoxFuture<'a, Result<Vec<RunItem>, StoreError>> {
        slow_down(Box::pin(async move { self.0.list(owner, page).await }))
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        slow_down(Box::pin(async move { self.0.delete(run).await }))
    }
}

/// Spent nonces in memory, in a store that returns some polls later.
#[derive(Default)]
pub(crate) struct SlowNonces {
    nonces: MemoryNonces,
    /// Set while the store cannot be reached.
    pub(crate) is_unavailable: AtomicBool,
}

impl NonceStore for SlowNonces {
    fn spend<'a>(
        &'a self,
        nonce: &'a str,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        slow_down(Box::pin(async move {
            if self.is_unavailable.load(Ordering::SeqCst) {
                return Err(StoreError::unavailable("the database is away"));
            }
            self.nonces.spend(nonce, expires, now).await
        }))
    }
}
