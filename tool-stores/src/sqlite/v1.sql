CREATE TABLE runs (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    -- The latest lease: its token, and while it is held, by whom and until when.
    token INTEGER NOT NULL DEFAULT 0,
    worker TEXT,
    until INTEGER,
    -- The owner's title, and when a person last saw something change, for the list of the owner's runs.
    title TEXT,
    changed INTEGER NOT NULL DEFAULT 0,
    -- When somebody last took the run up.
    taken INTEGER NOT NULL DEFAULT 0,
    -- From when on somebody should, or earlier: what is so is in the last record. Written when it becomes sooner, and when
    -- a lease is given back, so that most appends change nothing but `records`.
    due INTEGER
) STRICT;
CREATE INDEX runs_due ON runs (due) WHERE due IS NOT NULL;
CREATE INDEX runs_owner ON runs (owner, changed, id);

-- `at` is the run's key times 2^32 plus the revision: an append is one row at the end of its run, in one tree.
CREATE TABLE records (
    at INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    -- From when on somebody should take the run up after it: 0 for at once, NULL for never.
    due INTEGER,
    text TEXT NOT NULL,
    -- A place that was not found is 0, rather than one that SQLite makes up.
    CHECK (at > 0)
) STRICT;

CREATE TABLE snapshots (
    run INTEGER PRIMARY KEY,
    rev INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;

CREATE TABLE open (
    seq INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    id TEXT NOT NULL,
    since INTEGER NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (run, id)
) STRICT;
CREATE INDEX open_since ON open (since);

-- Who may decide: those who are named, or the run's owner.
CREATE TABLE deciders (
    principal TEXT NOT NULL,
    since INTEGER NOT NULL,
    open INTEGER NOT NULL,
    PRIMARY KEY (principal, since, open)
) STRICT, WITHOUT ROWID;
CREATE INDEX deciders_open ON deciders (open);

-- One row: the last token given to anybody. Tokens are not counted for each run, so that one of a deleted run is not
-- good for another of the same name.
CREATE TABLE tokens (last INTEGER NOT NULL) STRICT;
INSERT INTO tokens VALUES (0);

-- Nonces of sealed runs that were opened, until nobody can open them any more.
CREATE TABLE nonces (
    nonce TEXT PRIMARY KEY,
    expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX nonces_expires ON nonces (expires);

-- One row: what no other file has. It goes into sealed runs, so that a file that was lost is not taken for one in which
-- nothing was opened.
CREATE TABLE identity (id TEXT NOT NULL) STRICT;
INSERT INTO identity VALUES (lower(hex(randomblob(16))));
