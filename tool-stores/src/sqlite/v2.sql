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
