"""The one place where what SQLite and the file system say becomes our own error."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from salvor.store_errors import StoreBusy, StoreClosed, StoreError, StoreFull, StoreUnavailable

_FULL = "Free some space; nothing that was acknowledged is lost."
_DAMAGED = "Keep the file as it is and restore the store from a backup."
_RIGHTS = "Give this user the right to write to the file and its directory, or use another --store."


def store_error(error: sqlite3.Error | OSError, path: str) -> StoreError:
    """What to tell a user about an error of SQLite or of the file system."""
    if isinstance(error, sqlite3.Error):
        return _of_sqlite(error, path)
    return StoreUnavailable(f"the store {path} cannot be used: {error}.", hint=_RIGHTS)


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Turn errors of SQLite and of the file system into `StoreError` in a block."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise store_error(error, path) from error


def busy(path: str, holder: tuple[int, str] | None, seconds: float) -> StoreBusy:
    """Somebody kept the write lock for longer than one waits."""
    if holder is None:
        who, hint = "another process", "Try again once it is done."
    else:
        pid, host = holder
        who = f"process {pid} on {host}"
        hint = f"If that process is stopped, continue it (kill -CONT {pid}) or end it."
    return StoreBusy(
        f"the store {path} has been locked by {who} for {seconds:g} s; nothing was written.",
        hint=hint,
    )


def closed(path: str) -> StoreClosed:
    """The store was closed."""
    return StoreClosed(f"the store {path} is closed.", hint="Open it again.")


def forked(path: str) -> StoreClosed:
    """The store came into this process by a fork."""
    return StoreClosed(
        f"the store {path} was opened before this process was forked.",
        hint="Open it again in the child process.",
    )


def _of_sqlite(error: sqlite3.Error, path: str) -> StoreError:
    # Errors that the module raises itself carry no code.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    match code:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusy(
                f"the store {path} is locked by a program that is not salvor; nothing was written.",
                hint="Close that program's transaction and try again.",
            )
        case sqlite3.SQLITE_FULL:
            return StoreFull(
                f"the disk that holds the store {path} is full; nothing was written.", hint=_FULL
            )
        case sqlite3.SQLITE_NOTADB:
            return StoreUnavailable(
                f"{path} is not a store: it is no SQLite database.",
                hint="Name another file with --store.",
            )
        case sqlite3.SQLITE_CORRUPT:
            return StoreUnavailable(f"the store {path} is damaged: {error}.", hint=_DAMAGED)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return StoreUnavailable(
                f"the store {path} cannot be opened for writing: {error}.", hint=_RIGHTS
            )
        case sqlite3.SQLITE_IOERR:
            return StoreFull(
                f"the disk that holds the store {path} failed: {error}.",
                hint="Look at the system's log; try again once the disk works.",
            )
        case _:
            return StoreUnavailable(f"the store {path} cannot be used: {error}.")
