"""Connections that only read, lent to whichever thread asks."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from salvor.store_errors import StoreClosed
from salvor.stores.faults import closed, forked, translated
from salvor.stores.forks import forget_in_children

_kept: list[sqlite3.Connection] = []


class Readers:
    """A pool that grows with the number of threads that read at the same time.

    Args:
        path: The database file, for messages.
        connect: Makes a connection.
    """

    def __init__(self, path: str, connect: Callable[[], sqlite3.Connection]) -> None:
        self._path = path
        self._connect = connect
        self._mutex = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._refusal: StoreClosed | None = None
        forget_in_children(self)

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one moment of the database for the length of the block.

        Raises:
            StoreError: the store cannot be read.
        """
        if self._refusal is not None:
            raise self._refusal
        with translated(self._path):
            db = self._lent()
            try:
                db.execute("BEGIN")
                yield db
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                self._take_back(db)

    def adopt(self, db: sqlite3.Connection) -> None:
        """Take a connection over that was opened elsewhere."""
        db.execute("PRAGMA query_only=ON")
        self._take_back(db)

    def close(self) -> None:
        """Close what is idle; the write lock is held."""
        with self._mutex:
            self._refusal = closed(self._path)
            idle, self._idle = self._idle, []
        for db in idle:
            db.close()

    def forget(self) -> None:
        """Refuse everything in a forked child."""
        self._refusal = forked(self._path)
        self._mutex = threading.Lock()
        _kept.extend(self._idle)

    def _lent(self) -> sqlite3.Connection:
        with self._mutex:
            if self._idle:
                return self._idle.pop()
        db = self._connect()
        db.execute("PRAGMA query_only=ON")
        return db

    def _take_back(self, db: sqlite3.Connection) -> None:
        with self._mutex:
            if self._refusal is None:
                self._idle.append(db)
            else:
                # Closing might checkpoint, which needs the write lock.
                _kept.append(db)
