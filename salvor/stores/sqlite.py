"""A store in one SQLite file: durable, and shared by the processes of one machine."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from typing import TypeVar

import anyio.to_thread

from salvor.clock import Clock, Ids, SystemClock, SystemIds
from salvor.events.claim_log import read_entry
from salvor.events.claims import Claim, ClaimId, ClaimState
from salvor.events.records import (
    Append,
    Cancel,
    Driver,
    Fence,
    Head,
    Incarnation,
    LateResult,
    LoggedClaim,
    LogPage,
    RunCopy,
    RunRow,
    Settlement,
    Signal,
    Stands,
)
from salvor.run_errors import UnknownRun
from salvor.store_errors import StoreUnavailable
from salvor.stores import records, schema
from salvor.stores import statements as sql
from salvor.stores.claim_table import claims_page, held_claim, read_claim
from salvor.stores.drivers import DriverLocks
from salvor.stores.faults import busy, translated
from salvor.stores.inbox_table import cancel_of
from salvor.stores.inbox_writes import CancelWrite, SignalWrite
from salvor.stores.instants import micros
from salvor.stores.lease_writes import ConfirmWrite, ReleaseWrite, TakeOverWrite, drives
from salvor.stores.lockfile import FairLock
from salvor.stores.readers import Readers
from salvor.stores.records import LeaseReader
from salvor.stores.renewal import Renewal
from salvor.stores.schema import Connect
from salvor.stores.upkeep import (
    AdoptWrite,
    ForgetWrite,
    IncarnationWrite,
    copied,
    read_incarnation,
)
from salvor.stores.write import run_key
from salvor.stores.writer import Writer
from salvor.stores.writes import AppendWrite, LateWrite, SettleWrite, WaitWrite

PATIENCE = 60.0
_MOST_KEYS = 10_000
T = TypeVar("T")


class SqliteStore:
    """Keeps logs in a SQLite file, with a lock file and the drivers' locks beside it.

    Made by `SqliteStore.open`; safe to use from any task and any thread of one process.
    """

    def __init__(
        self, path: str, *, clock: Clock, ids: Ids, connect: Connect, patience: float
    ) -> None:
        self.path = path
        self._clock = clock
        self._ids = ids
        self._keys: dict[str, int] = {}
        self._locks = DriverLocks(f"{path}-drivers")
        self._leases = LeaseReader(clock, self._locks.is_dead)
        self._readers = Readers(path, lambda: schema.prepared(connect(path)))
        self._renewal = Renewal(
            path,
            FairLock(f"{path}-lock"),
            lambda: schema.prepared(connect(path), synchronous="NORMAL"),
            patience=patience,
        )
        self._writer = Writer(
            path,
            FairLock(f"{path}-lock"),
            lambda: schema.prepared(connect(path), busy=min(1.0, patience / 2)),
            patience=patience,
            before_close=self._before_close,
        )

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        clock: Clock | None = None,
        ids: Ids | None = None,
        connect: Connect = schema.connect,
        patience: float = PATIENCE,
    ) -> SqliteStore:
        """Open a store, making or migrating its file if need be.

        Args:
            path: The file; its directory must exist.
            clock: Decides when leases end.
            ids: Where the tokens of fences come from.
            connect: Makes the connections to the file.
            patience: Seconds to wait for another process's lock.

        Raises:
            StoreUnavailable: the path cannot hold a store, or the file is none.
            StoreVersionError: a newer salvor made the store.
            StoreBusy: another process keeps the lock.
        """
        # One lock file for all names of one file.
        real = os.path.realpath(os.fspath(path))
        with translated(real):
            schema.check_path(real)
            seen = _make(real, connect, patience)
            store = cls(
                real,
                clock=clock or SystemClock(),
                ids=ids or SystemIds(),
                connect=connect,
                patience=patience,
            )
        if seen is not None:
            store._readers.adopt(seen)
        return store

    async def take_over(
        self,
        run_id: str,
        driver: Driver,
        *,
        lease: float,
        create: bool = False,
        operator: bool = True,
    ) -> tuple[Fence, Head]:
        write = TakeOverWrite(
            run_id,
            driver,
            lease,
            create=create,
            operator=operator,
            token=self._ids.token(),
            leases=self._leases,
            locks=self._locks,
        )
        try:
            fence, head, key = await self._writer.submit(write)
        except BaseException:
            if write.fence is not None:  # taken, but whoever asked was cancelled
                with suppress(StoreUnavailable):  # closed in the meantime: the lease runs out
                    # Due, as it was perhaps by a dead driver's name, which is gone from it.
                    now = self._leases.now()
                    self._writer.post(ReleaseWrite(write.fence, unblamed_at=now))
            raise
        if len(self._keys) >= _MOST_KEYS:
            self._keys.clear()
        self._keys[run_id] = key
        return fence, head

    async def append(self, append: Append) -> Stands | None:
        key = self._keys.get(append.fence.run_id, 0)
        return await self._writer.submit(AppendWrite(append, key))

    async def confirm(self, fence: Fence) -> None:
        await self._writer.submit(ConfirmWrite(fence))

    async def release(
        self, fence: Fence, *, cause: str | None = None, blameless: bool = False
    ) -> None:
        unblamed_at = self._leases.now() if blameless else None
        await self._writer.submit(ReleaseWrite(fence, cause, unblamed_at=unblamed_at))

    def renew(self, fences: Collection[Fence], *, lease: float) -> set[Fence]:
        length = int(lease * 1_000_000)
        return self._renewal.renew(fences, lambda: self._leases.now() + length)

    async def settle(self, settlement: Settlement) -> None:
        await self._writer.submit(SettleWrite(settlement, self._leases, self._ids.token()))

    async def wait(self, fence: Fence, claim_id: ClaimId, *, tool: str) -> bool:
        return await self._writer.submit(WaitWrite(fence, claim_id, tool, self._leases))

    async def keep_late(self, late: LateResult) -> None:
        await self._writer.submit(LateWrite(late))

    async def head(self, run_id: str) -> Head:
        return await self._read(lambda db: self._head(db, run_id))

    async def read(self, run_id: str, *, after: int = -1, limit: int = 1000) -> LogPage:
        def page(db: sqlite3.Connection) -> LogPage:
            head = self._head(db, run_id)
            found = db.execute(sql.EVENTS, (run_id, after, limit))
            return LogPage(rows=[records.row(record) for record in found], head=head)

        return await self._read(page)

    async def runs(
        self, *, after: str | None = None, limit: int = 100, ended: bool | None = None
    ) -> Sequence[RunRow]:
        picked = (0, 1) if ended is None else (int(ended), int(ended))

        def page(db: sqlite3.Connection) -> Sequence[RunRow]:
            place, last = (-1, "") if after is None else (_place(db, after), after)
            found = db.execute(sql.RUNS, (place, last, *picked, limit))
            return [self._leases.run_row(record) for record in found.fetchall()]

        return await self._read(page)

    async def claim(self, claim_id: ClaimId) -> Claim | None:
        return await self._read(lambda db: read_claim(db, claim_id))

    async def held_claim(self, run_id: str, intent_seq: int) -> Claim | None:
        return await self._read(lambda db: held_claim(db, run_id, intent_seq))

    async def claims(
        self, *, after: ClaimId | None = None, limit: int = 100, state: ClaimState | None = None
    ) -> Sequence[Claim]:
        place = ("", "", "") if after is None else records.claim_key(after)

        def page(db: sqlite3.Connection) -> Sequence[Claim]:
            return claims_page(db, place, state, limit)

        return await self._read(page)

    async def settled_output(self, claim: Claim) -> str | None:
        def kept(db: sqlite3.Connection) -> str | None:
            record = db.execute(sql.OUTPUT, records.claim_key(claim.id)).fetchone()
            return None if record is None else str(record[0])

        return await self._read(kept)

    async def claim_log(self, *, after: int = 0, limit: int = 1000) -> Sequence[LoggedClaim]:
        def page(db: sqlite3.Connection) -> Sequence[LoggedClaim]:
            return [read_entry(*record) for record in db.execute(sql.ENTRIES, (after, limit))]

        return await self._read(page)

    async def signal(self, signal: Signal) -> int:
        return await self._writer.submit(SignalWrite(signal, self._leases))

    async def inbox(self, run_id: str) -> Sequence[Signal]:
        def kept(db: sqlite3.Connection) -> Sequence[Signal]:
            found = db.execute(sql.INBOX, (run_key(db, run_id),))
            return [records.signal(run_id, record) for record in found]

        return await self._read(kept)

    async def cancel(self, cancel: Cancel) -> None:
        await self._writer.submit(CancelWrite(cancel, self._leases))

    async def cancelled(self, run_id: str) -> Cancel | None:
        return await self._read(lambda db: cancel_of(db, run_key(db, run_id), run_id))

    async def due(self, *, limit: int = 100) -> Sequence[str]:
        def page(db: sqlite3.Connection) -> Sequence[str]:
            found = db.execute(sql.DUE, (self._leases.now(),))
            heads = (self._leases.head(record[:-1]) for record in found)
            resting = (head.run_id for head in heads if head.lease is None)
            return list(islice(resting, limit))

        return await self._read(page)

    async def backup(self, path: str) -> None:
        await self._read(lambda db: copied(db, path))

    async def incarnation(self) -> Incarnation:
        return await self._read(read_incarnation)

    async def begin_incarnation(self) -> Incarnation:
        return await self._writer.submit(IncarnationWrite(begin=True))

    async def confirm_incarnation(self) -> Incarnation:
        return await self._writer.submit(IncarnationWrite(begin=False))

    async def adopt(self, copy: RunCopy) -> None:
        await self._writer.submit(AdoptWrite(copy, self._ids.token()))

    async def forget(self, run_id: str, *, ended_before: datetime) -> bool:
        self._keys.pop(run_id, None)
        return await self._writer.submit(ForgetWrite(run_id, micros(ended_before)))

    async def late(self, run_id: str) -> Sequence[LateResult]:
        def kept(db: sqlite3.Connection) -> Sequence[LateResult]:
            return [records.late(record) for record in db.execute(sql.LATE, (run_id,))]

        return await self._read(kept)

    async def close(self) -> None:
        """Carry out what was submitted, then let go of the file."""
        await self._writer.close()

    async def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def in_thread() -> T:
            with self._readers.snapshot() as db:
                return work(db)

        return await anyio.to_thread.run_sync(in_thread)

    def _head(self, db: sqlite3.Connection, run_id: str) -> Head:
        record = db.execute(sql.HEAD, (run_id,)).fetchone()
        if record is None:
            raise UnknownRun(run_id)
        return self._leases.head(record)

    def _before_close(self, db: sqlite3.Connection) -> None:
        self._readers.close()
        self._renewal.close()
        now = self._leases.now()
        self._locks.let_go(lambda driver_id: not drives(db, driver_id, now))


def _place(db: sqlite3.Connection, run_id: str) -> int:
    record = db.execute(sql.PLACE, (run_id,)).fetchone()
    if record is None:
        raise UnknownRun(run_id)
    place: int = record[0]
    return place


def _make(path: str, connect: Connect, patience: float) -> sqlite3.Connection | None:
    """Make or migrate the file, under the lock if there is something to do.

    Returns:
        The connection that found a current file. It is not closed here: that may be a
        checkpoint, which needs the lock.
    """
    seen = schema.prepared(connect(path)) if os.path.exists(path) else None
    if seen is not None and _is_current(seen, path):
        return seen
    lock = FairLock(f"{path}-lock")
    try:
        if not lock.acquire_within(patience):
            raise busy(path, lock.holder(), patience)
        db = seen or schema.prepared(connect(path))
        try:
            if not schema.is_current(db, path):
                schema.migrate(db, path)
        finally:
            db.close()
    finally:
        lock.close()
    return None


def _is_current(db: sqlite3.Connection, path: str) -> bool:
    try:
        return schema.is_current(db, path)
    except BaseException:
        db.close()  # it is no store of ours to keep a connection to
        raise
