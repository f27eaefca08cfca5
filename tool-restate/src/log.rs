//! The virtual object that has the log of a run. Each of its handlers is short, so a decision never waits for the driver.

use restate_sdk::prelude::*;
use tool_runtime::store::Record;

use crate::drive::ToolDriverClient;
use crate::wire::{Appended, Entries, RunHead};

const HEAD: &str = "head";

/// The log of a run.
pub struct ToolRun;

#[object]
impl ToolRun {
    /// Appends entries of a decision, a message or a stop, and starts the driver when the run is due.
    #[handler(lazy_state)]
    async fn append(&self, ctx: ObjectContext<'_>, entries: Json<Entries>) -> HandlerResult<Json<Appended>> {
        let appended = add(&ctx, &entries.0).await?;
        if let Some(after) = entries.0.due().filter(|_| appended == Appended::Yes) {
            let drive = ctx.object_client::<ToolDriverClient>(ctx.key()).drive();
            if after == 0 {
                drive.send();
            } else {
                drive.send_after(std::time::Duration::from_millis(after));
            }
        }
        Ok(Json(appended))
    }

    /// Appends entries of the driver, which continues by itself.
    #[handler(lazy_state, ingress_private)]
    async fn record(&self, ctx: ObjectContext<'_>, entries: Json<Entries>) -> HandlerResult<Json<Appended>> {
        Ok(Json(add(&ctx, &entries.0).await?))
    }

    /// Returns the records after the first `known` entries, or nothing if there is no such run.
    #[handler(lazy_state)]
    async fn read(&self, ctx: SharedObjectContext<'_>, known: u64) -> HandlerResult<Json<Option<Vec<Record>>>> {
        read_records(&ctx, known).await
    }

    /// Returns all records, or nothing if there is no such run.
    #[handler]
    async fn load(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Option<Vec<Record>>>> {
        read_records(&ctx, 0).await
    }

    /// Returns the head.
    #[handler(lazy_state)]
    async fn head(&self, ctx: SharedObjectContext<'_>) -> HandlerResult<Json<Option<RunHead>>> {
        Ok(Json(ctx.get::<Json<RunHead>>(HEAD).await?.map(|kept| kept.0)))
    }

    /// Deletes the run. Returns whether there was one.
    #[handler(lazy_state)]
    async fn delete(&self, ctx: ObjectContext<'_>) -> HandlerResult<bool> {
        let is_there = ctx.get::<Json<RunHead>>(HEAD).await?.is_some();
        ctx.clear_all();
        Ok(is_there)
    }
}

/// Appends entries by compare-and-set. The object's lock makes this atomic.
async fn add(ctx: &ObjectContext<'_>, entries: &Entries) -> HandlerResult<Appended> {
    let before = ctx.get::<Json<RunHead>>(HEAD).await?.map(|kept| kept.0);
    match RunHead::after(before, entries) {
        Ok(kept) => {
            ctx.set(&key(entries.expected, entries.count), entries.text.clone());
            ctx.set(HEAD, Json(kept));
            Ok(Appended::Yes)
        }
        Err(refused) => Ok(refused),
    }
}

async fn read_records(ctx: &SharedObjectContext<'_>, known: u64) -> HandlerResult<Json<Option<Vec<Record>>>> {
    let Some(Json(kept)) = ctx.get::<Json<RunHead>>(HEAD).await? else { return Ok(Json(None)) };
    let mut records = Vec::new();
    if kept.rev > known {
        let mut keys: Vec<_> = ctx.get_keys().await?.iter().filter_map(|key| parse_key(key)).collect();
        keys.sort_unstable();
        for (rev, count) in keys.into_iter().filter(|(rev, count)| rev + count > known) {
            let text = ctx.get::<String>(&key(rev, count)).await?.unwrap_or_default();
            records.push(Record::new(rev, count, text));
        }
    }
    Ok(Json(Some(records)))
}

/// Returns the key of a record.
fn key(rev: u64, count: u64) -> String {
    format!("log/{rev}/{count}")
}

/// Parses the key of a record.
fn parse_key(key: &str) -> Option<(u64, u64)> {
    let (rev, count) = key.strip_prefix("log/")?.split_once('/')?;
    Some((rev.parse().ok()?, count.parse().ok()?))
}
