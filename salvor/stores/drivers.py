"""Lock files of drivers: who holds one is alive, and a free one proves that it died.

The kernel frees the lock of a process that is killed; it does not for one that is merely
stopped. Between hosts a lock file says nothing, and a missing one says nothing either.
"""

from __future__ import annotations

import fcntl
import os
import re
import socket
from collections.abc import Callable
from contextlib import suppress

from salvor.events.records import Driver
from salvor.stores.forks import forget_in_children

_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}")


class DriverLocks:
    """The lock files beside one database, and those of them that this process holds.

    `hold`, `sweep` and `let_go` run under the database's write lock; `is_dead` does not.

    Args:
        directory: Where the files are; made when the first driver comes.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._host = socket.gethostname()
        self._held: dict[str, int] = {}
        forget_in_children(self)

    def hold(self, driver: Driver) -> bool:
        """Lock the driver's file until this process ends; whether that is new.

        Raises:
            OSError: the file cannot be made.
        """
        if driver.id in self._held:
            return False
        os.makedirs(self._directory, exist_ok=True)
        file = os.open(self._path(driver.id), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
        fcntl.flock(file, fcntl.LOCK_EX)
        self._held[driver.id] = file
        return True

    def is_dead(self, driver: Driver) -> bool:
        """Whether the driver's process is known to have ended."""
        if driver.host != self._host or driver.id in self._held:
            return False
        return self._is_free(driver.id)

    def sweep(self, may_go: Callable[[str], bool]) -> None:
        """Remove the files of dead drivers that ``may_go`` agrees to."""
        with suppress(FileNotFoundError):
            for name in os.listdir(self._directory):
                if name not in self._held and self._is_free(name) and may_go(name):
                    self._remove(name)

    def let_go(self, may_go: Callable[[str], bool]) -> None:
        """Give up this process's files; those ``may_go`` refuses stay until it ends."""
        for driver_id, file in list(self._held.items()):
            if may_go(driver_id):
                self._remove(driver_id)
                os.close(file)
        self._held.clear()
        with suppress(OSError):  # another driver's file is still in it
            os.rmdir(self._directory)

    def forget(self) -> None:
        """Drop the inherited files: a child must not keep its parent alive."""
        held, self._held = self._held, {}
        for file in held.values():
            with suppress(OSError):
                os.close(file)

    def _is_free(self, driver_id: str) -> bool:
        try:
            file = os.open(self._path(driver_id), os.O_RDONLY | os.O_CLOEXEC)
        except (OSError, ValueError):  # missing, not ours to read, or no driver's file
            return False
        try:
            # Shared, so that two who ask at once do not take each other for the driver.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(file)
        return True

    def _remove(self, driver_id: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._path(driver_id))

    def _path(self, driver_id: str) -> str:
        if not _FILE_NAME.fullmatch(driver_id):
            raise ValueError(f"a driver id must be usable as a file name, got {driver_id!r}")
        return os.path.join(self._directory, driver_id)
