-- Logs, heads, claims, waits, answers and late results.

CREATE TABLE store_meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO store_meta (key, value) VALUES ('chain', 'salvor.chain.v1');

-- The head of each run. Its one conditional update is the fence of every append.
-- driver, pid, host and lease_until are NULL when nobody drives the run.
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    epoch INTEGER NOT NULL,
    token TEXT NOT NULL,
    length INTEGER NOT NULL,
    head_hash TEXT NOT NULL,
    lease_until INTEGER,
    driver TEXT,
    pid INTEGER,
    host TEXT,
    first_recorded_at INTEGER,
    last_recorded_at INTEGER,
    waiting INTEGER NOT NULL DEFAULT 0 -- 1 while it has a row in waits
) STRICT;

CREATE INDEX runs_by_first_event ON runs (coalesce(first_recorded_at, 9223372036854775807), run_id);

CREATE INDEX runs_by_driver ON runs (driver) WHERE driver IS NOT NULL;

CREATE TABLE events (
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    envelope TEXT NOT NULL,
    row_hash TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    nonce TEXT NOT NULL,
    UNIQUE (run, seq)
) STRICT;

CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
BEGIN
    SELECT raise(ABORT, 'events are never changed');
END;

CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
BEGIN
    SELECT raise(ABORT, 'events are never deleted');
END;

CREATE TABLE claims (
    namespace TEXT NOT NULL,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('held', 'committed', 'failed', 'released')),
    effect TEXT NOT NULL,
    run_id TEXT NOT NULL,
    intent_seq INTEGER NOT NULL,
    input_hash TEXT NOT NULL,
    generation INTEGER NOT NULL,
    extent TEXT,
    completion_seq INTEGER,
    output_hash TEXT,
    PRIMARY KEY (namespace, scope, key)
) STRICT;

CREATE INDEX claims_held ON claims (run_id, intent_seq) WHERE state = 'held';

-- Runs that stand still until a claim is settled. An append of the waiting run ends the
-- wait, and so does the end of that holding. A trigger on appends would cost each of them;
-- runs.waiting costs none.
CREATE TABLE waits (
    run INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    tool TEXT NOT NULL,
    holder_run TEXT NOT NULL,
    since INTEGER NOT NULL
) STRICT;

CREATE INDEX waits_by_claim ON waits (namespace, scope, key);

CREATE TRIGGER waits_mark_their_run AFTER INSERT ON waits
BEGIN
    UPDATE runs SET waiting = 1 WHERE id = new.run;
END;

CREATE TRIGGER waits_free_their_run AFTER DELETE ON waits
BEGIN
    UPDATE runs SET waiting = 0 WHERE id = old.run;
END;

CREATE TRIGGER waits_end_with_the_holding AFTER UPDATE OF state ON claims
WHEN old.state = 'held' AND new.state <> 'held'
BEGIN
    DELETE FROM waits
    WHERE namespace = new.namespace AND scope = new.scope AND key = new.key;
END;

CREATE TABLE answers (
    run INTEGER NOT NULL,
    park_seq INTEGER NOT NULL,
    PRIMARY KEY (run, park_seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE late_results (
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL,
    intent_seq INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    value TEXT NOT NULL,
    kept_at INTEGER NOT NULL,
    extent TEXT
) STRICT;

CREATE INDEX late_results_by_run ON late_results (run_id);
