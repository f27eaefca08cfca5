//! A shared store is a store.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;

use super::{Append, Lease, Record, Store, StoreError, Stored, Waiting, WaitingItem};
use crate::run::{RunId, Time};

impl<S: Store + ?Sized> Store for Arc<S> {
    fn append<'a>(&'a self, run: &'a RunId, append: Append) -> BoxFuture<'a, Result<(), StoreError>> {
        (**self).append(run, append)
    }

    fn load<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<Stored>, StoreError>> {
        (**self).load(run)
    }

    fn read<'a>(&'a self, run: &'a RunId, rev: u64) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        (**self).read(run, rev)
    }

    fn snapshot<'a>(&'a self, run: &'a RunId, rev: u64, text: String) -> BoxFuture<'a, Result<(), StoreError>> {
        (**self).snapshot(run, rev, text)
    }

    fn lease<'a>(
        &'a self,
        run: &'a RunId,
        worker: &'a str,
        now: Time,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        (**self).lease(run, worker, now, ttl)
    }

    fn release<'a>(&'a self, run: &'a RunId, lease: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        (**self).release(run, lease)
    }

    fn waiting<'a>(&'a self, filter: &'a Waiting) -> BoxFuture<'a, Result<Vec<WaitingItem>, StoreError>> {
        (**self).waiting(filter)
    }

    fn due(&self, now: Time, limit: usize) -> BoxFuture<'_, Result<Vec<RunId>, StoreError>> {
        (**self).due(now, limit)
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        (**self).delete(run)
    }
}
