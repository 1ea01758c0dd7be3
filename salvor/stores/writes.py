"""What can be written to a SQLite store: each kind runs inside the writer's transaction."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from salvor.events.chain import GENESIS
from salvor.events.claims import Claim, ClaimId
from salvor.events.records import Append, Driver, Fence, Head, LateResult, Lease, Row, Settlement
from salvor.handoff import Handoff
from salvor.run_errors import AnswerConflict, UnknownRun
from salvor.store_errors import Fenced
from salvor.stores import records
from salvor.stores import statements as sql
from salvor.stores.claim_changes import ClaimStands
from salvor.stores.claim_table import change_claims, read_claim
from salvor.stores.drivers import DriverLocks
from salvor.stores.instants import instant, micros
from salvor.stores.records import LeaseReader
from salvor.stores.refusals import lease_held, log_moved

T = TypeVar("T")


class Write(ABC, Generic[T]):
    """One member of a batch; `value` or `error` is its outcome."""

    __slots__ = ("error", "handoff", "submitted", "value")
    value: T
    error: Exception | None
    handoff: Handoff[T]
    submitted: float

    @abstractmethod
    def run(self, db: sqlite3.Connection) -> T:
        """Carry the write out in the open transaction.

        Raises:
            SalvorError: it is refused; whatever it wrote has to be rolled back.
        """

    @abstractmethod
    def landed(self, db: sqlite3.Connection) -> bool:
        """Whether the write is in the store, after a commit that failed."""


class AppendWrite(Write[Claim | None]):
    """Rows for the end of a log, under its driver's fence.

    Args:
        append: What to write.
        key: The run's integer key, 0 if it is not known.
    """

    __slots__ = ("append", "key")

    def __init__(self, append: Append, key: int) -> None:
        self.append = append
        self.key = key

    def advance(self) -> tuple[Any, ...]:
        """Parameters of ``ADVANCE``."""
        append, fence = self.append, self.append.fence
        last = append.rows[-1]
        return (
            append.length + len(append.rows),
            last.row_hash,
            last.recorded_at,
            self.key,
            fence.epoch,
            fence.token,
            append.length,
            append.prev_hash,
        )

    def events(self) -> list[tuple[Any, ...]]:
        """Parameters of ``INSERT_EVENT``."""
        append = self.append
        return _events(self.key, append.rows, append.fence.epoch, append.nonce)

    def run(self, db: sqlite3.Connection) -> Claim | None:
        """Advance the head, or say why not; then rows and claims."""
        append = self.append
        if not self.key:
            self.key = _key(db, append.fence.run_id)
        if not self._advanced(db):
            check_fence(db, append.fence)
            ended = db.execute(sql.END_WAIT, (self.key,)).rowcount == 1
            if not (ended and self._advanced(db)):
                raise log_moved(append.fence.run_id)
        _insert_events(db, self.key, append.length, self.events())
        try:
            change_claims(db, append.claims)
        except ClaimStands as refusal:
            raise Withdrawn(refusal.claim) from refusal
        return None

    def _advanced(self, db: sqlite3.Connection) -> bool:
        return db.execute(sql.ADVANCE, self.advance()).rowcount == 1

    def landed(self, db: sqlite3.Connection) -> bool:
        """Its first row bears its nonce."""
        return _has_nonce(db, self.key, self.append.length, self.append.nonce)


class Withdrawn(Exception):
    """A write that must leave nothing behind, though it has a result for its caller."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


class SettleWrite(Write[None]):
    """Rows that an operator adds to a run that rests."""

    __slots__ = ("_key", "_leases", "_settlement", "_token")

    def __init__(self, settlement: Settlement, leases: LeaseReader, token: str) -> None:
        self._settlement = settlement
        self._leases = leases
        self._token = token
        self._key = 0

    def run(self, db: sqlite3.Connection) -> None:
        """Take over, write, answer and let go."""
        settlement = self._settlement
        head = self._checked_head(db)
        last = settlement.rows[-1]
        length = head.length + len(settlement.rows)
        db.execute(sql.END_WAIT, (self._key,))
        db.execute(sql.SETTLE, (length, last.row_hash, last.recorded_at, self._token, self._key))
        rows = _events(self._key, settlement.rows, head.epoch + 1, settlement.nonce)
        _insert_events(db, self._key, head.length, rows)
        if settlement.answers is not None:
            db.execute(sql.ANSWER, (self._key, settlement.answers))
        try:
            change_claims(db, settlement.claims)
        except ClaimStands as refusal:
            raise log_moved(settlement.run_id) from refusal

    def landed(self, db: sqlite3.Connection) -> bool:
        """Its first row bears its nonce."""
        return _has_nonce(db, self._key, self._settlement.length, self._settlement.nonce)

    def _checked_head(self, db: sqlite3.Connection) -> Head:
        settlement = self._settlement
        record = db.execute(sql.HEAD_TO_SETTLE, (settlement.run_id,)).fetchone()
        if record is None:
            raise UnknownRun(settlement.run_id)
        self._key = record[-1]
        head = self._leases.head(record[:-1])
        park = settlement.answers
        if park is not None and db.execute(sql.ANSWERED, (self._key, park)).fetchone():
            raise AnswerConflict(run_id=settlement.run_id, park_seq=park)
        if head.lease is not None:
            raise lease_held(settlement.run_id, head.lease)
        if (head.length, head.head_hash) != (settlement.length, settlement.prev_hash):
            raise log_moved(settlement.run_id)
        return head


class TakeOverWrite(Write[tuple[Fence, Head, int]]):
    """Makes a driver the one that may write to a run.

    ``fence`` is set once it did.
    """

    __slots__ = (
        "_create",
        "_driver",
        "_leases",
        "_locks",
        "_run_id",
        "_seconds",
        "_token",
        "fence",
    )

    def __init__(
        self,
        run_id: str,
        driver: Driver,
        seconds: float,
        *,
        create: bool,
        token: str,
        leases: LeaseReader,
        locks: DriverLocks,
    ) -> None:
        self._run_id = run_id
        self._driver = driver
        self._seconds = seconds
        self._create = create
        self._token = token
        self._leases = leases
        self._locks = locks
        self.fence: Fence | None = None

    def run(self, db: sqlite3.Connection) -> tuple[Fence, Head, int]:
        """Raise the epoch; also returns the run's key."""
        record = self._record(db)
        head = self._leases.head(record[:-1])
        if head.lease is not None:
            raise lease_held(self._run_id, head.lease)
        if self._locks.hold(self._driver):
            self._locks.sweep(lambda driver_id: not drives(db, driver_id, self._leases.now()))
        until = self._leases.now() + int(self._seconds * 1_000_000)
        driver = self._driver
        db.execute(
            sql.TAKE_OVER,
            (self._token, until, driver.id, driver.pid, driver.host, self._run_id),
        )
        fence = Fence(run_id=self._run_id, epoch=head.epoch + 1, token=self._token)
        taken = Head(
            run_id=self._run_id,
            epoch=fence.epoch,
            length=head.length,
            head_hash=head.head_hash,
            lease=Lease(driver=driver, expires_at=instant(until)),
        )
        self.fence = fence
        return fence, taken, record[-1]

    def landed(self, db: sqlite3.Connection) -> bool:
        """The run's token is the fresh one."""
        record = db.execute(sql.FENCE, (self._run_id,)).fetchone()
        return record is not None and record[1] == self._token

    def _record(self, db: sqlite3.Connection) -> records.Record:
        query = db.execute(sql.HEAD_TO_SETTLE, (self._run_id,))
        record: records.Record | None = query.fetchone()
        if record is not None:
            return record
        if not self._create:
            raise UnknownRun(self._run_id)
        db.execute(sql.CREATE_RUN, (self._run_id, GENESIS))
        return self._record(db)


class ConfirmWrite(Write[None]):
    """Checks a fence where no take-over can come in between."""

    __slots__ = ("_fence",)

    def __init__(self, fence: Fence) -> None:
        self._fence = fence

    def run(self, db: sqlite3.Connection) -> None:
        """Raise `Fenced` unless the fence is the run's."""
        check_fence(db, self._fence)

    def landed(self, db: sqlite3.Connection) -> bool:
        """It writes nothing that could be missing."""
        return True


class ReleaseWrite(Write[None]):
    """Ends a lease, if the fence is still the run's."""

    __slots__ = ("_fence",)

    def __init__(self, fence: Fence) -> None:
        self._fence = fence

    def run(self, db: sqlite3.Connection) -> None:
        """Take the driver off the head row."""
        fence = self._fence
        db.execute(sql.RELEASE, (fence.run_id, fence.epoch, fence.token))

    def landed(self, db: sqlite3.Connection) -> bool:
        """Nobody drives the run, or somebody else does."""
        fence = self._fence
        query = f"{sql.FENCE} AND driver IS NOT NULL"
        record = db.execute(query, (fence.run_id,)).fetchone()
        return bool(record != (fence.epoch, fence.token))


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
        late = self._late
        kept_at = micros(late.kept_at)
        db.execute(
            sql.KEEP_LATE,
            (
                late.run_id,
                late.intent_seq,
                late.epoch,
                late.outcome,
                late.value,
                kept_at,
                late.extent,
            ),
        )

    def landed(self, db: sqlite3.Connection) -> bool:
        """It can be repeated, so it counts as not done."""
        return False


def check_fence(db: sqlite3.Connection, fence: Fence) -> None:
    """Raise unless the fence is the run's."""
    record = db.execute(sql.FENCE, (fence.run_id,)).fetchone()
    if record is None:
        raise UnknownRun(fence.run_id)
    if record != (fence.epoch, fence.token):
        raise Fenced(fence.run_id)


def drives(db: sqlite3.Connection, driver_id: str, now: int) -> bool:
    """Whether a lease of this driver has not run out."""
    return db.execute(sql.DRIVES, (driver_id, now)).fetchone() is not None


def _key(db: sqlite3.Connection, run_id: str) -> int:
    record = db.execute(sql.RUN_KEY, (run_id,)).fetchone()
    if record is None:
        raise UnknownRun(run_id)
    key: int = record[0]
    return key


def _events(key: int, rows: Sequence[Row], epoch: int, nonce: str) -> list[tuple[Any, ...]]:
    return [
        (key, row.seq, row.recorded_at, row.envelope, row.row_hash, epoch, nonce) for row in rows
    ]


def _insert_events(
    db: sqlite3.Connection, key: int, length: int, events: list[tuple[Any, ...]]
) -> None:
    db.executemany(sql.INSERT_EVENT, events)
    if length == 0:
        db.execute(sql.FIRST_EVENT, (events[0][2], key))


def _has_nonce(db: sqlite3.Connection, key: int, seq: int, nonce: str) -> bool:
    record = db.execute(sql.NONCE, (key, seq)).fetchone()
    return bool(record == (nonce,))
