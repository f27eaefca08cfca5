//! Reads of the file.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Broken, Record, StoreError, Stored, Waiting, WaitingItem, write::REV_BITS, write::place};
use crate::columns::{signed, size, unsigned, waiting_item};
use tool_runtime::run::{RunId, Time};

pub fn load(db: &mut Connection, run: &RunId) -> Result<Option<Stored>, Broken> {
    // One transaction: another process may put a snapshot in the middle of it.
    let view = db.transaction()?;
    let Some(key) = key(&view, run)? else { return Ok(None) };
    let snapshot: Option<(i64, String)> = view
        .prepare_cached("SELECT rev, text FROM snapshots WHERE run = ?1")?
        .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (rev, snapshot) = snapshot.map_or((0, None), |(rev, text)| (unsigned(rev), Some(text)));
    let records = records(&view, key, rev)?;
    Ok(Some(Stored::new(snapshot, records)))
}

pub fn read(db: &mut Connection, run: &RunId, rev: u64) -> Result<Vec<Record>, Broken> {
    let view = db.transaction()?;
    let key = key(&view, run)?.ok_or(StoreError::NotFound)?;
    records(&view, key, rev)
}

fn key(db: &Connection, run: &RunId) -> Result<Option<i64>, Broken> {
    let mut find = db.prepare_cached("SELECT key FROM runs WHERE id = ?1")?;
    Ok(find.query_row([run.as_str()], |row| row.get(0)).optional()?)
}

/// The entries after the first `rev`, beginning with the append that has the first of them.
fn records(db: &Connection, key: i64, rev: u64) -> Result<Vec<Record>, Broken> {
    let sql = "SELECT at, count, text FROM records WHERE at BETWEEN \
               coalesce((SELECT max(at) FROM records WHERE at BETWEEN ?1 AND ?2), ?1) AND ?3 ORDER BY at";
    let record = |row: &Row<'_>| {
        let at: i64 = row.get(0)?;
        let rev = unsigned(at & ((1 << REV_BITS) - 1));
        Ok(Record::new(rev, unsigned(row.get(1)?), row.get(2)?))
    };
    let mut find = db.prepare_cached(sql)?;
    let found = find.query_map([place(key, 0), place(key, rev), place(key, u64::MAX)], record)?;
    let is_new = |record: &Result<Record, _>| !record.as_ref().is_ok_and(|record| record.rev + record.count <= rev);
    Ok(found.filter(is_new).collect::<Result<_, _>>()?)
}

pub fn waiting(db: &mut Connection, filter: &Waiting) -> Result<Vec<WaitingItem>, Broken> {
    let by_principal = "SELECT runs.id, runs.owner, open.body FROM deciders \
                        JOIN open ON open.seq = deciders.open JOIN runs ON runs.key = open.run \
                        WHERE deciders.principal = ?1 AND (?2 IS NULL OR runs.id = ?2) \
                        ORDER BY deciders.since, runs.id, open.seq LIMIT ?3 OFFSET ?4";
    let all = "SELECT runs.id, runs.owner, open.body FROM open JOIN runs ON runs.key = open.run \
               WHERE ?1 IS NULL AND (?2 IS NULL OR runs.id = ?2) \
               ORDER BY open.since, runs.id, open.seq LIMIT ?3 OFFSET ?4";
    let principal = filter.principal.as_ref().map(tool_runtime::run::Principal::as_str);
    let run = filter.run.as_ref().map(RunId::as_str);
    let mut find = db.prepare_cached(if principal.is_some() { by_principal } else { all })?;
    let mut rows = find.query(params![principal, run, size(filter.most()), size(filter.offset)])?;
    let mut items = Vec::new();
    while let Some(row) = rows.next()? {
        let (run, owner, body) = (row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?);
        items.push(waiting_item(run, owner, &body)?);
    }
    Ok(items)
}

pub fn due(db: &mut Connection, now: Time, limit: usize) -> Result<Vec<RunId>, Broken> {
    let sql = "SELECT id FROM runs WHERE due <= ?1 AND (until IS NULL OR until <= ?1) \
               AND (SELECT records.due FROM records WHERE at BETWEEN key << 32 AND (key << 32) + 4294967295 \
               ORDER BY at DESC LIMIT 1) <= ?1 ORDER BY taken, id LIMIT ?2";
    let mut find = db.prepare_cached(sql)?;
    let found = find.query_map([signed(now.0), size(limit)], |row| Ok(RunId::from(row.get::<_, String>(0)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}
