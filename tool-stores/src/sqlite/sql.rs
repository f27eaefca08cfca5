//! The reads and changes of the file. Each change is one transaction.

use std::{ops::Range, time::Duration};

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::{Append, DbError, Lease, Record, RunItem, StoreError, StoredRun, WaitingFilter, WaitingItem};
use crate::convert::{parse_waiting_item, signed, size, time, unsigned};
use tool_runtime::{
    run::{Interrupt, Principal, RunId, Timestamp},
    store::Head,
};

/// The number of bits of a record's key that hold its revision.
const REV_BITS: u32 = 32;
const MAX_REV: i64 = (1 << REV_BITS) - 1;

fn record_key(run: i64, rev: u64) -> i64 {
    (run << REV_BITS) | signed(rev).min(MAX_REV)
}

/// Begins a transaction that locks the file for writing at once. So the values that it reads are still current when it writes.
fn begin_change(db: &Connection) -> rusqlite::Result<Transaction<'_>> {
    Transaction::new_unchecked(db, TransactionBehavior::Immediate)
}

pub fn append(db: &Connection, run: &RunId, append: &Append) -> Result<(), DbError> {
    let Append { expected, count, text, lease, head } = append;
    let due = head.due_at().map(|time| signed(time.0));
    if head.changed.is_none() && head.closed.is_empty() && append_records(db, run, append, due)? {
        return Ok(());
    }
    let change = begin_change(db)?;
    let known = db
        .prepare_cached("SELECT key, token, due FROM runs WHERE id = ?1")?
        .query_row([run.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    let (key, token, stored_due): (i64, i64, Option<i64>) = match known {
        Some(known) => known,
        None if *expected > 0 => return Err(StoreError::NotFound.into()),
        None => (create_run(db, run, head, due)?, 0, due),
    };
    if lease.as_ref().is_some_and(|lease| signed(lease.token) != token) {
        return Err(StoreError::Fenced.into());
    }
    let (last, rev) = find_last(db, key)?;
    if rev != *expected {
        return Err(StoreError::Conflict.into());
    }
    if signed(expected.saturating_add(*count)) > MAX_REV || key > MAX_REV / 2 {
        let text = format!("run `{run}` has more entries, or the file more runs, than SQLite's tables can hold");
        return Err(StoreError::unavailable(text).into());
    }
    if *count > 0 {
        let row = params![record_key(key, *expected), signed(*count), due, text];
        db.prepare_cached("INSERT INTO records (at, count, due, text) VALUES (?1, ?2, ?3, ?4)")?.execute(row)?;
    } else {
        db.prepare_cached("UPDATE records SET due = ?2 WHERE at = ?1")?.execute(params![last, due])?;
    }
    // An append never moves `runs.due` to a later time, because that would update two more trees. So the query of due runs may
    // look at this run too early, and finds the true time in its last record.
    if due.is_some_and(|due| stored_due.is_none_or(|stored_due| due < stored_due)) {
        db.prepare_cached("UPDATE runs SET due = ?2 WHERE key = ?1")?.execute(params![key, due])?;
    }
    if let Some(changed) = head.changed {
        let row = params![key, signed(changed.0), head.title];
        db.prepare_cached("UPDATE runs SET changed = ?2, title = coalesce(?3, title) WHERE key = ?1")?.execute(row)?;
    }
    for id in &head.closed {
        close_interrupt(db, key, &id.to_string())?;
    }
    for interrupt in &head.opened {
        open_interrupt(db, key, head, interrupt)?;
    }
    Ok(change.commit()?)
}

/// Makes an append that changes only `records`, in one statement, which is its own transaction. Returns `false` and changes
/// nothing if the append changes more, or if its conditions do not hold.
fn append_records(db: &Connection, run: &RunId, append: &Append, due: Option<i64>) -> Result<bool, DbError> {
    let Append { expected, count, text, lease, .. } = append;
    if *count == 0 || signed(expected.saturating_add(*count)) > MAX_REV {
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

fn create_run(db: &Connection, run: &RunId, head: &Head, due: Option<i64>) -> Result<i64, DbError> {
    db.prepare_cached("INSERT INTO runs (id, owner, due) VALUES (?1, ?2, ?3)")?.execute(params![
        run.as_str(),
        head.owner.as_str(),
        due
    ])?;
    Ok(db.last_insert_rowid())
}

/// Finds the key of the last record, and the number of the log's entries.
fn find_last(db: &Connection, key: i64) -> Result<(Option<i64>, u64), DbError> {
    let last = db
        .prepare_cached("SELECT at, count FROM records WHERE at BETWEEN ?1 AND ?2 ORDER BY at DESC LIMIT 1")?
        .query_row([record_key(key, 0), record_key(key, u64::MAX)], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        })
        .optional()?;
    Ok(last.map_or((None, 0), |(at, count)| (Some(at), unsigned((at & MAX_REV) + count))))
}

fn close_interrupt(db: &Connection, key: i64, id: &str) -> Result<(), DbError> {
    let seq: Option<i64> = db
        .prepare_cached("DELETE FROM open WHERE run = ?1 AND id = ?2 RETURNING seq")?
        .query_row(params![key, id], |row| row.get(0))
        .optional()?;
    if let Some(seq) = seq {
        db.prepare_cached("DELETE FROM deciders WHERE open = ?1")?.execute([seq])?;
    }
    Ok(())
}

fn open_interrupt(db: &Connection, key: i64, head: &Head, interrupt: &Interrupt) -> Result<(), DbError> {
    let (id, since) = (interrupt.id.to_string(), signed(interrupt.opened_at.0));
    let body = serde_json::to_string(interrupt).map_err(StoreError::unavailable)?;
    close_interrupt(db, key, &id)?;
    db.prepare_cached("INSERT INTO open (run, id, since, body) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![key, id, since, body])?;
    let seq = db.last_insert_rowid();
    let mut add = db.prepare_cached("INSERT OR IGNORE INTO deciders (principal, since, open) VALUES (?1, ?2, ?3)")?;
    for principal in head.deciders(interrupt) {
        add.execute(params![principal.as_str(), since, seq])?;
    }
    Ok(())
}

pub fn save_snapshot(db: &Connection, run: &RunId, rev: u64, text: &str) -> Result<(), DbError> {
    let sql = "INSERT INTO snapshots (run, rev, text) SELECT key, ?2, ?3 FROM runs WHERE id = ?1 \
               ON CONFLICT (run) DO UPDATE SET rev = excluded.rev, text = excluded.text WHERE rev < excluded.rev";
    db.prepare_cached(sql)?.execute(params![run.as_str(), signed(rev), text])?;
    Ok(())
}

/// The time by which the clock may be moved back without an effect on leases.
const CLOCK_TOLERANCE: Duration = Duration::from_mins(1);

pub fn lease(db: &Connection, run: &RunId, worker: String, now: Timestamp, ttl: Duration) -> Result<Lease, DbError> {
    let change = begin_change(db)?;
    let until = now.saturating_add(ttl);
    // The end of a lease that was taken in the future says nothing: the clock was moved back.
    let select = "SELECT key, token, worker, CASE WHEN taken <= ?2 THEN until END FROM runs WHERE id = ?1";
    let (key, token, holder, held): (i64, i64, Option<String>, Option<i64>) = db
        .prepare_cached(select)?
        .query_row(params![run.as_str(), signed(now.saturating_add(CLOCK_TOLERANCE).0)], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
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

pub fn release(db: &Connection, run: &RunId, token: u64) -> Result<(), DbError> {
    let sql = "UPDATE runs SET worker = NULL, until = NULL, due = (SELECT records.due FROM records \
               WHERE at BETWEEN key << 32 AND (key << 32) + 4294967295 ORDER BY at DESC LIMIT 1) \
               WHERE id = ?1 AND token = ?2";
    db.prepare_cached(sql)?.execute(params![run.as_str(), signed(token)])?;
    Ok(())
}

pub fn delete(db: &Connection, run: &RunId) -> Result<bool, DbError> {
    let change = begin_change(db)?;
    let key: Option<i64> = db
        .prepare_cached("DELETE FROM runs WHERE id = ?1 RETURNING key")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()?;
    let Some(key) = key else { return Ok(false) };
    db.prepare_cached("DELETE FROM records WHERE at BETWEEN ?1 AND ?2")?
        .execute([record_key(key, 0), record_key(key, u64::MAX)])?;
    db.prepare_cached("DELETE FROM deciders WHERE open IN (SELECT seq FROM open WHERE run = ?1)")?.execute([key])?;
    db.prepare_cached("DELETE FROM open WHERE run = ?1")?.execute([key])?;
    db.prepare_cached("DELETE FROM snapshots WHERE run = ?1")?.execute([key])?;
    change.commit()?;
    Ok(true)
}

/// Records `nonce`, and returns whether it was new.
#[cfg(feature = "sealed")]
pub fn spend(db: &Connection, nonce: &str, expires: Timestamp, now: Timestamp) -> Result<bool, DbError> {
    let change = begin_change(db)?;
    db.prepare_cached("DELETE FROM nonces WHERE expires <= ?1")?
        .execute([signed(crate::sealed::expired_before(now).0)])?;
    let row = params![nonce, signed(expires.0)];
    let is_new = db.prepare_cached("INSERT OR IGNORE INTO nonces (nonce, expires) VALUES (?1, ?2)")?.execute(row)? > 0;
    change.commit()?;
    Ok(is_new)
}

pub fn load(db: &mut Connection, run: &RunId) -> Result<Option<StoredRun>, DbError> {
    // Both reads are in one transaction, because another process may store a snapshot meanwhile.
    let view = db.transaction()?;
    let Some(key) = find_key(&view, run)? else { return Ok(None) };
    let snapshot: Option<(i64, String)> = view
        .prepare_cached("SELECT rev, text FROM snapshots WHERE run = ?1")?
        .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (rev, snapshot) = snapshot.map_or((0, None), |(rev, text)| (unsigned(rev), Some(text)));
    let records = read_records(&view, key, rev)?;
    Ok(Some(StoredRun::new(snapshot, records)))
}

pub fn read(db: &mut Connection, run: &RunId, rev: u64) -> Result<Vec<Record>, DbError> {
    let view = db.transaction()?;
    let key = find_key(&view, run)?.ok_or(StoreError::NotFound)?;
    read_records(&view, key, rev)
}

fn find_key(db: &Connection, run: &RunId) -> Result<Option<i64>, DbError> {
    let mut find = db.prepare_cached("SELECT key FROM runs WHERE id = ?1")?;
    Ok(find.query_row([run.as_str()], |row| row.get(0)).optional()?)
}

/// Reads the records with the entries after the first `rev`. The first record may also contain earlier entries.
fn read_records(db: &Connection, key: i64, rev: u64) -> Result<Vec<Record>, DbError> {
    let sql = "SELECT at, count, text FROM records WHERE at BETWEEN \
               coalesce((SELECT max(at) FROM records WHERE at BETWEEN ?1 AND ?2), ?1) AND ?3 ORDER BY at";
    let record = |row: &Row<'_>| {
        let at: i64 = row.get(0)?;
        let rev = unsigned(at & MAX_REV);
        Ok(Record::new(rev, unsigned(row.get(1)?), row.get(2)?))
    };
    let mut find = db.prepare_cached(sql)?;
    let found = find.query_map([record_key(key, 0), record_key(key, rev), record_key(key, u64::MAX)], record)?;
    let is_new = |record: &Result<Record, _>| !record.as_ref().is_ok_and(|record| record.rev + record.count <= rev);
    Ok(found.filter(is_new).collect::<Result<_, _>>()?)
}

pub fn waiting(db: &mut Connection, filter: &WaitingFilter) -> Result<Vec<WaitingItem>, DbError> {
    let by_principal = "SELECT runs.id, runs.owner, open.body FROM deciders \
                        JOIN open ON open.seq = deciders.open JOIN runs ON runs.key = open.run \
                        WHERE deciders.principal = ?1 AND (?2 IS NULL OR runs.id = ?2) \
                        ORDER BY deciders.since, runs.id, open.seq LIMIT ?3 OFFSET ?4";
    let all = "SELECT runs.id, runs.owner, open.body FROM open JOIN runs ON runs.key = open.run \
               WHERE ?1 IS NULL AND (?2 IS NULL OR runs.id = ?2) \
               ORDER BY open.since, runs.id, open.seq LIMIT ?3 OFFSET ?4";
    let principal = filter.principal.as_ref().map(Principal::as_str);
    let run = filter.run.as_ref().map(RunId::as_str);
    let mut find = db.prepare_cached(if principal.is_some() { by_principal } else { all })?;
    let mut rows = find.query(params![principal, run, size(filter.max_items()), size(filter.offset)])?;
    let mut items = Vec::new();
    while let Some(row) = rows.next()? {
        let (run, owner, body) = (row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?);
        items.push(parse_waiting_item(run, owner, &body)?);
    }
    Ok(items)
}

pub fn list(db: &mut Connection, owner: &Principal, page: &Range<usize>) -> Result<Vec<RunItem>, DbError> {
    let sql = "SELECT id, title, changed FROM runs WHERE owner = ?1 ORDER BY changed DESC, id DESC LIMIT ?2 OFFSET ?3";
    let item =
        |row: &Row<'_>| Ok(RunItem::new(row.get::<_, String>(0)?.into(), row.get(1)?, time(row.get::<_, i64>(2)?)));
    let mut find = db.prepare_cached(sql)?;
    let found = find.query_map(params![owner.as_str(), size(page.len()), size(page.start)], item)?;
    Ok(found.collect::<Result<_, _>>()?)
}

pub fn due(db: &mut Connection, now: Timestamp, limit: usize) -> Result<Vec<RunId>, DbError> {
    let sql = "SELECT id FROM runs WHERE due <= ?1 AND (until IS NULL OR until <= ?1 OR taken > ?3) \
               AND (SELECT records.due FROM records WHERE at BETWEEN key << 32 AND (key << 32) + 4294967295 \
               ORDER BY at DESC LIMIT 1) <= ?1 ORDER BY taken, id LIMIT ?2";
    let mut find = db.prepare_cached(sql)?;
    let latest = signed(now.saturating_add(CLOCK_TOLERANCE).0);
    let found =
        find.query_map(params![signed(now.0), size(limit), latest], |row| Ok(RunId::from(row.get::<_, String>(0)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}
