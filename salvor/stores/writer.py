"""The one thread that writes to a SQLite store, several writes to a commit.

Writes wait in a list until the lock file is held; whatever waits by then goes into one
transaction. A write is answered only after COMMIT. As long as it waits it can still be
refused cleanly: then nobody has to wait forever for a process that was stopped while it
held the lock.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from time import monotonic, sleep
from typing import TypeVar

from salvor.handoff import Delivery, Handoff, deliver
from salvor.store_errors import CommitUnknown, StoreBusy, StoreClosed
from salvor.stores.batch import AnyWrite, carry_out
from salvor.stores.faults import busy, closed, forked, store_error
from salvor.stores.forks import forget_in_children
from salvor.stores.lockfile import FairLock
from salvor.stores.write import Write

T = TypeVar("T")

_LARGEST_BATCH = 256
_kept: list[sqlite3.Connection | None] = []


class Writer:
    """Owns the connection that writes.

    Args:
        path: The database file, for messages.
        lock: The lock file, used by this writer alone.
        connect: Makes the connection; called again after one failed for good.
        patience: Seconds a write may wait for the lock before it is refused as busy.
        before_close: Called with the connection, under the lock, when the store closes.
    """

    def __init__(
        self,
        path: str,
        lock: FairLock,
        connect: Callable[[], sqlite3.Connection],
        *,
        patience: float,
        before_close: Callable[[sqlite3.Connection], None],
    ) -> None:
        self._path = path
        self._lock = lock
        self._connect = connect
        self._patience = patience
        self._before_close = before_close
        # One list of what waits, and tokens that only wake the writer: nobody but it takes
        # them, so a write that is put is never overlooked.
        self._mutex = threading.Lock()
        self._waiting: list[AnyWrite] = []
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._batch: list[AnyWrite] = []
        self._refusal: StoreClosed | None = None
        self._closing: tuple[Handoff[None], float] | None = None
        self._blocked = False
        self._watched = False
        self._db: sqlite3.Connection | None = connect()
        forget_in_children(self)
        threading.Thread(target=self._serve, name="salvor-writer", daemon=True).start()

    async def submit(self, write: Write[T]) -> T:
        """Have a write carried out; cancelling the caller does not call it back.

        Raises:
            SalvorError: it was refused, or the store failed.
        """
        self.post(write)
        return await write.handoff.wait()

    def post(self, write: Write[T]) -> None:
        """Have a write carried out without waiting for it."""
        write.handoff = Handoff(cancellable=False)
        write.submitted = monotonic()
        self._check_open()
        with self._mutex:
            self._check_open()
            self._waiting.append(write)
            if len(self._waiting) == 1:
                self._wake.put(None)

    async def close(self) -> None:
        """Refuse new writes, carry out those that wait, and give the connection up."""
        with self._mutex:
            if self._refusal is not None:
                return
            self._refusal = closed(self._path)
            done: Handoff[None] = Handoff(cancellable=False)
            self._closing = (done, monotonic())
            self._wake.put(None)
        await done.wait()

    def forget(self) -> None:
        """Refuse everything in a forked child: the thread is not there."""
        self._refusal = forked(self._path)
        self._mutex = threading.Lock()
        _kept.append(self._db)  # closing it here would touch the parent's locks

    def _check_open(self) -> None:
        if self._refusal is not None:
            raise self._refusal

    # What follows runs in the writer's thread, but for the look-out.

    def _serve(self) -> None:
        going = True
        while going:
            try:
                going = self._turn()
            except Exception as error:  # a dead writer would leave its callers waiting
                going = self._fail(error)

    def _turn(self) -> bool:
        """Wait for writes, take the lock and carry them out; ``False`` once closed."""
        self._await_first()
        self._enter()
        try:
            self._write()
            closing = self._closing if self._is_idle() else None
            if closing is not None:
                self._finish()
        finally:
            self._lock.release()
        answered, self._batch = self._batch, []
        _answer(answered)
        if closing is None:
            return True
        self._lock.close()
        deliver([(closing[0], None, None)])
        return False

    def _await_first(self) -> None:
        while True:
            with self._mutex:
                if self._waiting or self._closing is not None:
                    return
            self._wake.get()

    def _enter(self) -> None:
        if not self._lock.try_acquire():
            self._blocked = True
            self._start_look_out()
            self._lock.acquire()
            self._blocked = False

    def _write(self) -> None:
        try:
            db = self._begin()
        except sqlite3.Error as error:
            self._not_begun(error)
            return
        self._batch = self._drained()
        try:
            carry_out(db, self._batch)
        except sqlite3.Error as error:
            self._roll_back(db)
            _refuse(self._batch, error, self._path)
            return
        try:
            db.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back(db)
            self._find_out(error)

    def _begin(self) -> sqlite3.Connection:
        if self._db is None:
            self._db = self._connect()
        self._db.execute("BEGIN IMMEDIATE")
        return self._db

    def _not_begun(self, error: sqlite3.Error) -> None:
        refused = store_error(error, self._path)
        if isinstance(refused, StoreBusy):
            self._refuse_overdue(refused)
        else:
            self._batch = self._drained()
            _refuse(self._batch, error, self._path)

    def _roll_back(self, db: sqlite3.Connection) -> None:
        try:
            if db.in_transaction:
                db.execute("ROLLBACK")
        except sqlite3.Error:
            self._db = None

    def _find_out(self, error: sqlite3.Error) -> None:
        """Tell each member of a batch whose COMMIT failed whether it is in the store."""
        for write in self._batch:
            if write.error is not None:
                continue
            landed = self._landed(write)
            if landed is None:
                write.error = CommitUnknown(
                    f"a commit to the store {self._path} failed ({error}), and whether it took "
                    "effect cannot be read.",
                    hint="Read the log again once the store can be read.",
                )
            elif not landed:
                _refuse([write], error, self._path)

    def _landed(self, write: AnyWrite) -> bool | None:
        for _ in range(2):
            try:
                if self._db is None:
                    self._db = self._connect()
                return write.landed(self._db)
            except sqlite3.Error:
                self._db = None
        return None

    def _drained(self) -> list[AnyWrite]:
        with self._mutex:
            batch = self._waiting[:_LARGEST_BATCH]
            del self._waiting[:_LARGEST_BATCH]
        return batch

    def _is_idle(self) -> bool:
        with self._mutex:
            return not self._waiting

    def _finish(self) -> None:
        if self._db is not None:
            with suppress(sqlite3.Error, OSError):
                self._before_close(self._db)
                self._db.close()

    def _fail(self, error: Exception) -> bool:
        """Answer everybody after a fault of the writer itself; ``False`` if it was closing."""
        if isinstance(error, OSError):  # the lock file cannot be used
            error = store_error(error, self._path)
        if self._db is not None:
            self._roll_back(self._db)
        waiting = [*self._batch, *self._drained()]
        self._batch = []
        for write in waiting:
            write.error = error
        _answer(waiting)
        if self._closing is None:
            return True
        deliver([(self._closing[0], None, None)])
        return False

    # The look-out refuses writes that wait too long while the writer is stuck at the lock.

    def _start_look_out(self) -> None:
        with self._mutex:
            if self._watched:
                return
            self._watched = True
        threading.Thread(target=self._look_out, name="salvor-look-out", daemon=True).start()

    def _look_out(self) -> None:
        watching = True
        while watching:
            sleep(min(1.0, self._patience / 4))
            if self._blocked:
                self._refuse_overdue(busy(self._path, self._lock.holder(), self._patience))
            with self._mutex:
                watching = self._watched = self._blocked

    def _refuse_overdue(self, refusal: StoreBusy) -> None:
        due = monotonic() - self._patience
        with self._mutex:
            overdue = [write for write in self._waiting if write.submitted < due]
            self._waiting = [write for write in self._waiting if write.submitted >= due]
            closing = self._closing
        for write in overdue:
            write.error = StoreBusy(refusal.message, hint=refusal.hint)
        _answer(overdue)
        if closing is not None and closing[1] < due:
            deliver([(closing[0], None, None)])  # what was acknowledged is committed


def _refuse(batch: Sequence[AnyWrite], error: sqlite3.Error, path: str) -> None:
    for write in batch:
        write.error = store_error(error, path)
        write.error.__cause__ = error


def _answer(batch: Sequence[AnyWrite]) -> None:
    results: list[Delivery] = []
    for write in batch:
        error = write.error
        results.append((write.handoff, None if error else write.value, error))
    if results:
        deliver(results)
