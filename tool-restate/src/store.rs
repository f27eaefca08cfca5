//! The `Store` of runs on Restate, which every process uses.

use std::{cmp::Reverse, ops::Range, time::Duration};

use futures_util::{
    future::{BoxFuture, ready},
    stream::BoxStream,
};
use restate_sdk::ingress::CallResponse;
use restate_sdk::serde::Json;
use serde::Deserialize;
use tool_runtime::run::{Interrupt, Principal, RunId, Timestamp};
use tool_runtime::store::{
    Append, Keeper, Lease, Record, RunItem, Store, StoreError, StoredRun, WaitingFilter, WaitingItem,
};

use crate::engine::{Http, RestateStore};
use crate::keeper::RestateKeeper;
use crate::log::ToolRunIngressClient;
use crate::wire::{Entries, RunHead, now};

/// Selects all heads from the server's table of states.
const HEADS: &str = "SELECT service_key, value_utf8 FROM state WHERE service_name = 'ToolRun' AND key = 'head'";

#[derive(Deserialize)]
struct Heads {
    rows: Vec<HeadRow>,
}

#[derive(Deserialize)]
struct HeadRow {
    service_key: String,
    value_utf8: String,
}

impl RestateStore {
    fn log(&self, run: &RunId) -> ToolRunIngressClient<Http> {
        ToolRunIngressClient::from_client(self.shared.client.clone(), run.as_str())
    }

    async fn read_records(&self, run: &RunId, known: u64) -> Result<Option<Vec<Record>>, StoreError> {
        let log = self.log(run);
        // The handler `load` gets all records with the object's state. `read` fetches only the records that it needs.
        let response = if known == 0 { log.load().call().await } else { log.read(known).call().await };
        let Json(records) = response.and_then(CallResponse::into_body).map_err(StoreError::unavailable)?;
        Ok(records)
    }

    /// Reads the head of `run`, or of all runs.
    async fn read_heads(&self, run: Option<&RunId>) -> Result<Vec<(RunId, RunHead)>, StoreError> {
        if let Some(run) = run {
            let response = self.log(run).head().call().await;
            let Json(kept) = response.and_then(CallResponse::into_body).map_err(StoreError::unavailable)?;
            return Ok(kept.map(|kept| (run.clone(), kept)).into_iter().collect());
        }
        let response = self.post_to_admin("query", serde_json::json!({ "query": HEADS }).to_string()).await?;
        let heads: Heads = serde_json::from_slice(&response).map_err(StoreError::unavailable)?;
        let head = |row: HeadRow| match serde_json::from_str(&row.value_utf8) {
            Ok(kept) => Ok((RunId::from(row.service_key), kept)),
            Err(error) => Err(StoreError::unavailable(error)),
        };
        heads.rows.into_iter().map(head).collect()
    }
}

impl Store for RestateStore {
    fn append<'a>(&'a self, run: &'a RunId, append: Append) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let length = append.expected + append.count;
            let response = self.log(run).append(Json(Entries::new(append, now()))).call().await;
            let Json(appended) = response.and_then(CallResponse::into_body).map_err(StoreError::unavailable)?;
            appended.into_result()?;
            self.shared.lengths.report(run, length);
            Ok(())
        })
    }

    fn load<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<StoredRun>, StoreError>> {
        Box::pin(async move { Ok(self.read_records(run, 0).await?.map(|records| StoredRun::new(None, records))) })
    }

    fn read<'a>(&'a self, run: &'a RunId, rev: u64) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        Box::pin(async move { self.read_records(run, rev).await?.ok_or(StoreError::NotFound) })
    }

    /// Stores nothing: the records are enough.
    fn save_snapshot<'a>(&'a self, _: &'a RunId, _: u64, _: String) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    fn lease<'a>(
        &'a self,
        _: &'a RunId,
        _: &'a str,
        _: Timestamp,
        _: Duration,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        Box::pin(ready(Err(StoreError::unavailable("Restate drives this run, without leases"))))
    }

    fn release<'a>(&'a self, _: &'a RunId, _: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(ready(Ok(())))
    }

    fn waiting<'a>(&'a self, filter: &'a WaitingFilter) -> BoxFuture<'a, Result<Vec<WaitingItem>, StoreError>> {
        Box::pin(async move {
            let mut items = Vec::new();
            let mut heads = self.read_heads(filter.run.as_ref()).await?;
            heads.sort_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
            for (run, kept) in &heads {
                let may =
                    |open: &Interrupt| filter.principal.as_ref().is_none_or(|by| open.may_be_decided(&kept.owner, by));
                let open = kept.open.iter().filter(|open| may(open));
                items.extend(open.map(|open| WaitingItem::new(run.clone(), kept.owner.clone(), open.clone())));
            }
            items.sort_by_key(|item| item.interrupt.opened_at);
            Ok(items.into_iter().skip(filter.offset).take(filter.max_items()).collect())
        })
    }

    /// Returns no runs, because Restate resumes them.
    fn due(&self, _: Timestamp, _: usize) -> BoxFuture<'_, Result<Vec<RunId>, StoreError>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn list<'a>(&'a self, owner: &'a Principal, page: Range<usize>) -> BoxFuture<'a, Result<Vec<RunItem>, StoreError>> {
        Box::pin(async move {
            let mut heads = self.read_heads(None).await?;
            heads.retain(|(_, kept)| kept.owner == *owner);
            heads.sort_by(|(one, _), (other, _)| other.as_str().cmp(one.as_str()));
            heads.sort_by_key(|(_, kept)| Reverse(kept.changed));
            let item =
                |(run, kept): (RunId, RunHead)| RunItem::new(run, kept.title, kept.changed.unwrap_or(Timestamp(0)));
            Ok(heads.into_iter().skip(page.start).take(page.len()).map(item).collect())
        })
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let response = self.log(run).delete().call().await;
            let deleted = response.and_then(CallResponse::into_body).map_err(StoreError::unavailable)?;
            self.shared.lengths.report(run, u64::MAX);
            Ok(deleted)
        })
    }

    fn keeper(&self, run: &RunId) -> Option<Box<dyn Keeper>> {
        let length = self.shared.lengths.of(run);
        Some(Box::new(RestateKeeper { store: self.clone(), run: run.clone(), length }))
    }

    fn publish(&self, run: &RunId, piece: String) {
        self.pieces.publish(run, piece);
    }

    fn pieces(&self, run: &RunId) -> Option<BoxStream<'static, String>> {
        self.pieces.pieces(run)
    }

    fn watch_readers(&self, run: &RunId) -> Option<BoxStream<'static, bool>> {
        self.pieces.watch_readers(run)
    }
}
