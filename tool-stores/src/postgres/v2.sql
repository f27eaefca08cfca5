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
