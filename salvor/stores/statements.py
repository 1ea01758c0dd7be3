"""The SQL of the SQLite store."""

from __future__ import annotations

from salvor.events.records import STUCK_AFTER

_HEAD_COLUMNS = (
    "runs.run_id, runs.epoch, runs.length, runs.head_hash,"
    " runs.lease_until, runs.driver, runs.pid, runs.host,"
    " runs.due_at, runs.ended, runs.takeovers, runs.causes"
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
    "UPDATE runs SET epoch = epoch + 1, token = ?, lease_until = ?, driver = ?, pid = ?, host = ?,"
    " takeovers = ?, causes = ? WHERE run_id = ?"
)
RENEW = (
    "UPDATE runs SET lease_until = ?"
    " WHERE run_id = ? AND epoch = ? AND token = ? AND driver IS NOT NULL"
)
BLAME = "UPDATE runs SET causes = ? WHERE run_id = ? AND epoch = ? AND token = ?"
CAUSES = "SELECT takeovers, causes FROM runs WHERE run_id = ?"
RELEASE = (
    "UPDATE runs SET lease_until = NULL, driver = NULL, pid = NULL, host = NULL"
    " WHERE run_id = ? AND epoch = ? AND token = ? AND driver IS NOT NULL"
)
UNBLAME = (
    "UPDATE runs SET takeovers = max(takeovers - 1, 0), due_at = ?"
    " WHERE run_id = ? AND epoch = ? AND token = ?"
)
DRIVES = "SELECT 1 FROM runs WHERE driver = ? AND lease_until > ? LIMIT 1"

# The fence of every append: it changes one row or the append is refused. A run that waits
# is left alone, too: its wait has to be ended first. So is one with a cancel, if it is heeded;
# if it is not, the run stays due since it was cancelled.
ADVANCE = (
    "UPDATE runs SET length = ?, head_hash = ?, last_recorded_at = ?,"
    " due_at = CASE cancelled WHEN 0 THEN ? ELSE due_at END, ended = ended OR ?,"
    " takeovers = 0, causes = NULL WHERE id = ?"
    " AND epoch = ? AND token = ? AND length = ? AND head_hash = ? AND waiting = 0"
    " AND (cancelled = 0 OR NOT ?)"
)
ENDS_AT = "SELECT 1 FROM runs WHERE id = ? AND length = ? AND head_hash = ?"
FIRST_EVENT = "UPDATE runs SET first_recorded_at = ? WHERE id = ?"
SETTLE = (
    "UPDATE runs SET length = ?, head_hash = ?, last_recorded_at = coalesce(?, last_recorded_at),"
    " due_at = CASE cancelled WHEN 0 THEN ? ELSE due_at END,"
    " ended = ended OR ?, takeovers = 0, causes = NULL, epoch = epoch + 1,"
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
# Whether the store was restored, and nobody said since that keys may be used again.
UNCONFIRMED = "SELECT 1 FROM store_meta WHERE key = 'confirmed' AND value = '0'"
FRESH_CLAIM = (
    "INSERT INTO claims (namespace, scope, key, state, effect, run_id, intent_seq, input_hash,"
    f" generation) SELECT ?, ?, ?, 'held', ?, ?, ?, ?, 1 WHERE NOT EXISTS ({UNCONFIRMED})"
    " ON CONFLICT DO NOTHING"
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
# Nothing is to be done for it until the holding ends, unless it is to be cancelled.
WAITS_WELL = (
    "UPDATE runs SET takeovers = 0, causes = NULL,"
    " due_at = CASE cancelled WHEN 0 THEN NULL ELSE due_at END WHERE run_id = ?"
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
    f"SELECT {_HEAD_COLUMNS}, first_recorded_at, last_recorded_at, {_WAIT_COLUMNS},"
    " cancels.reason, cancels.sender, cancels.asked_at"
    " FROM runs LEFT JOIN waits ON waits.run = runs.id LEFT JOIN cancels ON cancels.run = runs.id"
    # The first condition follows from the second, and is what the index can be searched for.
    f" WHERE {_PLACE} >= ?1 AND ({_PLACE}, runs.run_id) > (?1, ?2) AND ended IN (?3, ?4)"
    f" ORDER BY {_PLACE}, runs.run_id LIMIT ?5"
)
# Two halves, each of which an index serves: an OR of them looks at every run.
DUE = (
    f"SELECT {_HEAD_COLUMNS}, due_at FROM runs"
    " WHERE due_at IS NOT NULL AND ended = 0 AND length > 0 AND due_at <= ?1"
    f" AND takeovers < {STUCK_AFTER}"
    f" UNION ALL SELECT {_HEAD_COLUMNS}, lease_until FROM runs"
    " WHERE driver IS NOT NULL AND ended = 0 AND length > 0 AND (due_at IS NULL OR due_at > ?1)"
    f" AND takeovers < {STUCK_AFTER} ORDER BY 13, 1"
)

RUN_TO_SIGNAL = "SELECT id, ended FROM runs WHERE run_id = ?"
MAKE_DUE = "UPDATE runs SET due_at = ? WHERE id = ?"
_SIGNAL_COLUMNS = "name, payload, sent_at, sender_id, sender, n, consumed"
SENT_BEFORE = "SELECT n, name, payload FROM signals WHERE run = ? AND sender_id = ?"
LAST_SIGNAL = "SELECT coalesce(max(n), 0) FROM signals WHERE run = ?"
PUT_SIGNAL = (
    "INSERT INTO signals (run, n, name, payload, sender_id, sender, sent_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
SIGNAL_AT = "SELECT name, payload, sender_id, sender, sent_at FROM signals WHERE run = ? AND n = ?"
INBOX = f"SELECT {_SIGNAL_COLUMNS} FROM signals WHERE run = ? ORDER BY n"
UNCONSUMED = (
    f"SELECT {_SIGNAL_COLUMNS} FROM signals WHERE run = ? AND name = ? AND consumed IS NULL"
    " ORDER BY n LIMIT 1"
)
CONSUME = "UPDATE signals SET consumed = ? WHERE run = ? AND n = ? AND consumed IS NULL"
PUT_CANCEL = (
    "INSERT INTO cancels (run, reason, sender, asked_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
MARK_CANCELLED = "UPDATE runs SET cancelled = 1 WHERE id = ?"
CANCEL = "SELECT reason, sender, asked_at FROM cancels WHERE run = ?"

CLAIMS = (
    f"SELECT namespace, scope, key, {_CLAIM_COLUMNS} FROM claims"
    " WHERE (namespace, scope, key) > (?, ?, ?) AND (?4 IS NULL OR state = ?4)"
    " ORDER BY namespace, scope, key LIMIT ?5"
)
OUTPUT = "SELECT output FROM claim_outputs WHERE namespace = ? AND scope = ? AND key = ?"
PUT_OUTPUT = (
    "INSERT INTO claim_outputs (namespace, scope, key, output) VALUES (?, ?, ?, ?)"
    " ON CONFLICT DO UPDATE SET output = excluded.output"
)
DROP_OUTPUT = "DELETE FROM claim_outputs WHERE namespace = ? AND scope = ? AND key = ?"
LAST_ENTRY = "SELECT n, row_hash FROM claim_log ORDER BY n DESC LIMIT 1"
PUT_ENTRY = "INSERT INTO claim_log (n, entry, row_hash) VALUES (?, ?, ?)"
ENTRIES = "SELECT n, entry, row_hash FROM claim_log WHERE n > ? ORDER BY n LIMIT ?"

META = "SELECT value FROM store_meta WHERE key = ?"
PUT_META = (
    "INSERT INTO store_meta (key, value) VALUES (?, ?)"
    " ON CONFLICT (key) DO UPDATE SET value = excluded.value"
)
ADOPT = (
    "INSERT INTO runs (run_id, epoch, token, length, head_hash, first_recorded_at,"
    " last_recorded_at, due_at, ended) VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?)"
)
ADOPT_SIGNAL = (
    "INSERT INTO signals (run, n, name, payload, sender_id, sender, sent_at, consumed)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
RUN_TO_FORGET = "SELECT id, ended, last_recorded_at FROM runs WHERE run_id = ?"
COMMITTED_BY = (
    f"SELECT namespace, scope, key, {_CLAIM_COLUMNS} FROM claims"
    " WHERE run_id = ? AND state = 'committed' AND completion_seq IS NOT NULL"
)
FAILED_BY = "SELECT 1 FROM claims WHERE run_id = ? AND state = 'failed' LIMIT 1"
OUTLIVE_LOG = (
    "UPDATE claims SET completion_seq = NULL WHERE namespace = ? AND scope = ? AND key = ?"
)
EVENTS_AT = (
    "SELECT seq, recorded_at, envelope, row_hash FROM events"
    " WHERE run = ? AND seq BETWEEN ? AND ? ORDER BY seq"
)
FORGET = (
    "DELETE FROM runs WHERE id = ?",
    "DELETE FROM events WHERE run = ?",
    "DELETE FROM answers WHERE run = ?",
    "DELETE FROM signals WHERE run = ?",
    "DELETE FROM cancels WHERE run = ?",
    "DELETE FROM waits WHERE run = ?",
)
FORGET_LATE = "DELETE FROM late_results WHERE run_id = ?"
