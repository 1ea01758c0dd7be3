-- Parks by signal, clock and cancel; the log of what operators said of claims; restores.

-- due_at is when the run is to be looked at again; 0 is at once. takeovers counts those since
-- the last event, causes is a JSON list of how the last of them ended.
ALTER TABLE runs ADD COLUMN due_at INTEGER;
ALTER TABLE runs ADD COLUMN ended INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN takeovers INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN causes TEXT;
ALTER TABLE runs ADD COLUMN cancelled INTEGER NOT NULL DEFAULT 0; -- 1 while it has a cancel

UPDATE runs SET ended = 1 WHERE EXISTS (
    SELECT 1 FROM events WHERE events.run = runs.id AND events.seq = runs.length - 1
    AND CASE WHEN json_valid(events.envelope)
        THEN json_extract(events.envelope, '$.event.kind') END IN ('RunCompleted', 'RunFailed', 'RunAbandoned')
);

CREATE INDEX runs_by_due ON runs (due_at) WHERE due_at IS NOT NULL AND ended = 0;

CREATE TABLE signals (
    run INTEGER NOT NULL,
    n INTEGER NOT NULL,
    name TEXT NOT NULL,
    payload TEXT NOT NULL,
    sender_id TEXT,
    sender TEXT,
    sent_at INTEGER NOT NULL,
    consumed INTEGER,
    PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX signals_by_sender ON signals (run, sender_id) WHERE sender_id IS NOT NULL;

CREATE INDEX signals_unconsumed ON signals (run, name, n) WHERE consumed IS NULL;

CREATE TABLE cancels (
    run INTEGER PRIMARY KEY,
    reason TEXT,
    sender TEXT,
    asked_at INTEGER NOT NULL
) STRICT;

DROP TRIGGER waits_end_with_the_holding;

CREATE TRIGGER waits_end_with_the_holding AFTER UPDATE OF state ON claims
WHEN old.state = 'held' AND new.state <> 'held'
BEGIN
    UPDATE runs SET due_at = 0 WHERE id IN (
        SELECT run FROM waits
        WHERE namespace = new.namespace AND scope = new.scope AND key = new.key
    );
    DELETE FROM waits
    WHERE namespace = new.namespace AND scope = new.scope AND key = new.key;
END;

CREATE INDEX claims_by_run ON claims (run_id);

-- Outputs of claims that are in no log: an operator's word, or of a log that was removed.
CREATE TABLE claim_outputs (
    namespace TEXT NOT NULL,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    output TEXT NOT NULL,
    PRIMARY KEY (namespace, scope, key)
) STRICT;

CREATE TABLE claim_log (
    n INTEGER PRIMARY KEY,
    entry TEXT NOT NULL,
    row_hash TEXT NOT NULL
) STRICT;

CREATE TRIGGER claim_log_is_never_changed BEFORE UPDATE ON claim_log
BEGIN
    SELECT raise(ABORT, 'the claim log is never changed');
END;

CREATE TRIGGER claim_log_is_never_deleted BEFORE DELETE ON claim_log
BEGIN
    SELECT raise(ABORT, 'the claim log is never deleted');
END;

-- Events go only with their whole run.
DROP TRIGGER events_are_never_deleted;

CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
WHEN EXISTS (SELECT 1 FROM runs WHERE id = old.run)
BEGIN
    SELECT raise(ABORT, 'events are never deleted');
END;
