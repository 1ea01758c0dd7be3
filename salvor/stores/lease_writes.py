"""Who drives a run: taking over, confirming, letting go."""

from __future__ import annotations

import sqlite3

from salvor.events.chain import GENESIS
from salvor.events.records import (
    STUCK_AFTER,
    Driver,
    Fence,
    Head,
    Lease,
)
from salvor.run_errors import RunStuck, UnknownRun
from salvor.stores import records
from salvor.stores import statements as sql
from salvor.stores.drivers import DriverLocks
from salvor.stores.instants import instant
from salvor.stores.records import LeaseReader
from salvor.stores.refusals import lease_held, went_silent
from salvor.stores.write import Write, check_fence


class TakeOverWrite(Write[tuple[Fence, Head, int]]):
    """Makes a driver the one that may write to a run.

    ``fence`` is set once it did.
    """

    __slots__ = (
        "_create",
        "_driver",
        "_leases",
        "_locks",
        "_operator",
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
        operator: bool,
        token: str,
        leases: LeaseReader,
        locks: DriverLocks,
    ) -> None:
        self._run_id = run_id
        self._driver = driver
        self._seconds = seconds
        self._create = create
        self._operator = operator
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
        takeovers, causes = self._counted(head, record)
        texts = records.causes_text(causes)
        taking = (self._token, until, driver.id, driver.pid, driver.host, takeovers, texts)
        db.execute(sql.TAKE_OVER, (*taking, self._run_id))
        fence = Fence(run_id=self._run_id, epoch=head.epoch + 1, token=self._token)
        taken = Head(
            run_id=self._run_id,
            epoch=fence.epoch,
            length=head.length,
            head_hash=head.head_hash,
            lease=Lease(driver=driver, expires_at=instant(until)),
            takeovers=takeovers,
            causes=causes,
            due_at=head.due_at,
            ended=head.ended,
        )
        self.fence = fence
        return fence, taken, record[-1]

    def landed(self, db: sqlite3.Connection) -> bool:
        """The run's token is the fresh one."""
        record = db.execute(sql.FENCE, (self._run_id,)).fetchone()
        return record is not None and record[1] == self._token

    def _counted(self, head: Head, record: records.Record) -> tuple[int, tuple[str, ...]]:
        """How often the run was taken over since its last event, and how that ended (C4)."""
        if self._operator:
            return 1, ()
        causes = head.causes
        before = records.driver_of(record)
        if before is not None and head.takeovers:
            causes = (*causes, went_silent(before))[-STUCK_AFTER:]
        if head.stuck:
            raise RunStuck(run_id=self._run_id, takeovers=head.takeovers, causes=causes)
        return head.takeovers + 1, causes

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
    """Ends a lease, if the fence is still the run's, and keeps why it ended."""

    __slots__ = ("_cause", "_fence", "_unblamed_at")

    def __init__(
        self, fence: Fence, cause: str | None = None, *, unblamed_at: int | None = None
    ) -> None:
        self._fence = fence
        self._cause = cause
        self._unblamed_at = unblamed_at

    def run(self, db: sqlite3.Connection) -> None:
        """Take the driver off the head row."""
        fence = self._fence
        of = (fence.run_id, fence.epoch, fence.token)
        if not db.execute(sql.RELEASE, of).rowcount:
            return  # it was released before, or somebody else has the run
        if self._unblamed_at is not None:
            db.execute(sql.UNBLAME, (self._unblamed_at, *of))
        elif self._cause is not None:
            takeovers, text = db.execute(sql.CAUSES, (fence.run_id,)).fetchone() or (0, None)
            if takeovers:
                causes = (*records.causes_of(text), self._cause)[-STUCK_AFTER:]
                db.execute(sql.BLAME, (records.causes_text(causes), *of))

    def landed(self, db: sqlite3.Connection) -> bool:
        """Nobody drives the run, or somebody else does."""
        fence = self._fence
        query = f"{sql.FENCE} AND driver IS NOT NULL"
        record = db.execute(query, (fence.run_id,)).fetchone()
        return bool(record != (fence.epoch, fence.token))


def drives(db: sqlite3.Connection, driver_id: str, now: int) -> bool:
    """Whether a lease of this driver has not run out."""
    return db.execute(sql.DRIVES, (driver_id, now)).fetchone() is not None
