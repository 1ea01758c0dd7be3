"""The advisory lock file of a database: fair between processes, its holder named in it.

Two locks form a turnstile: whoever wants the main lock first takes the place in front of
it, so a process that lets go and asks again stands behind those who waited. The kernel
frees the lock of a process that dies; one that is merely stopped keeps it.
"""

from __future__ import annotations

import fcntl
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from salvor.stores.forks import forget_in_children

_EXCLUSIVE = fcntl.LOCK_EX
_AT_ONCE = fcntl.LOCK_EX | fcntl.LOCK_NB
_HOLDER_SIZE = 128


class FairLock:
    """One taker of the lock; each thread that takes it needs an instance of its own.

    Args:
        path: The lock file; ``<path>-next`` is the place in front of it. Both are made
            when they are missing and never removed.

    Raises:
        OSError: they cannot be opened for writing.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC
        self._main = os.open(path, flags, 0o666)
        self._next = os.open(f"{path}-next", flags, 0o666)
        name = f"{os.getpid()} {socket.gethostname()}\n".encode()
        self._name = name[:_HOLDER_SIZE].ljust(_HOLDER_SIZE)
        self._waiter: _Waiter | None = None
        forget_in_children(self)

    def try_acquire(self) -> bool:
        """Take the lock if nobody holds it or waits for it."""
        try:
            fcntl.flock(self._next, _AT_ONCE)
        except BlockingIOError:
            return False
        try:
            fcntl.flock(self._main, _AT_ONCE)
        except BlockingIOError:
            fcntl.flock(self._next, fcntl.LOCK_UN)
            return False
        self._entered()
        return True

    def acquire(self) -> None:
        """Take the lock, however long it takes."""
        fcntl.flock(self._next, _EXCLUSIVE)
        fcntl.flock(self._main, _EXCLUSIVE)
        self._entered()

    def acquire_within(self, seconds: float) -> bool:
        """Take the lock unless that takes longer than ``seconds``; whether it was taken."""
        if self._waiter is None:
            if self.try_acquire():
                return True
            self._waiter = _Waiter(self)
        if self._waiter.wait(seconds):
            self._waiter = None
            return True
        return False

    def release(self) -> None:
        """Let the next one in."""
        fcntl.flock(self._main, fcntl.LOCK_UN)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for a block, however long it takes to get it."""
        self.acquire()
        try:
            yield
        finally:
            self.release()

    def holder(self) -> tuple[int, str] | None:
        """Process id and host of the last holder, as it wrote them down."""
        text = os.pread(self._main, _HOLDER_SIZE, 0).decode("utf-8", "replace")
        pid, _, host = text.strip().partition(" ")
        return (int(pid), host) if pid.isdecimal() and host else None

    def close(self) -> None:
        """Give up the files, and the lock with them."""
        files, self._main, self._next = (self._main, self._next), -1, -1
        for file in files:
            with suppress(OSError):
                os.close(file)

    def forget(self) -> None:
        """Drop the inherited files; the parent's lock stays the parent's."""
        self.close()

    def _entered(self) -> None:
        fcntl.flock(self._next, fcntl.LOCK_UN)
        try:
            os.pwrite(self._main, self._name, 0)
        except OSError:  # a full disk: the lock is held all the same, only not signed
            return


class _Waiter:
    """Waits for a lock in a thread of its own, since no lock call has a time limit."""

    def __init__(self, lock: FairLock) -> None:
        self._lock = lock
        self._change = threading.Condition()
        self._wanted = True
        self._got = False
        self._thread: threading.Thread | None = None

    def wait(self, seconds: float) -> bool:
        """Whether the lock was got within ``seconds``; it is handed back if it comes later."""
        with self._change:
            self._wanted = True
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._acquire, name="salvor-lock-waiter", daemon=True
                )
                self._thread.start()
            self._change.wait_for(lambda: self._got, timeout=seconds)
            self._wanted = self._got
            return self._got

    def _acquire(self) -> None:
        try:
            self._lock.acquire()
        except (OSError, ValueError):  # closed in the meantime: nobody waits any more
            return
        with self._change:
            if not self._wanted:
                self._lock.release()
                self._thread = None
                return
            self._got = True
            self._change.notify_all()
