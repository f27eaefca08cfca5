//! The `Store` of runs on Restate, which every process uses.

use std::{cmp::Reverse, ops::Range, time::Duration};

use futures_util::{
    future::{BoxFuture, ready},
    stream::BoxStream,
};
use http::{Method, StatusCode};
use restate_sdk::ingress::{CallResponse, ClientError};
use restate_sdk::serde::{self as payload, Json};
use serde::{Deserialize, de::DeserializeOwned};
use tool_runtime::run::{Interrupt, Principal, RunId, Timestamp};
use tool_runtime::store::{
    Append, Keeper, Lease, Record, RunItem, Store, StoreError, StoredRun, WaitingFilter, WaitingItem,
};

use crate::engine::{Http, RestateStore};
use crate::keeper::RestateKeeper;
use crate::log::ToolRunIngressClient;
use crate::wire::{Appended, Entries, MAX_APPEND_BYTES, RunHead, now};

/// Selects all heads from the server's table of states.
const HEADS: &str = "SELECT service_key, value_utf8 FROM state WHERE service_name = 'ToolRun' AND key = 'head'";

/// Selects the invocations that wait for another try at an address, although the server sends new ones to another address.
const LOST: &str = "SELECT i.id, i.target_service_key FROM sys_invocation i JOIN sys_service s ON s.name = i.target_service_name \
     WHERE i.target_service_name IN ('ToolDriver', 'ToolRun') AND i.status = 'backing-off' \
     AND i.pinned_deployment_id <> s.deployment_id";

/// The answer to a query.
#[derive(Deserialize)]
struct Rows<T> {
    rows: Vec<T>,
}

#[derive(Deserialize)]
struct LostRow {
    id: String,
    target_service_key: String,
}

#[derive(Deserialize)]
struct HeadRow {
    service_key: String,
    value_utf8: String,
}

/// The answer of the server to a request that failed.
#[derive(Deserialize)]
struct Refusal {
    message: String,
}

/// Returns the value of a response, or an error that states what to do.
fn response<T: payload::Deserialize>(called: Result<CallResponse<Http, T>, ClientError>) -> Result<T, StoreError> {
    called.and_then(CallResponse::into_body).map_err(|error| {
        let Some(response) = error.response() else { return StoreError::unavailable(error) };
        let body = String::from_utf8_lossy(response.body());
        let text = serde_json::from_str(&body).map_or_else(|_| body.into_owned(), |Refusal { message }| message);
        let advice = match response.status() {
            StatusCode::NOT_FOUND => "; start a process with `RestateStore::serve`, and call `RestateStore::register`",
            StatusCode::INTERNAL_SERVER_ERROR => {
                "; call `RestateStore::register` with the address of a process that serves"
            }
            _ => "",
        };
        StoreError::unavailable(format!("no process answered for the run: {text}{advice}"))
    })
}

impl RestateStore {
    fn log(&self, run: &RunId) -> ToolRunIngressClient<Http> {
        ToolRunIngressClient::from_client(self.shared.client.clone(), run.as_str())
    }

    /// Returns the records after the first `known` entries, page by page; `None` if there is no such run.
    async fn read_records(&self, run: &RunId, mut known: u64) -> Result<Option<Vec<Record>>, StoreError> {
        let mut records = Vec::new();
        loop {
            let Json(page) = response(self.log(run).page(known).call().await)?;
            let Some(mut page) = page else { return Ok(None) };
            if page.records.is_empty() && page.rev > known {
                let Json(loaded) = response(self.log(run).load().call().await)?;
                let Some(loaded) = loaded else { return Ok(None) };
                page = loaded;
            }
            let is_empty = page.records.is_empty();
            records.extend(page.records);
            known = records.last().map_or(known, |last| last.rev + last.count);
            if known >= page.rev || is_empty {
                return Ok(Some(records));
            }
        }
    }

    pub(crate) async fn append_entries(&self, run: &RunId, entries: Entries) -> Result<Appended, StoreError> {
        let Json(appended) = response(self.log(run).append(Json(entries)).call().await)?;
        Ok(appended)
    }

    /// Counts a drive that begins.
    pub(crate) async fn begin_drive(&self, run: &RunId) -> Result<(), StoreError> {
        response(self.log(run).begin().call().await)
    }

    /// Makes sure that the run is driven, if it is due: ends an invocation that waits for a process that is gone, and starts the
    /// driver if an operator has ended its invocation.
    pub(crate) async fn wake(&self, run: &RunId) -> Result<(), StoreError> {
        self.end_lost(Some(run)).await?;
        response(self.log(run).wake(Json(now())).call().await)
    }

    /// Ends the invocations of `run`, or of all runs, that wait for an address that does not answer while another address was
    /// registered later. Their runs are driven there.
    pub(crate) async fn end_lost(&self, run: Option<&RunId>) -> Result<(), StoreError> {
        let of_run = run.map(|run| format!(" AND i.target_service_key = '{}'", run.as_str().replace('\'', "''")));
        let query = format!("{LOST}{}", of_run.unwrap_or_default());
        let lost: Rows<LostRow> = self.query(query).await?;
        for LostRow { id, target_service_key } in &lost.rows {
            // It may have ended in the meantime.
            let _ = self.send_to_admin(Method::PATCH, &format!("invocations/{id}/kill"), String::new()).await;
            if run.is_none() {
                response(self.log(&RunId::from(target_service_key.as_str())).wake(Json(now())).call().await)?;
            }
        }
        Ok(())
    }

    async fn query<T: DeserializeOwned>(&self, query: String) -> Result<Rows<T>, StoreError> {
        let body = serde_json::json!({ "query": query }).to_string();
        let response = self.send_to_admin(Method::POST, "query", body).await?;
        serde_json::from_slice(&response).map_err(StoreError::unavailable)
    }

    /// Reads the head of `run`, or of all runs.
    async fn read_heads(&self, run: Option<&RunId>) -> Result<Vec<(RunId, RunHead)>, StoreError> {
        if let Some(run) = run {
            let Json(kept) = response(self.log(run).head().call().await)?;
            return Ok(kept.map(|kept| (run.clone(), kept)).into_iter().collect());
        }
        let heads: Rows<HeadRow> = self.query(HEADS.to_owned()).await?;
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
            if append.text.len() > MAX_APPEND_BYTES {
                return Err(StoreError::TooLarge { bytes: append.text.len(), limit: MAX_APPEND_BYTES });
            }
            let length = append.expected + append.count;
            self.append_entries(run, Entries::new(append, now())).await?.into_result()?;
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
            let deleted = response(self.log(run).delete().call().await)?;
            self.shared.lengths.report(run, u64::MAX);
            Ok(deleted)
        })
    }

    fn keeper(&self, run: &RunId) -> Option<Box<dyn Keeper>> {
        Some(Box::new(RestateKeeper::new(self.clone(), run)))
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
