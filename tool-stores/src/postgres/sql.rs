//! The statements, with the schema's name in its places. Each method of the store is one of them: one way to the server
//! and back, and atomic without a transaction around it.

/// The statements for one schema.
#[derive(Debug)]
pub(super) struct Statements {
    pub(super) create: String,
    pub(super) append: String,
    pub(super) state: String,
    pub(super) has: String,
    pub(super) load: String,
    pub(super) read: String,
    pub(super) snapshot: String,
    pub(super) lease: String,
    pub(super) held: String,
    pub(super) release: String,
    pub(super) waiting: String,
    pub(super) waiting_by: String,
    pub(super) due: String,
    pub(super) delete: String,
    #[cfg(feature = "sealed")]
    pub(super) spend: String,
    #[cfg(feature = "sealed")]
    pub(super) identity: String,
}

impl Statements {
    pub(super) fn new(schema: &str) -> Self {
        let of = |sql: &str| sql.replace('@', &format!("\"{schema}\""));
        Self {
            create: of(&format!("WITH run AS ({CREATE}), {CHANGES}")),
            append: of(&format!("WITH run AS ({UPDATE}), {CHANGES}")),
            state: of("SELECT rev, token FROM @.runs WHERE id = $1"),
            has: of("SELECT 1 FROM @.records AS r JOIN @.runs AS runs ON runs.key = r.run \
                     WHERE runs.id = $1 AND r.rev = $2 AND r.text = $3"),
            load: of(LOAD),
            read: of(READ),
            snapshot: of(SNAPSHOT),
            lease: of(LEASE),
            held: of("SELECT worker, until FROM @.runs WHERE id = $1"),
            release: of("UPDATE @.runs SET worker = NULL, until = NULL WHERE id = $1 AND token = $2"),
            waiting: of(&format!("{WAITING} WHERE ($1::text IS NULL OR runs.id = $1) {IN_ORDER}")),
            waiting_by: of(&format!(
                "{WAITING} JOIN @.deciders AS d ON d.run = o.run AND d.open = o.id \
                 WHERE ($1::text IS NULL OR runs.id = $1) AND d.principal = $4 {IN_ORDER}"
            )),
            due: of(
                "SELECT id FROM @.runs WHERE due <= $1 AND (until IS NULL OR until <= $1) ORDER BY taken, id LIMIT $2",
            ),
            delete: of("DELETE FROM @.runs WHERE id = $1"),
            #[cfg(feature = "sealed")]
            spend: of(SPEND),
            #[cfg(feature = "sealed")]
            identity: of("SELECT id FROM @.identity"),
        }
    }
}

const CREATE: &str = "\
    INSERT INTO @.runs (id, rev, due, owner) SELECT $1, $2::bigint + $4, $5, $12 WHERE $3::bigint IS NULL \
    ON CONFLICT (id) DO UPDATE SET rev = excluded.rev, due = excluded.due WHERE runs.rev = 0 RETURNING key";

/// Of two at one time, the second waits for the first, and then finds another revision. The owner is there only because
/// both statements have the same parameters.
const UPDATE: &str = "\
    UPDATE @.runs SET rev = rev + $4, due = $5 \
    WHERE id = $1 AND rev = $2 AND ($3::bigint IS NULL OR token = $3) AND $12::text IS NOT NULL RETURNING key";

const CHANGES: &str = "\
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
    SELECT 1 FROM run";

const LOAD: &str = "\
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

const READ: &str = "\
    WITH run AS (SELECT key FROM @.runs WHERE id = $1), \
    start AS (SELECT coalesce(max(rev), 0) AS rev FROM @.records WHERE run = (SELECT key FROM run) AND rev <= $2) \
    SELECT 0 AS kind, 0::bigint AS rev, 0::bigint AS count, NULL::text AS text FROM run \
    UNION ALL SELECT 2, rev, count, text FROM @.records WHERE run = (SELECT key FROM run) \
        AND rev >= (SELECT rev FROM start) AND rev + count > $2 \
    ORDER BY kind, rev";

const SNAPSHOT: &str = "\
    INSERT INTO @.snapshots AS kept (run, rev, text) SELECT key, $2::bigint, $3::text FROM @.runs WHERE id = $1 \
    ON CONFLICT (run) DO UPDATE SET rev = excluded.rev, text = excluded.text WHERE kept.rev < excluded.rev";

const LEASE: &str = "\
    UPDATE @.runs SET token = CASE WHEN worker = $2 THEN token ELSE nextval('@.tokens') END, \
        worker = $2, until = $4, taken = $3 \
    WHERE id = $1 AND (worker IS NULL OR worker = $2 OR until <= $3) RETURNING token";

/// Of two at one time, the second waits for the first, and then finds its claim. Rows that are over and that another is just
/// deleting are left to it.
#[cfg(feature = "sealed")]
const SPEND: &str = "\
    WITH gone AS (DELETE FROM @.nonces WHERE nonce IN ( \
        SELECT nonce FROM @.nonces WHERE expires <= $4 ORDER BY nonce LIMIT 1000 FOR UPDATE SKIP LOCKED)) \
    INSERT INTO @.nonces AS kept (nonce, expires, claim) VALUES ($1, $2, $3) \
    ON CONFLICT (nonce) DO UPDATE SET expires = kept.expires WHERE kept.claim = excluded.claim RETURNING 1";

const WAITING: &str = "\
    SELECT runs.id, runs.owner, o.body FROM @.open AS o JOIN @.runs AS runs ON runs.key = o.run";

const IN_ORDER: &str = "ORDER BY o.since, runs.id, o.seq LIMIT $2 OFFSET $3";
