"""Making a store out of a backup: a new incarnation (DURABILITY G6)."""

from __future__ import annotations

import os
import sqlite3

from salvor.events.records import Incarnation
from salvor.store_errors import StoreUnavailable
from salvor.stores.sqlite import SqliteStore


async def restored(backup: str, path: str) -> Incarnation:
    """Copy a backup to where no store is yet, and begin a new incarnation there.

    Calls with keys wait until an operator has confirmed it: claims that were committed since
    the backup are not in it.

    Raises:
        StoreUnavailable: the backup cannot be read, or the place is taken.
    """
    _check_places(backup, path)
    source = await _opened(backup)
    try:
        await source.backup(path)
    finally:
        await source.close()
    store = SqliteStore.open(path)
    try:
        return await store.begin_incarnation()
    finally:
        await store.close()


def _check_places(backup: str, path: str) -> None:
    if not os.path.isfile(backup):
        raise StoreUnavailable(f"there is no backup {backup}.")
    if os.path.exists(path):
        raise StoreUnavailable(
            f"{path} is there already.", hint="Name a place with --store where nothing is."
        )


async def _opened(backup: str) -> SqliteStore:
    try:
        return SqliteStore.open(backup)
    except sqlite3.Error as error:
        raise StoreUnavailable(f"{backup} is no backup of a store: {error}.") from None
