"""Making a store out of a backup: a new incarnation (DURABILITY G6)."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from tempfile import TemporaryDirectory

from salvor.events.records import Incarnation
from salvor.store_errors import StoreUnavailable
from salvor.stores.faults import translated
from salvor.stores.sqlite import SqliteStore
from salvor.stores.upkeep import sync_folder

_LEFT_BY_SQLITE = ("-wal", "-shm", "-journal")


async def restored(
    backup: str, path: str, *, opened: Callable[[str], SqliteStore] = SqliteStore.open
) -> Incarnation:
    """Copy a backup to where no store is yet, and begin a new incarnation there.

    Calls with keys wait until an operator has confirmed it: claims that were committed since
    the backup are not in it.

    Args:
        backup: What `Store.backup` wrote.
        path: Where the store is to be.
        opened: Opens a store.

    Raises:
        StoreUnavailable: the backup cannot be read, or the place is taken.
    """
    folder = _checked_folder(backup, path)
    with translated(path), TemporaryDirectory(prefix=".salvor-restore-", dir=folder) as place:
        part = os.path.join(place, "store.db")
        await _copied(backup, part, opened)
        begun = await _begun(part, opened)
        # Only now: a store that nobody marked would take keys that were used already.
        os.rename(part, path)
        sync_folder(folder)
    return begun


async def _copied(backup: str, path: str, opened: Callable[[str], SqliteStore]) -> None:
    source = _source(backup, opened)
    try:
        await source.backup(path)
    finally:
        await source.close()


async def _begun(path: str, opened: Callable[[str], SqliteStore]) -> Incarnation:
    store = opened(path)
    try:
        begun = await store.begin_incarnation()
    finally:
        await store.close()
    _check_whole(path)
    return begun


def _checked_folder(backup: str, path: str) -> str:
    """Where the store is to be, if nothing is there yet."""
    if not os.path.isfile(backup):
        raise StoreUnavailable(f"there is no backup {backup}.")
    if os.path.exists(path):
        raise StoreUnavailable(
            f"{path} is there already.", hint="Name a place with --store where nothing is."
        )
    for beside in (f"{path}{end}" for end in _LEFT_BY_SQLITE):
        if os.path.exists(beside):  # SQLite would take it for a part of the restored store
            raise StoreUnavailable(
                f"{beside} is left of a store that was there.",
                hint="Move it away together with its store, or name another place with --store.",
            )
    return os.path.dirname(os.path.abspath(path))


def _check_whole(path: str) -> None:
    if os.path.exists(f"{path}-wal"):  # somebody has it open: the file alone is not all of it
        raise StoreUnavailable(f"the copy {path} could not be completed.", hint="Try again.")


def _source(backup: str, opened: Callable[[str], SqliteStore]) -> SqliteStore:
    try:
        return opened(backup)
    except sqlite3.Error as error:
        raise StoreUnavailable(f"{backup} is no backup of a store: {error}.") from None
