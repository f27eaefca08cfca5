-- The title of a run, and when a person last saw something change in it, for the list of its owner's runs.
ALTER TABLE @.runs ADD COLUMN title TEXT;
ALTER TABLE @.runs ADD COLUMN changed BIGINT NOT NULL DEFAULT 0;
UPDATE @.runs SET changed = taken;
CREATE INDEX runs_owner ON @.runs (owner, changed, id);
