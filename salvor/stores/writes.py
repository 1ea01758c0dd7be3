"""What can be written to a SQLite store: each kind runs inside the writer's transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from salvor.events.claims import ClaimId
from salvor.events.records import (
    Append,
    Cancel,
    Fence,
    Head,
    LateResult,
    Row,
    Settlement,
    Signal,
    Stands,
)
from salvor.run_errors import AnswerConflict, UnknownRun
from salvor.stores import records
from salvor.stores import statements as sql
from salvor.stores.claim_changes import ClaimStands
from salvor.stores.claim_table import change_claims, keep_entry, read_claim
from salvor.stores.inbox_table import cancel_of, consume, unconsumed
from salvor.stores.instants import micros
from salvor.stores.records import LeaseReader
from salvor.stores.refusals import lease_held, log_moved, untimely
from salvor.stores.write import Withdrawn, Write, check_fence, run_key


class AppendWrite(Write[Stands | None]):
    """Rows for the end of a log, under its driver's fence.

    Args:
        append: What to write.
        key: The run's integer key, 0 if it is not known.
    """

    __slots__ = ("append", "key")

    def __init__(self, append: Append, key: int) -> None:
        self.append = append
        self.key = key

    @property
    def is_plain(self) -> bool:
        """Whether it neither looks at the inbox nor changes it."""
        return self.append.consumes is None and self.append.unless_signal is None

    def advance(self) -> tuple[Any, ...]:
        """Parameters of ``ADVANCE``."""
        append, fence = self.append, self.append.fence
        last = append.rows[-1]
        return (
            append.length + len(append.rows),
            last.row_hash,
            last.recorded_at,
            None if append.due is None else micros(append.due),
            1 if append.ends else 0,  # the module adapts a bool, and that is slow
            self.key,
            fence.epoch,
            fence.token,
            append.length,
            append.prev_hash,
            1 if append.heeds_cancel else 0,
        )

    def events(self) -> list[tuple[Any, ...]]:
        """Parameters of ``INSERT_EVENT``."""
        append = self.append
        return _events(self.key, append.rows, append.fence.epoch, append.nonce)

    def run(self, db: sqlite3.Connection) -> Stands | None:
        """Advance the head, or say why not; then rows, claims and inbox."""
        append = self.append
        if not self.key:
            self.key = run_key(db, append.fence.run_id)
        if not self._advanced(db):
            check_fence(db, append.fence)
            ended = db.execute(sql.END_WAIT, (self.key,)).rowcount == 1
            if not (ended and self._advanced(db)):
                self._withdraw_for(self._heeded(db))
                raise log_moved(append.fence.run_id)
        if append.unless_signal is not None:
            found = unconsumed(db, self.key, append.fence.run_id, append.unless_signal)
            self._withdraw_for(found)
        consume(db, self.key, append)
        _insert_events(db, self.key, append.length, self.events())
        try:
            change_claims(db, append.claims)
        except ClaimStands as refusal:
            raise Withdrawn(refusal.claim) from refusal
        return None

    def _heeded(self, db: sqlite3.Connection) -> Cancel | None:
        append = self.append
        end = (self.key, append.length, append.prev_hash)
        if not append.heeds_cancel or db.execute(sql.ENDS_AT, end).fetchone() is None:
            return None
        return cancel_of(db, self.key, append.fence.run_id)

    def _withdraw_for(self, found: Signal | Cancel | None) -> None:
        if found is not None:
            raise Withdrawn(found)

    def _advanced(self, db: sqlite3.Connection) -> bool:
        return db.execute(sql.ADVANCE, self.advance()).rowcount == 1

    def landed(self, db: sqlite3.Connection) -> bool:
        """Its first row bears its nonce."""
        return _has_nonce(db, self.key, self.append.length, self.append.nonce)


class SettleWrite(Write[None]):
    """Rows that an operator adds to a run that rests."""

    __slots__ = ("_key", "_leases", "_left", "_settlement", "_token")

    def __init__(self, settlement: Settlement, leases: LeaseReader, token: str) -> None:
        self._settlement = settlement
        self._leases = leases
        self._token = token
        self._key = 0
        self._left = False  # whether a driver is on the row, alive or dead

    def run(self, db: sqlite3.Connection) -> None:
        """Take over, write, answer and let go."""
        settlement = self._settlement
        head = self._checked_head(db)
        if settlement.rows:
            db.execute(sql.END_WAIT, (self._key,))
        db.execute(sql.SETTLE, self._settled(head))
        consume(db, self._key, settlement)
        entry = settlement.entry
        before = None if entry is None else read_claim(db, entry.id)
        rows = _events(self._key, settlement.rows, head.epoch + 1, settlement.nonce)
        _insert_events(db, self._key, head.length, rows)
        if settlement.answers is not None:
            db.execute(sql.ANSWER, (self._key, settlement.answers))
        try:
            change_claims(db, settlement.claims)
        except ClaimStands as refusal:
            raise log_moved(settlement.run_id) from refusal
        if entry is not None:
            keep_entry(db, entry, before)

    def _settled(self, head: Head) -> tuple[Any, ...]:
        """Parameters of ``SETTLE``."""
        settlement = self._settlement
        last = settlement.rows[-1] if settlement.rows else None
        due = settlement.due
        if last is None:
            due = self._due(head)
        return (
            head.length + len(settlement.rows),
            head.head_hash if last is None else last.row_hash,
            None if last is None else last.recorded_at,
            None if due is None else micros(due),
            settlement.ends,
            self._token,
            self._key,
        )

    def _due(self, head: Head) -> datetime | None:
        """When the run is due after a settlement that adds nothing to its log."""
        put_off = self._settlement.put_off
        if put_off is not None:
            return put_off.at
        # The dead driver made it due, and is taken off the row.
        return self._leases.clock.now() if head.due_at is None and self._left else head.due_at

    def landed(self, db: sqlite3.Connection) -> bool:
        """The run's token is the fresh one, or its first row bears its nonce."""
        record = db.execute(sql.FENCE, (self._settlement.run_id,)).fetchone()
        if record is not None and record[1] == self._token:
            return True
        return bool(self._settlement.rows) and _has_nonce(
            db, self._key, self._settlement.length, self._settlement.nonce
        )

    def _checked_head(self, db: sqlite3.Connection) -> Head:
        settlement = self._settlement
        record = db.execute(sql.HEAD_TO_SETTLE, (settlement.run_id,)).fetchone()
        if record is None:
            raise UnknownRun(settlement.run_id)
        self._key = record[-1]
        self._left = records.driver_of(record) is not None
        head = self._leases.head(record[:-1])
        park = settlement.answers
        if park is not None and db.execute(sql.ANSWERED, (self._key, park)).fetchone():
            raise AnswerConflict(run_id=settlement.run_id, park_seq=park)
        if head.lease is not None and not settlement.force:
            raise lease_held(settlement.run_id, head.lease)
        if (head.length, head.head_hash) != (settlement.length, settlement.prev_hash):
            raise log_moved(settlement.run_id)
        if settlement.put_off is not None and settlement.put_off.seen != head.due_at:
            raise log_moved(settlement.run_id)
        untimely(settlement, self._leases.clock.now())
        return head


class WaitWrite(Write[bool]):
    """Parks a run until a claim that another run holds is settled."""

    __slots__ = ("_claim_id", "_clock", "_fence", "_tool")

    def __init__(self, fence: Fence, claim_id: ClaimId, tool: str, leases: LeaseReader) -> None:
        self._fence = fence
        self._claim_id = claim_id
        self._tool = tool
        self._clock = leases.clock

    def run(self, db: sqlite3.Connection) -> bool:
        """Write the wait row if the claim is held by another run now."""
        check_fence(db, self._fence)
        claim = read_claim(db, self._claim_id)
        if claim is None or claim.state != "held" or claim.run_id == self._fence.run_id:
            return False
        since = micros(self._clock.now())
        key = records.claim_key(self._claim_id)
        db.execute(sql.WAIT, (*key, self._tool, claim.run_id, since, self._fence.run_id))
        db.execute(sql.WAITS_WELL, (self._fence.run_id,))
        return True

    def landed(self, db: sqlite3.Connection) -> bool:
        """It can be repeated, so it counts as not done."""
        return False


class LateWrite(Write[None]):
    """Keeps what a driver got to know too late."""

    __slots__ = ("_late",)

    def __init__(self, late: LateResult) -> None:
        self._late = late

    def run(self, db: sqlite3.Connection) -> None:
        """Add the result, once."""
        db.execute(sql.KEEP_LATE, records.late_record(self._late))

    def landed(self, db: sqlite3.Connection) -> bool:
        """It can be repeated, so it counts as not done."""
        return False


def _events(key: int, rows: Sequence[Row], epoch: int, nonce: str) -> list[tuple[Any, ...]]:
    return [
        (key, row.seq, row.recorded_at, row.envelope, row.row_hash, epoch, nonce) for row in rows
    ]


def _insert_events(
    db: sqlite3.Connection, key: int, length: int, events: list[tuple[Any, ...]]
) -> None:
    db.executemany(sql.INSERT_EVENT, events)
    if events and length == 0:
        db.execute(sql.FIRST_EVENT, (events[0][2], key))


def _has_nonce(db: sqlite3.Connection, key: int, seq: int, nonce: str) -> bool:
    record = db.execute(sql.NONCE, (key, seq)).fetchone()
    return bool(record == (nonce,))
