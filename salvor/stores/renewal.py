"""Extends leases on a connection of its own, so that no append stands in the way."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Collection

from salvor.events.records import Fence
from salvor.store_errors import StoreClosed
from salvor.stores import statements as sql
from salvor.stores.faults import busy, closed, forked, translated
from salvor.stores.forks import forget_in_children
from salvor.stores.lockfile import FairLock

_kept: list[sqlite3.Connection | None] = []


class Renewal:
    """Renews leases from whichever thread asks.

    Args:
        path: The database file, for messages.
        lock: The lock file, used by this object alone.
        connect: Makes the connection when the first lease is renewed. It need not sync: a
            renewal that a power failure undoes shortens a lease of a process that is gone.
        patience: Seconds to wait for the lock.
    """

    def __init__(
        self,
        path: str,
        lock: FairLock,
        connect: Callable[[], sqlite3.Connection],
        *,
        patience: float,
    ) -> None:
        self._path = path
        self._lock = lock
        self._connect = connect
        self._patience = patience
        self._mutex = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._refusal: StoreClosed | None = None
        forget_in_children(self)

    def renew(self, fences: Collection[Fence], until: Callable[[], int]) -> set[Fence]:
        """Extend the leases of the fences that are current; the others are returned.

        Args:
            fences: What to renew.
            until: The new end of the leases, asked once the lock is held.

        Raises:
            StoreError: the store is busy or failed; no lease was extended.
        """
        if self._refusal is not None:
            raise self._refusal
        with self._mutex, translated(self._path):
            if self._refusal is not None:
                raise self._refusal
            if not self._lock.acquire_within(self._patience):
                raise busy(self._path, self._lock.holder(), self._patience)
            try:
                return self._renewed(fences, until())
            finally:
                self._lock.release()

    def close(self) -> None:
        """Give the connection up; the write lock is held by whoever closes the store."""
        self._refusal = closed(self._path)
        if self._mutex.acquire(blocking=False):
            try:
                if self._db is not None:
                    self._db.close()
                self._lock.close()
            finally:
                self._mutex.release()
        else:
            _kept.append(self._db)  # a renewal waits for the lock that we hold

    def forget(self) -> None:
        """Refuse everything in a forked child."""
        self._refusal = forked(self._path)
        _kept.append(self._db)

    def _renewed(self, fences: Collection[Fence], until: int) -> set[Fence]:
        if self._db is None:
            self._db = self._connect()
            self._db.execute("PRAGMA wal_autocheckpoint=0")
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        try:
            lost = {fence for fence in fences if not _extended(db, fence, until)}
            db.execute("COMMIT")
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")
        return lost


def _extended(db: sqlite3.Connection, fence: Fence, until: int) -> bool:
    parameters = (until, fence.run_id, fence.epoch, fence.token)
    return db.execute(sql.RENEW, parameters).rowcount == 1
