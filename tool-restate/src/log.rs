//! The virtual object that has the log of a run. Each of its handlers is short, so a decision never waits for the driver.
//!
//! Restate keeps nothing of an invocation that has ended: a deleted run leaves no texts behind. If no process serves, Restate ends a
//! request after some tries. So the caller receives an error, and nothing is left that Restate tries for ever.

use std::time::Duration;

use restate_sdk::prelude::*;
use tool_runtime::run::Timestamp;
use tool_runtime::store::Record;

use crate::drive::ToolDriverClient;
use crate::wire::{Appended, Entries, Page, RunHead};

const HEAD: &str = "head";

/// The maximum size in bytes of the texts in a page of records, unless a single one is longer.
const PAGE_BYTES: usize = 4 << 20;

/// The number of records from which on a request for each of them is slow.
const MANY_RECORDS: usize = 100;

/// The log of a run.
pub struct ToolRun;

#[object(
    journal_retention = "0s",
    idempotency_retention = "0s",
    lazy_state,
    invocation_retry_policy(
        initial_interval = "50ms",
        factor = 2.0,
        max_interval = "1s",
        max_attempts = 20,
        on_max_attempts = "kill"
    )
)]
impl ToolRun {
    /// Appends entries of a decision, a message or a stop, and starts the driver when the run is due.
    #[handler]
    async fn append(&self, ctx: ObjectContext<'_>, entries: Json<Entries>) -> HandlerResult<Json<Appended>> {
        let before = head(&ctx).await?;
        let appended = match RunHead::after(before.clone(), &entries.0) {
            Ok(kept) => {
                let kept = RunHead { failed: (0, 0), ..kept };
                store(&ctx, &kept, &entries.0);
                if let Some(after) = entries.0.due() {
                    start_driver(&ctx, &kept, after);
                }
                Appended::Yes
            }
            Err(refused) => {
                if let Some(kept) = before.filter(|_| refused == Appended::Conflict) {
                    let failed = (kept.failed.0.saturating_add(1), kept.failed.1);
                    ctx.set(HEAD, Json(RunHead { failed, ..kept }));
                }
                refused
            }
        };
        Ok(Json(appended))
    }

    /// Appends entries of the driver, which continues by itself. The driver waits for this, as long as it takes.
    #[handler(ingress_private, invocation_retry_policy(max_attempts = 1_000_000_000))]
    async fn record(&self, ctx: ObjectContext<'_>, entries: Json<Entries>) -> HandlerResult<Json<Appended>> {
        Ok(Json(match RunHead::after(head(&ctx).await?, &entries.0) {
            Ok(mut kept) => {
                let (failed, before) = kept.failed;
                kept.failed.1 = failed;
                store(&ctx, &kept, &entries.0);
                if failed > before { Appended::YesBeforeOthers(failed) } else { Appended::Yes }
            }
            Err(refused) => refused,
        }))
    }

    /// Counts a drive that begins. Later appends then start another one.
    #[handler]
    async fn begin(&self, ctx: ObjectContext<'_>) -> HandlerResult<()> {
        if let Some(kept) = head(&ctx).await? {
            ctx.set(HEAD, Json(RunHead { drives: kept.drives + 1, ..kept }));
        }
        Ok(())
    }

    /// Starts the driver again if the run is due. An operator may have ended the driver's invocation.
    #[handler]
    async fn wake(&self, ctx: SharedObjectContext<'_>, now: Json<Timestamp>) -> HandlerResult<()> {
        if let Some(kept) = ctx.get::<Json<RunHead>>(HEAD).await?.map(|kept| kept.0)
            && kept.due.is_some_and(|due| due <= now.0)
        {
            let drive = ctx.object_client::<ToolDriverClient>(ctx.key()).drive();
            drive.idempotency_key(kept.drives.to_string()).send();
        }
        Ok(())
    }

    /// Returns the next records after the first `known` entries, or nothing if there is no run with so many entries. If all records
    /// are asked for, and they are many and small, returns none of them: [`load`](Self::load) is faster.
    #[handler]
    async fn page(&self, ctx: SharedObjectContext<'_>, known: u64) -> HandlerResult<Json<Option<Page>>> {
        read_page(&ctx, known, known == 0).await
    }

    /// Returns the first page of records. Restate sends the whole state with the request, which is faster than a request for each
    /// record, but must not be longer than a message.
    #[handler(lazy_state = false)]
    async fn load(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Option<Page>>> {
        read_page(&ctx, 0, false).await
    }

    /// Returns the head.
    #[handler]
    async fn head(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Option<RunHead>>> {
        Ok(Json(ctx.get::<Json<RunHead>>(HEAD).await?.map(|kept| kept.0)))
    }

    /// Deletes the run. Returns whether there was one.
    #[handler]
    async fn delete(&self, ctx: ObjectContext<'_>) -> HandlerResult<bool> {
        let is_there = head(&ctx).await?.is_some();
        ctx.clear_all();
        Ok(is_there)
    }
}

async fn read_page(ctx: &SharedObjectContext<'_>, known: u64, or_none: bool) -> HandlerResult<Json<Option<Page>>> {
    let Some(Json(RunHead { rev, .. })) = ctx.get::<Json<RunHead>>(HEAD).await?.filter(|kept| kept.0.rev >= known)
    else {
        return Ok(Json(None));
    };
    let mut records = Vec::new();
    if rev > known {
        let mut keys: Vec<_> = ctx.get_keys().await?.into_iter().filter_map(RecordKey::parse).collect();
        keys.retain(|key| key.rev + key.count > known);
        if or_none && keys.len() > MANY_RECORDS && keys.iter().map(|key| key.bytes).sum::<usize>() <= PAGE_BYTES {
            return Ok(Json(Some(Page { rev, records })));
        }
        keys.sort_unstable_by_key(|key| key.rev);
        let mut bytes = 0;
        let is_in_page = |key: &RecordKey| {
            let is_first = bytes == 0;
            bytes += key.bytes;
            is_first || bytes <= PAGE_BYTES
        };
        let keys: Vec<_> = keys.into_iter().take_while(is_in_page).collect();
        // All requests are sent before the first response is awaited.
        let texts: Vec<_> = keys.iter().map(|key| ctx.get::<String>(&key.name)).collect();
        for (key, text) in keys.iter().zip(texts) {
            records.push(Record::new(key.rev, key.count, text.await?.unwrap_or_default()));
        }
    }
    Ok(Json(Some(Page { rev, records })))
}

async fn head(ctx: &ObjectContext<'_>) -> HandlerResult<Option<RunHead>> {
    Ok(ctx.get::<Json<RunHead>>(HEAD).await?.map(|kept| kept.0))
}

/// Stores entries with the head after them. The object's lock makes this atomic with the comparison before.
fn store(ctx: &ObjectContext<'_>, kept: &RunHead, entries: &Entries) {
    let Entries { expected: rev, count, text, .. } = entries;
    ctx.set(&format!("log/{rev}/{count}/{}", text.len()), text.clone());
    ctx.set(HEAD, Json(kept.clone()));
}

/// Starts the driver after the given number of milliseconds. Restate drops a start at once if one with the same key waits.
fn start_driver(ctx: &ObjectContext<'_>, kept: &RunHead, after: u64) {
    let drive = ctx.object_client::<ToolDriverClient>(ctx.key()).drive();
    if after == 0 {
        drive.idempotency_key(kept.drives.to_string()).send();
    } else {
        drive.send_after(Duration::from_millis(after));
    }
}

/// The key of a record in the object's state.
struct RecordKey {
    name: String,
    rev: u64,
    count: u64,
    /// The size of the record's text.
    bytes: usize,
}

impl RecordKey {
    fn parse(name: String) -> Option<Self> {
        let mut parts = name.strip_prefix("log/")?.split('/');
        let (rev, count) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        // Keys of earlier versions lack the size.
        let bytes = parts.next().map_or(Some(PAGE_BYTES / 16), |bytes| bytes.parse().ok())?;
        Some(Self { name, rev, count, bytes })
    }
}
