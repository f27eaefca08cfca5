//! Changes of the file. Each is one transaction.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

use super::{Append, Broken, Lease, StoreError};
use crate::columns::{signed, time, unsigned};
use tool_runtime::{
    run::{Interrupt, RunId, Time},
    store::Head,
};

/// Bits of a record's place that count its revision.
pub const REV_BITS: u32 = 32;
const MOST: i64 = (1 << REV_BITS) - 1;

pub fn place(run: i64, rev: u64) -> i64 {
    (run << REV_BITS) | signed(rev).min(MOST)
}

/// A transaction that may write, rolled back unless it is committed. `rusqlite`'s own prepares its statements anew.
pub struct Change<'a>(&'a Connection);

impl<'a> Change<'a> {
    pub fn begin(db: &'a Connection) -> Result<Self, Broken> {
        // At once, so that nothing read in it can be out of date when it writes.
        db.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        Ok(Self(db))
    }

    pub fn commit(self) -> Result<(), Broken> {
        self.0.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // If even this fails, the next transaction does, and says why.
            let _ = self.0.execute_batch("ROLLBACK");
        }
    }
}

pub fn append(db: &Connection, run: &RunId, append: &Append) -> Result<(), Broken> {
    let Append { expected, count, text, lease, head } = append;
    let due = head.due().map(|time| signed(time.0));
    if head.opened.is_empty() && head.closed.is_empty() && add(db, run, append, due)? {
        return Ok(());
    }
    let change = Change::begin(db)?;
    let known = db
        .prepare_cached("SELECT key, token, due FROM runs WHERE id = ?1")?
        .query_row([run.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let (key, token, noted): (i64, i64, Option<i64>) = match known {
        Some(known) => known,
        None if *expected > 0 => return Err(StoreError::NotFound.into()),
        None => (create(db, run, head, due)?, 0, due),
    };
    if lease.as_ref().is_some_and(|lease| signed(lease.token) != token) {
        return Err(StoreError::Fenced.into());
    }
    let (last, rev) = last(db, key)?;
    if rev != *expected {
        return Err(StoreError::Conflict.into());
    }
    if signed(expected.saturating_add(*count)) > MOST || key > MOST / 2 {
        let text = format!("run `{run}` has more entries, or the file more runs, than SQLite's tables have places for");
        return Err(StoreError::unavailable(text).into());
    }
    if *count > 0 {
        let row = params![place(key, *expected), signed(*count), due, text];
        db.prepare_cached("INSERT INTO records (at, count, due, text) VALUES (?1, ?2, ?3, ?4)")?.execute(row)?;
    } else {
        db.prepare_cached("UPDATE records SET due = ?2 WHERE at = ?1")?.execute(params![last, due])?;
    }
    // What became later is left as it is: finding the run there too early costs less than two more trees in each
    // append.
    if due.is_some_and(|due| noted.is_none_or(|noted| due < noted)) {
        db.prepare_cached("UPDATE runs SET due = ?2 WHERE key = ?1")?.execute(params![key, due])?;
    }
    for id in &head.closed {
        close(db, key, &id.to_string())?;
    }
    for interrupt in &head.opened {
        open(db, key, head, interrupt)?;
    }
    change.commit()
}

/// An append that changes nothing but `records`, in one statement, which is its own transaction. Whether it is one, and
/// all is as it must be: if not, nothing was changed.
fn add(db: &Connection, run: &RunId, append: &Append, due: Option<i64>) -> Result<bool, Broken> {
    let Append { expected, count, text, lease, .. } = append;
    if *count == 0 || signed(expected.saturating_add(*count)) > MOST {
        return Ok(false);
    }
    let sql = "INSERT OR IGNORE INTO records (at, count, due, text) VALUES (coalesce(( \
               SELECT (key << 32) + ?2 FROM runs \
               WHERE id = ?1 AND (?6 IS NULL OR token = ?6) AND (?4 IS NULL OR runs.due <= ?4) \
               AND (SELECT at + count FROM records WHERE at BETWEEN key << 32 AND (key << 32) + 4294967295 \
               ORDER BY at DESC LIMIT 1) = (key << 32) + ?2), 0), ?3, ?4, ?5)";
    let token = lease.as_ref().map(|lease| signed(lease.token));
    let row = params![run.as_str(), signed(*expected), signed(*count), due, text, token];
    Ok(db.prepare_cached(sql)?.execute(row)? > 0)
}

fn create(db: &Connection, run: &RunId, head: &Head, due: Option<i64>) -> Result<i64, Broken> {
    db.prepare_cached("INSERT INTO runs (id, owner, due) VALUES (?1, ?2, ?3)")?.execute(params![
        run.as_str(),
        head.owner.as_str(),
        due
    ])?;
    Ok(db.last_insert_rowid())
}

/// Returns the place of the last record, and how many entries the log has.
fn last(db: &Connection, key: i64) -> Result<(Option<i64>, u64), Broken> {
    let last = db
        .prepare_cached("SELECT at, count FROM records WHERE at BETWEEN ?1 AND ?2 ORDER BY at DESC LIMIT 1")?
        .query_row([place(key, 0), place(key, u64::MAX)], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))
        .optional()?;
    Ok(last.map_or((None, 0), |(at, count)| (Some(at), unsigned((at & MOST) + count))))
}

fn close(db: &Connection, key: i64, id: &str) -> Result<(), Broken> {
    let seq: Option<i64> = db
        .prepare_cached("DELETE FROM open WHERE run = ?1 AND id = ?2 RETURNING seq")?
        .query_row(params![key, id], |row| row.get(0))
        .optional()?;
    if let Some(seq) = seq {
        db.prepare_cached("DELETE FROM deciders WHERE open = ?1")?.execute([seq])?;
    }
    Ok(())
}

fn open(db: &Connection, key: i64, head: &Head, interrupt: &Interrupt) -> Result<(), Broken> {
    let (id, since) = (interrupt.id.to_string(), signed(interrupt.since.0));
    let body = serde_json::to_string(interrupt).map_err(StoreError::unavailable)?;
    close(db, key, &id)?;
    db.prepare_cached("INSERT INTO open (run, id, since, body) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![key, id, since, body])?;
    let seq = db.last_insert_rowid();
    let mut add = db.prepare_cached("INSERT OR IGNORE INTO deciders (principal, since, open) VALUES (?1, ?2, ?3)")?;
    for principal in head.deciders(interrupt) {
        add.execute(params![principal.as_str(), since, seq])?;
    }
    Ok(())
}

pub fn snapshot(db: &Connection, run: &RunId, rev: u64, text: &str) -> Result<(), Broken> {
    let sql = "INSERT INTO snapshots (run, rev, text) SELECT key, ?2, ?3 FROM runs WHERE id = ?1 \
               ON CONFLICT (run) DO UPDATE SET rev = excluded.rev, text = excluded.text WHERE rev < excluded.rev";
    db.prepare_cached(sql)?.execute(params![run.as_str(), signed(rev), text])?;
    Ok(())
}

pub fn lease(db: &Connection, run: &RunId, worker: String, now: Time, ttl: Duration) -> Result<Lease, Broken> {
    let change = Change::begin(db)?;
    let until = now.after(ttl);
    let (key, token, holder, held): (i64, i64, Option<String>, Option<i64>) = db
        .prepare_cached("SELECT key, token, worker, until FROM runs WHERE id = ?1")?
        .query_row([run.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?
        .ok_or(StoreError::NotFound)?;
    let token = match (holder, held.map(time)) {
        (Some(holder), _) if holder == worker => token,
        (Some(_), Some(until)) if until > now => return Err(StoreError::Leased { until }.into()),
        _ => db.prepare_cached("UPDATE tokens SET last = last + 1 RETURNING last")?.query_row([], |row| row.get(0))?,
    };
    db.prepare_cached("UPDATE runs SET token = ?2, worker = ?3, until = ?4, taken = ?5 WHERE key = ?1")?
        .execute(params![key, token, worker, signed(until.0), signed(now.0)])?;
    change.commit()?;
    Ok(Lease::new(unsigned(token), worker, until))
}

pub fn release(db: &Connection, run: &RunId, token: u64) -> Result<(), Broken> {
    let sql = "UPDATE runs SET worker = NULL, until = NULL, due = (SELECT records.due FROM records \
               WHERE at BETWEEN key << 32 AND (key << 32) + 4294967295 ORDER BY at DESC LIMIT 1) \
               WHERE id = ?1 AND token = ?2";
    db.prepare_cached(sql)?.execute(params![run.as_str(), signed(token)])?;
    Ok(())
}

pub fn delete(db: &Connection, run: &RunId) -> Result<bool, Broken> {
    let change = Change::begin(db)?;
    let key: Option<i64> = db
        .prepare_cached("DELETE FROM runs WHERE id = ?1 RETURNING key")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()?;
    let Some(key) = key else { return Ok(false) };
    db.prepare_cached("DELETE FROM records WHERE at BETWEEN ?1 AND ?2")?
        .execute([place(key, 0), place(key, u64::MAX)])?;
    db.prepare_cached("DELETE FROM deciders WHERE open IN (SELECT seq FROM open WHERE run = ?1)")?.execute([key])?;
    db.prepare_cached("DELETE FROM open WHERE run = ?1")?.execute([key])?;
    db.prepare_cached("DELETE FROM snapshots WHERE run = ?1")?.execute([key])?;
    change.commit()?;
    Ok(true)
}
