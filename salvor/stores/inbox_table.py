"""The inbox of a run in the SQLite store: signals, and the cancel."""

from __future__ import annotations

import sqlite3

from salvor.events.records import Append, Cancel, Settlement, Signal
from salvor.stores import records
from salvor.stores import statements as sql
from salvor.stores.instants import instant
from salvor.stores.refusals import consumed_before


def unconsumed(db: sqlite3.Connection, key: int, run_id: str, name: str) -> Signal | None:
    """The oldest unconsumed signal of that name."""
    record = db.execute(sql.UNCONSUMED, (key, name)).fetchone()
    return None if record is None else records.signal(run_id, record)


def consume(db: sqlite3.Connection, key: int, change: Append | Settlement) -> None:
    """Mark the signal that the last row answers with as consumed.

    Raises:
        Conflict: it is not there, or was consumed before.
    """
    if change.consumes is None:
        return
    seq = change.length + len(change.rows) - 1
    if db.execute(sql.CONSUME, (seq, key, change.consumes)).rowcount != 1:
        run_id = change.run_id if isinstance(change, Settlement) else change.fence.run_id
        raise consumed_before(run_id, change.consumes)


def cancel_of(db: sqlite3.Connection, key: int, run_id: str) -> Cancel | None:
    """The cancel of a run, if there is one."""
    record = db.execute(sql.CANCEL, (key,)).fetchone()
    if record is None:
        return None
    reason, by, asked_at = record
    return Cancel(run_id=run_id, reason=reason, by=by, asked_at=instant(asked_at))
