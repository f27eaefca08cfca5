//! What is asked of the server.

use std::time::Duration;

use deadpool_postgres::Object;
use tokio_postgres::Row;

use super::{
    Append, Broken, Lease, PostgresStore, Record, StoreError, Stored, Waiting, WaitingItem, pool,
    text::{named, stored},
};
use crate::{
    number::{signed, size, time, unsigned},
    rows::waiting_item,
};
use tool_runtime::run::{RunId, Time};

/// What a row of a run's parts is.
const SNAPSHOT: i32 = 1;
const RECORD: i32 = 2;

impl PostgresStore {
    pub(super) async fn db(&self) -> Result<Object, Broken> {
        pool::connection(&self.pool).await
    }

    /// Adds; where the connection was lost before the answer came, another tells whether it was added.
    pub(super) async fn add_once(&self, run: &RunId, append: &Append) -> Result<(), Broken> {
        match self.add(run, append).await {
            Err(Broken::Lost(_)) => self.forget(),
            other => return other,
        }
        if self.has(run, append).await? { Ok(()) } else { self.add(run, append).await }
    }

    /// Whether just this was added there. The same from another, word for word and of the same millisecond, is as good.
    async fn has(&self, run: &RunId, append: &Append) -> Result<bool, Broken> {
        let db = self.db().await?;
        let statement = db.prepare_cached(&self.sql.has).await?;
        let row = db.query_opt(&statement, &[&stored(run.as_str()), &signed(append.expected), &append.text]).await?;
        Ok(row.is_some())
    }

    async fn add(&self, run: &RunId, append: &Append) -> Result<(), Broken> {
        let db = self.db().await?;
        let Append { expected, count, text, lease, head } = append;
        let id = stored(run.as_str());
        let token = lease.as_ref().map(|lease| signed(lease.token));
        let opened: Vec<String> = head.opened.iter().map(|open| stored(&open.id.to_string()).into_owned()).collect();
        // What is opened anew is written over: a statement cannot delete and insert one row.
        let closed = head.closed.iter().map(|id| stored(&id.to_string()).into_owned());
        let closed: Vec<String> = closed.filter(|id| !opened.contains(id)).collect();
        let since: Vec<i64> = head.opened.iter().map(|open| signed(open.since.0)).collect();
        let bodies = head.opened.iter().map(serde_json::to_string);
        let bodies: Vec<String> = bodies.collect::<Result<_, _>>().map_err(StoreError::unavailable)?;
        let (mut principals, mut which) = (Vec::new(), Vec::<i32>::new());
        for (nth, open) in (1..).zip(&head.opened) {
            for principal in head.deciders(open) {
                principals.push(stored(principal.as_str()));
                which.push(nth);
            }
        }
        // A run that was leased is there.
        let is_new = *expected == 0 && lease.is_none();
        let statement = db.prepare_cached(if is_new { &self.sql.create } else { &self.sql.append }).await?;
        let (rev, count, due) = (signed(*expected), signed(*count), head.due().map(|time| signed(time.0)));
        let owner = stored(head.owner.as_str());
        let done = db
            .query_opt(
                &statement,
                &[
                    &id,
                    &rev,
                    &token,
                    &count,
                    &due,
                    &text,
                    &closed,
                    &opened,
                    &since,
                    &bodies,
                    &principals,
                    &owner,
                    &which,
                ],
            )
            .await?;
        match done {
            Some(_) => Ok(()),
            None => Err(self.refusal(&db, run, *expected, token).await?.into()),
        }
    }

    /// Why nothing was added.
    async fn refusal(&self, db: &Object, run: &RunId, expected: u64, token: Option<i64>) -> Result<StoreError, Broken> {
        let statement = db.prepare_cached(&self.sql.state).await?;
        let Some(row) = db.query_opt(&statement, &[&stored(run.as_str())]).await? else {
            return Ok(if expected == 0 { StoreError::Fenced } else { StoreError::NotFound });
        };
        let is_latest = token.is_none_or(|token| token == row.get::<_, i64>(1));
        Ok(if is_latest { StoreError::Conflict } else { StoreError::Fenced })
    }

    pub(super) async fn stored(&self, run: &RunId) -> Result<Option<Stored>, Broken> {
        let db = self.db().await?;
        let statement = db.prepare_cached(&self.sql.load).await?;
        let rows = db.query(&statement, &[&stored(run.as_str())]).await?;
        if rows.is_empty() {
            return Ok(None);
        }
        let snapshot = rows.iter().find(|row| row.get::<_, i32>(0) == SNAPSHOT).map(|row| row.get(3));
        Ok(Some(Stored::new(snapshot, records(&rows))))
    }

    pub(super) async fn records(&self, run: &RunId, rev: u64) -> Result<Vec<Record>, Broken> {
        let db = self.db().await?;
        let statement = db.prepare_cached(&self.sql.read).await?;
        let rows = db.query(&statement, &[&stored(run.as_str()), &signed(rev)]).await?;
        if rows.is_empty() {
            return Err(StoreError::NotFound.into());
        }
        Ok(records(&rows))
    }

    pub(super) async fn keep(&self, run: &RunId, rev: u64, text: &str) -> Result<(), Broken> {
        let db = self.db().await?;
        let statement = db.prepare_cached(&self.sql.snapshot).await?;
        db.execute(&statement, &[&stored(run.as_str()), &signed(rev), &text]).await?;
        Ok(())
    }

    pub(super) async fn take(&self, run: &RunId, worker: &str, now: Time, ttl: Duration) -> Result<Lease, Broken> {
        let db = self.db().await?;
        let until = now.after(ttl);
        let id = stored(run.as_str());
        let statement = db.prepare_cached(&self.sql.lease).await?;
        let row = db.query_opt(&statement, &[&id, &stored(worker), &signed(now.0), &signed(until.0)]).await?;
        if let Some(row) = row {
            return Ok(Lease::new(unsigned(row.get(0)), worker, until));
        }
        let statement = db.prepare_cached(&self.sql.held).await?;
        let row = db.query_opt(&statement, &[&id]).await?.ok_or(StoreError::NotFound)?;
        // Given back in between: it is free now.
        let until = row.get::<_, Option<i64>>(1).map_or(now, time);
        Err(StoreError::Leased { until }.into())
    }

    pub(super) async fn give_back(&self, run: &RunId, token: u64) -> Result<(), Broken> {
        let db = self.db().await?;
        let statement = db.prepare_cached(&self.sql.release).await?;
        db.execute(&statement, &[&stored(run.as_str()), &signed(token)]).await?;
        Ok(())
    }

    pub(super) async fn items(&self, filter: &Waiting) -> Result<Vec<WaitingItem>, Broken> {
        let db = self.db().await?;
        let run = filter.run.as_ref().map(|run| stored(run.as_str()));
        let (limit, offset) = (size(filter.most()), size(filter.offset));
        let rows = match &filter.principal {
            None => {
                let statement = db.prepare_cached(&self.sql.waiting).await?;
                db.query(&statement, &[&run, &limit, &offset]).await?
            }
            Some(principal) => {
                let statement = db.prepare_cached(&self.sql.waiting_by).await?;
                db.query(&statement, &[&run, &limit, &offset, &stored(principal.as_str())]).await?
            }
        };
        let item = |row: &Row| waiting_item(named(row.get(0)), named(row.get(1)), row.get(2));
        Ok(rows.iter().map(item).collect::<Result<_, _>>()?)
    }

    pub(super) async fn runs(&self, now: Time, limit: usize) -> Result<Vec<RunId>, Broken> {
        let db = self.db().await?;
        let statement = db.prepare_cached(&self.sql.due).await?;
        let rows = db.query(&statement, &[&signed(now.0), &size(limit)]).await?;
        Ok(rows.iter().map(|row| RunId::from(named(row.get(0)))).collect())
    }

    pub(super) async fn remove(&self, run: &RunId) -> Result<bool, Broken> {
        let db = self.db().await?;
        let statement = db.prepare_cached(&self.sql.delete).await?;
        Ok(db.execute(&statement, &[&stored(run.as_str())]).await? > 0)
    }
}

fn records(rows: &[Row]) -> Vec<Record> {
    let parts = rows.iter().filter(|row| row.get::<_, i32>(0) == RECORD);
    parts.map(|row| Record::new(unsigned(row.get(1)), unsigned(row.get(2)), row.get(3))).collect()
}
