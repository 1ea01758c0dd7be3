"""The SQL of the SQLite store."""

from __future__ import annotations

_HEAD_COLUMNS = (
    "runs.run_id, runs.epoch, runs.length, runs.head_hash,"
    " runs.lease_until, runs.driver, runs.pid, runs.host"
)
_CLAIM_COLUMNS = (
    "state, effect, run_id, intent_seq, input_hash, generation, extent, completion_seq, output_hash"
)
_WAIT_COLUMNS = "waits.namespace, waits.scope, waits.key, waits.tool, waits.holder_run, waits.since"
# Runs without an event come last; the index of this expression serves the listing.
_PLACE = "coalesce(first_recorded_at, 9223372036854775807)"

RUN_KEY = "SELECT id FROM runs WHERE run_id = ?"
FENCE = "SELECT epoch, token FROM runs WHERE run_id = ?"
HEAD = f"SELECT {_HEAD_COLUMNS} FROM runs WHERE run_id = ?"
HEAD_TO_SETTLE = f"SELECT {_HEAD_COLUMNS}, runs.id FROM runs WHERE run_id = ?"

CREATE_RUN = "INSERT INTO runs (run_id, epoch, token, length, head_hash) VALUES (?, 0, '', 0, ?)"
TAKE_OVER = (
    "UPDATE runs SET epoch = epoch + 1, token = ?, lease_until = ?, driver = ?, pid = ?, host = ?"
    " WHERE run_id = ?"
)
RENEW = (
    "UPDATE runs SET lease_until = ?"
    " WHERE run_id = ? AND epoch = ? AND token = ? AND driver IS NOT NULL"
)
RELEASE = (
    "UPDATE runs SET lease_until = NULL, driver = NULL, pid = NULL, host = NULL"
    " WHERE run_id = ? AND epoch = ? AND token = ?"
)
DRIVES = "SELECT 1 FROM runs WHERE driver = ? AND lease_until > ? LIMIT 1"

# The fence of every append: it changes one row or the append is refused. A run that waits
# is left alone, too: its wait has to be ended first.
ADVANCE = (
    "UPDATE runs SET length = ?, head_hash = ?, last_recorded_at = ? WHERE id = ?"
    " AND epoch = ? AND token = ? AND length = ? AND head_hash = ? AND waiting = 0"
)
FIRST_EVENT = "UPDATE runs SET first_recorded_at = ? WHERE id = ?"
SETTLE = (
    "UPDATE runs SET length = ?, head_hash = ?, last_recorded_at = ?, epoch = epoch + 1,"
    " token = ?, lease_until = NULL, driver = NULL, pid = NULL, host = NULL WHERE id = ?"
)
INSERT_EVENT = (
    "INSERT INTO events (run, seq, recorded_at, envelope, row_hash, epoch, nonce)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
NONCE = "SELECT nonce FROM events WHERE run = ? AND seq = ?"
EVENTS = (
    "SELECT events.seq, events.recorded_at, events.envelope, events.row_hash"
    " FROM events JOIN runs ON runs.id = events.run"
    " WHERE runs.run_id = ? AND events.seq > ? ORDER BY events.seq LIMIT ?"
)
ANSWER = "INSERT INTO answers (run, park_seq) VALUES (?, ?)"
ANSWERED = "SELECT 1 FROM answers WHERE run = ? AND park_seq = ?"

CLAIM = f"SELECT {_CLAIM_COLUMNS} FROM claims WHERE namespace = ? AND scope = ? AND key = ?"
HELD_CLAIM = (
    f"SELECT {_CLAIM_COLUMNS}, namespace, scope, key FROM claims"
    " WHERE state = 'held' AND run_id = ? AND intent_seq = ?"
)
FRESH_CLAIM = (
    "INSERT INTO claims (namespace, scope, key, state, effect, run_id, intent_seq, input_hash,"
    " generation) VALUES (?, ?, ?, 'held', ?, ?, ?, ?, 1) ON CONFLICT DO NOTHING"
)
MOVE_CLAIM = (
    "UPDATE claims SET intent_seq = ?, generation = generation + 1 WHERE namespace = ?"
    " AND scope = ? AND key = ? AND state = 'held' AND run_id = ? AND intent_seq = ?"
)
SETTLE_CLAIM = (
    "UPDATE claims SET state = ?, extent = ?, completion_seq = ?, output_hash = ?"
    " WHERE namespace = ? AND scope = ? AND key = ? AND state = 'held'"
    " AND run_id = ? AND intent_seq = ?"
)
PUT_CLAIM = (
    f"INSERT INTO claims (namespace, scope, key, {_CLAIM_COLUMNS})"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
    " state = excluded.state, effect = excluded.effect, run_id = excluded.run_id,"
    " intent_seq = excluded.intent_seq, input_hash = excluded.input_hash,"
    " generation = excluded.generation, extent = excluded.extent,"
    " completion_seq = excluded.completion_seq, output_hash = excluded.output_hash"
)

WAIT = (
    "INSERT OR REPLACE INTO waits (run, namespace, scope, key, tool, holder_run, since)"
    " SELECT id, ?, ?, ?, ?, ?, ? FROM runs WHERE run_id = ?"
)
END_WAIT = "DELETE FROM waits WHERE run = ?"
KEEP_LATE = (
    "INSERT INTO late_results (run_id, intent_seq, epoch, outcome, value, kept_at, extent)"
    " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS (SELECT 1 FROM late_results"
    " WHERE run_id = ?1 AND intent_seq = ?2 AND epoch = ?3 AND outcome = ?4 AND value = ?5"
    " AND kept_at = ?6 AND extent IS ?7)"
)
LATE = (
    "SELECT run_id, intent_seq, epoch, outcome, value, kept_at, extent FROM late_results"
    " WHERE run_id = ? ORDER BY id"
)

PLACE = f"SELECT {_PLACE} FROM runs WHERE run_id = ?"
RUNS = (
    f"SELECT {_HEAD_COLUMNS}, first_recorded_at, last_recorded_at, {_WAIT_COLUMNS}"
    " FROM runs LEFT JOIN waits ON waits.run = runs.id"
    f" WHERE ({_PLACE}, run_id) > (?, ?) ORDER BY {_PLACE}, run_id LIMIT ?"
)
