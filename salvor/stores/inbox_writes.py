"""Writing to the inbox of a run: from anybody, without a fence."""

from __future__ import annotations

import sqlite3

from salvor.events.records import Cancel, Signal
from salvor.run_errors import RunEnded, SignalConflict, UnknownRun
from salvor.stores import statements as sql
from salvor.stores.instants import micros
from salvor.stores.records import LeaseReader
from salvor.stores.write import Write


class SignalWrite(Write[int]):
    """Numbers a signal and puts it into the inbox, once for each sender's id."""

    __slots__ = ("_key", "_leases", "_n", "_signal")

    def __init__(self, signal: Signal, leases: LeaseReader) -> None:
        self._signal = signal
        self._leases = leases
        self._key = self._n = 0

    def run(self, db: sqlite3.Connection) -> int:
        """Its number: the writer's transaction is the lock under which it is given (D3)."""
        signal = self._signal
        key, ended = _run(db, signal.run_id)
        known = self._known(db, key)
        if known is not None:
            return known
        if ended:
            raise RunEnded(signal.run_id)
        n: int = db.execute(sql.LAST_SIGNAL, (key,)).fetchone()[0] + 1
        db.execute(sql.PUT_SIGNAL, (key, n, *self._told()))
        db.execute(sql.MAKE_DUE, (self._leases.now(), key))
        self._key, self._n = key, n
        return n

    def _told(self) -> tuple[str | int | None, ...]:
        signal = self._signal
        sent_at = micros(signal.sent_at)
        return (signal.name, signal.payload, signal.sender_id, signal.by, sent_at)

    def _known(self, db: sqlite3.Connection, key: int) -> int | None:
        signal = self._signal
        if signal.sender_id is None:
            return None
        record = db.execute(sql.SENT_BEFORE, (key, signal.sender_id)).fetchone()
        if record is None:
            return None
        if record[1:] != (signal.name, signal.payload):
            raise SignalConflict(run_id=signal.run_id, sender_id=signal.sender_id)
        n: int = record[0]
        return n

    def landed(self, db: sqlite3.Connection) -> bool:
        """What has its number is this signal."""
        record = db.execute(sql.SIGNAL_AT, (self._key, self._n)).fetchone()
        return bool(record == self._told())


class CancelWrite(Write[None]):
    """Keeps the first cancel of a run."""

    __slots__ = ("_cancel", "_leases")

    def __init__(self, cancel: Cancel, leases: LeaseReader) -> None:
        self._cancel = cancel
        self._leases = leases

    def run(self, db: sqlite3.Connection) -> None:
        """Write it, and make the run due."""
        cancel = self._cancel
        key, ended = _run(db, cancel.run_id)
        if ended:
            raise RunEnded(cancel.run_id)
        db.execute(sql.PUT_CANCEL, (key, cancel.reason, cancel.by, micros(cancel.asked_at)))
        db.execute(sql.MARK_CANCELLED, (key,))
        db.execute(sql.MAKE_DUE, (self._leases.now(), key))

    def landed(self, db: sqlite3.Connection) -> bool:
        """It can be repeated, so it counts as not done."""
        return False


def _run(db: sqlite3.Connection, run_id: str) -> tuple[int, bool]:
    record = db.execute(sql.RUN_TO_SIGNAL, (run_id,)).fetchone()
    if record is None:
        raise UnknownRun(run_id)
    return record[0], bool(record[1])
