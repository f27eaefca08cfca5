CREATE SEQUENCE @.tokens;

CREATE TABLE @.runs (
    key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    owner TEXT COLLATE "C" NOT NULL,
    -- How many entries the log has.
    rev BIGINT NOT NULL,
    -- The latest lease: its token, and while it is held, by whom and until when (milliseconds since 1970).
    token BIGINT NOT NULL DEFAULT 0,
    worker TEXT COLLATE "C",
    until BIGINT,
    -- The owner's title, and when a person last saw something change, for the list of the owner's runs.
    title TEXT,
    changed BIGINT NOT NULL DEFAULT 0,
    -- When somebody last took the run up.
    taken BIGINT NOT NULL DEFAULT 0,
    -- From when on somebody should: 0 for at once, NULL for never.
    due BIGINT
) WITH (fillfactor = 70); -- Room on the page, so that most appends change no index.
CREATE INDEX runs_due ON @.runs (due) WHERE due IS NOT NULL;
CREATE INDEX runs_owner ON @.runs (owner, changed, id);

CREATE TABLE @.records (
    run BIGINT NOT NULL REFERENCES @.runs ON DELETE CASCADE,
    rev BIGINT NOT NULL,
    count BIGINT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (run, rev)
);

CREATE TABLE @.snapshots (
    run BIGINT PRIMARY KEY REFERENCES @.runs ON DELETE CASCADE,
    rev BIGINT NOT NULL,
    text TEXT NOT NULL
);

CREATE TABLE @.open (
    seq BIGINT GENERATED ALWAYS AS IDENTITY,
    run BIGINT NOT NULL REFERENCES @.runs ON DELETE CASCADE,
    id TEXT COLLATE "C" NOT NULL,
    since BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, id)
);
CREATE INDEX open_since ON @.open (since);

-- Who may decide: those who are named, or the run's owner.
CREATE TABLE @.deciders (
    principal TEXT COLLATE "C" NOT NULL,
    run BIGINT NOT NULL,
    open TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (principal, run, open),
    FOREIGN KEY (run, open) REFERENCES @.open ON DELETE CASCADE
);
CREATE INDEX deciders_open ON @.deciders (run, open);

-- Nonces of sealed runs that were opened, until nobody can open them any more.
CREATE TABLE @.nonces (
    nonce TEXT COLLATE "C" PRIMARY KEY,
    expires BIGINT NOT NULL,
    -- Who has spent it: whoever lost the connection asks again under the same name.
    claim TEXT COLLATE "C" NOT NULL
);
CREATE INDEX nonces_expires ON @.nonces (expires);

-- One row: what no other schema has. It goes into sealed runs, so that a database that was lost is not taken for one in
-- which nothing was opened.
CREATE TABLE @.identity (id TEXT NOT NULL);
INSERT INTO @.identity
    SELECT encode(sha256((random()::text || random()::text || clock_timestamp()::text)::bytea), 'hex');
