//! The versions of the tables, and the statements, in which `@` stands for the schema. Each change is one statement: one round
//! trip to the server, and atomic without an explicit transaction.

use std::{borrow::Cow, time::Duration};

use deadpool_postgres::Object;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;

use super::{DbError, StoreError, value::SqlValue as _};

/// The database's clock, in milliseconds since 1970. It alone judges leases, because the clocks of servers may differ.
macro_rules! clock {
    () => {
        "(SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)"
    };
}

/// Appends to a run that may be new.
pub const CREATE: &str = "\
    INSERT INTO @.runs (id, rev, due, owner, changed, title) \
    SELECT $1, $2::bigint + $4, $5, $12, coalesce($14::bigint, 0), $15::text WHERE $3::bigint IS NULL \
    ON CONFLICT (id) DO UPDATE SET rev = excluded.rev, due = excluded.due, changed = excluded.changed, \
        title = excluded.title WHERE runs.rev = 0 RETURNING key, rev";

/// Appends to an existing run. Of two concurrent appends, the second waits for the first, and then finds another revision. The
/// owner is used only so that both statements have the same parameters.
pub const UPDATE: &str = "\
    UPDATE @.runs SET rev = rev + $4, due = $5, changed = coalesce($14::bigint, changed), \
        title = coalesce($15::text, title) \
    WHERE id = $1 AND rev = $2 AND ($3::bigint IS NULL OR token = $3) AND $12::text IS NOT NULL RETURNING key, rev";

/// The rest of the statement that begins with [`CREATE`] or [`UPDATE`]. If $16 is set, an append to an existing run is notified
/// as `rev id` in the channel that has the schema's name. A driver's append is notified only while another process follows the
/// run, because commits with a notification wait for each other. A notification has less than 8000 bytes, and leaves out an id
/// that is too long.
pub const CHANGES: &str = "\
    added AS ( \
        INSERT INTO @.records (run, rev, count, text) SELECT key, $2, $4::bigint, $6 FROM run WHERE $4 > 0 \
    ), closed AS ( \
        DELETE FROM @.open AS o USING run WHERE o.run = run.key AND o.id = ANY($7::text[]) \
    ), opened AS ( \
        INSERT INTO @.open (run, id, since, body) \
        SELECT run.key, n.id, n.since, n.body \
        FROM run, unnest($8::text[], $9::bigint[], $10::text[]) WITH ORDINALITY AS n (id, since, body, nth) \
        ORDER BY n.nth \
        ON CONFLICT (run, id) DO UPDATE SET since = excluded.since, body = excluded.body \
    ), deciding AS ( \
        INSERT INTO @.deciders (principal, run, open) \
        SELECT d.principal, run.key, ($8::text[])[d.nth] \
        FROM run, unnest($11::text[], $13::integer[]) AS d (principal, nth) \
        ON CONFLICT DO NOTHING \
    ) \
    SELECT CASE WHEN $16::boolean AND $2 > 0 THEN \
        pg_notify(btrim('@', '\"'), rev || ' ' || CASE WHEN octet_length($1) < 7900 THEN $1 ELSE '' END) END FROM run";

pub const LOAD: &str = "\
    WITH run AS (SELECT key FROM @.runs WHERE id = $1), \
    snapshot AS (SELECT rev, text FROM @.snapshots WHERE run = (SELECT key FROM run)), \
    base AS (SELECT coalesce((SELECT rev FROM snapshot), 0) AS rev), \
    start AS (SELECT coalesce(max(rev), 0) AS rev FROM @.records \
        WHERE run = (SELECT key FROM run) AND rev <= (SELECT rev FROM base)) \
    SELECT 0 AS kind, 0::bigint AS rev, 0::bigint AS count, NULL::text AS text FROM run \
    UNION ALL SELECT 1, rev, 0, text FROM snapshot \
    UNION ALL SELECT 2, rev, count, text FROM @.records WHERE run = (SELECT key FROM run) \
        AND rev >= (SELECT rev FROM start) AND rev + count > (SELECT rev FROM base) \
    ORDER BY kind, rev";

pub const READ: &str = "\
    WITH run AS (SELECT key FROM @.runs WHERE id = $1), \
    start AS (SELECT coalesce(max(rev), 0) AS rev FROM @.records WHERE run = (SELECT key FROM run) AND rev <= $2) \
    SELECT 0 AS kind, 0::bigint AS rev, 0::bigint AS count, NULL::text AS text FROM run \
    UNION ALL SELECT 2, rev, count, text FROM @.records WHERE run = (SELECT key FROM run) \
        AND rev >= (SELECT rev FROM start) AND rev + count > $2 \
    ORDER BY kind, rev";

pub const SNAPSHOT: &str = "\
    INSERT INTO @.snapshots AS kept (run, rev, text) SELECT key, $2::bigint, $3::text FROM @.runs WHERE id = $1 \
    ON CONFLICT (run) DO UPDATE SET rev = excluded.rev, text = excluded.text WHERE kept.rev < excluded.rev";

/// Gives a lease for $3 milliseconds.
pub const LEASE: &str = concat!(
    "WITH clock AS MATERIALIZED (SELECT ",
    clock!(),
    " AS now) \
    UPDATE @.runs SET token = CASE WHEN worker = $2 THEN token ELSE nextval('@.tokens') END, worker = $2, \
        until = CASE WHEN $3 < 9223372036854775807 - now THEN now + $3::bigint ELSE 9223372036854775807 END, taken = now \
    FROM clock WHERE id = $1 AND (worker IS NULL OR worker = $2 OR until <= now) RETURNING token"
);

/// Spends a nonce. Of two concurrent statements, the second waits for the first, and then finds its claim. Expired rows that
/// another statement is deleting are skipped.
#[cfg(feature = "sealed")]
pub const SPEND: &str = "\
    WITH gone AS (DELETE FROM @.nonces WHERE nonce IN ( \
        SELECT nonce FROM @.nonces WHERE expires <= $4 ORDER BY nonce LIMIT 1000 FOR UPDATE SKIP LOCKED)) \
    INSERT INTO @.nonces AS kept (nonce, expires, claim) VALUES ($1, $2, $3) \
    ON CONFLICT (nonce) DO UPDATE SET expires = kept.expires WHERE kept.claim = excluded.claim RETURNING 1";

pub const STATE: &str = "SELECT rev, token FROM @.runs WHERE id = $1";

pub const HAS: &str = "\
    SELECT 1 FROM @.records AS r JOIN @.runs AS runs ON runs.key = r.run \
    WHERE runs.id = $1 AND r.rev = $2 AND r.text = $3";

/// Selects the milliseconds for which the lease of a run goes on; the largest number for ever, NULL if there is no lease.
pub const HELD: &str = concat!(
    "SELECT CASE WHEN until < 9223372036854775807 THEN greatest(until - ",
    clock!(),
    ", 0) ELSE until END FROM @.runs WHERE id = $1"
);

pub const RELEASE: &str = "UPDATE @.runs SET worker = NULL, until = NULL WHERE id = $1 AND token = $2";

pub const DUE: &str = concat!(
    "SELECT id FROM @.runs WHERE due <= $1 AND (until IS NULL OR until <= ",
    clock!(),
    ") ORDER BY taken, id LIMIT $2"
);

pub const LIST: &str = "\
    SELECT id, title, changed FROM @.runs WHERE owner = $1 ORDER BY changed DESC, id DESC LIMIT $2 OFFSET $3";

pub const DELETE: &str = "\
    WITH gone AS (DELETE FROM @.runs WHERE id = $1 RETURNING key) \
    SELECT pg_notify(btrim('@', '\"'), \
        9223372036854775807 || ' ' || CASE WHEN octet_length($1) < 7900 THEN $1 ELSE '' END) FROM gone";

#[cfg(feature = "sealed")]
pub const IDENTITY: &str = "SELECT id FROM @.identity";

pub const WAITING: &str = "\
    SELECT runs.id, runs.owner, o.body FROM @.open AS o JOIN @.runs AS runs ON runs.key = o.run \
    WHERE ($1::text IS NULL OR runs.id = $1) ORDER BY o.since, runs.id, o.seq LIMIT $2 OFFSET $3";

/// Selects the interrupts that a principal may decide.
pub const WAITING_BY: &str = "\
    SELECT runs.id, runs.owner, o.body FROM @.open AS o JOIN @.runs AS runs ON runs.key = o.run \
    JOIN @.deciders AS d ON d.run = o.run AND d.open = o.id \
    WHERE ($1::text IS NULL OR runs.id = $1) AND d.principal = $4 ORDER BY o.since, runs.id, o.seq LIMIT $2 OFFSET $3";

/// Escapes a name for a text column, which cannot hold NUL: a NUL becomes `\0`, and a backslash `\\`.
pub fn escape_name(name: &str) -> Cow<'_, str> {
    if name.contains(['\0', '\\']) { name.replace('\\', r"\\").replace('\0', r"\0").into() } else { name.into() }
}

/// Reverses [`escape_name`].
pub fn unescape_name(text: String) -> String {
    if !text.contains('\\') {
        return text;
    }
    let mut name = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        name.push(match c {
            '\\' => match chars.next() {
                Some('0') => '\0',
                _ => '\\',
            },
            other => other,
        });
    }
    name
}

/// The statements that create each version of the tables from the previous one, with `@` for the schema. Released statements
/// never change; new versions are added.
const VERSIONS: [&str; 1] = [include_str!("v1.sql")];

/// The maximum time to wait for a lock of another process, as a multiple of the time for a statement.
const LOCK_TIME: u32 = 6;

/// The maximum time to create or update the tables, as a multiple of the time for a statement. A change of large tables takes long.
const UPDATE_TIME: u32 = 60;

/// Creates the tables, or updates them. Any number of processes may do this at the same time. A single statement may take
/// `statement_timeout`.
///
/// Fails if another process holds a lock for too long, or the server does not respond.
pub async fn migrate(db: &mut Object, schema: &str, statement_timeout: Duration) -> Result<(), DbError> {
    let silent =
        || StoreError::unavailable("PostgreSQL did not respond in time while the tables were checked or updated");
    let in_schema = |sql: &str| sql.replace('@', &format!("\"{schema}\""));
    let version = in_schema("SELECT version FROM @.version");
    if timeout(statement_timeout, is_up_to_date(db, &version)).await.map_err(|_| silent())?? {
        return Ok(());
    }
    let updated = update(db, schema, &version, statement_timeout.saturating_mul(LOCK_TIME));
    timeout(statement_timeout.saturating_mul(UPDATE_TIME), updated).await.map_err(|_| silent())?
}

/// Returns whether the tables, whose version the statement `version` selects, are up to date.
async fn is_up_to_date(db: &Object, version: &str) -> Result<bool, DbError> {
    let encoding: String = db.query_typed_one("SHOW server_encoding", &[]).await?.get(0);
    if encoding != "UTF8" {
        let text = format!("the database's encoding is {encoding}; runs need one with UTF8");
        return Err(StoreError::unavailable(text).into());
    }
    // A store that is up to date can be used without the right to create tables.
    match db.query_typed_one(version, &[]).await {
        Ok(row) => Ok(is_newest(row.get(0))?),
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Creates or updates the tables, in one transaction. It waits for a lock of another process for at most `lock_timeout`.
async fn update(db: &mut Object, schema: &str, version: &str, lock_timeout: Duration) -> Result<(), DbError> {
    let in_schema = |sql: &str| sql.replace('@', &format!("\"{schema}\""));
    let change = db.transaction().await?;
    // The server counts milliseconds, as a number of 31 bits.
    let limit = lock_timeout.as_millis().clamp(1, u128::from(u32::MAX >> 1));
    change.batch_execute(&format!("SET LOCAL lock_timeout = {limit}")).await?;
    // The lock's number is a hash of this name. If two schemas share a number, they only wait for each other.
    let lock = format!("tool-runtime {schema}");
    change.query_typed("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", &[lock.typed()]).await?;
    let exists = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1";
    if change.query_typed_opt(exists, &[schema.typed()]).await?.is_none() {
        change.batch_execute(&in_schema("CREATE SCHEMA @")).await?;
    }
    change.batch_execute(&in_schema("CREATE TABLE IF NOT EXISTS @.version (version INTEGER NOT NULL)")).await?;
    let found: i32 = change.query_typed_opt(version, &[]).await?.map_or(0, |row| row.get(0));
    is_newest(found)?;
    let missing = VERSIONS.iter().skip(usize::try_from(found).unwrap_or(0));
    for sql in missing {
        change.batch_execute(&in_schema(sql)).await?;
    }
    change.batch_execute(&in_schema("DELETE FROM @.version")).await?;
    change.execute_typed(&in_schema("INSERT INTO @.version VALUES ($1)"), &[newest_version().typed()]).await?;
    change.commit().await?;
    Ok(())
}

fn newest_version() -> i32 {
    i32::try_from(VERSIONS.len()).unwrap_or(i32::MAX)
}

/// Returns whether the tables are up to date. Fails if they have a newer version than this program knows.
fn is_newest(found: i32) -> Result<bool, StoreError> {
    if found > newest_version() {
        let text = format!(
            "PostgreSQL has version {found} of the tables, and this program knows 1 to {}; update it",
            newest_version()
        );
        return Err(StoreError::unavailable(text));
    }
    Ok(found == newest_version())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_names_are_restored() {
        for name in ["", "run-1", "\0", "a\\0b", "\\", "\\\\\0\\0", "ü\0\u{202e}"] {
            let text = escape_name(name);
            assert!(!text.contains('\0'));
            assert_eq!(unescape_name(text.into_owned()), name);
        }
    }
}
