"""From what a user writes after ``--store`` to a store."""

from __future__ import annotations

import os
import re

from salvor.clock import Clock
from salvor.events.store import Store
from salvor.store_errors import StoreUnavailable
from salvor.stores.memory import MemoryStore

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SQLITE = "sqlite:///"


def open_store(url: str, *, clock: Clock | None = None) -> Store:
    """Open the store a URL or path names.

    Args:
        url: ``memory:``, a path, or ``sqlite:///`` and a path (a fourth slash makes it an
            absolute one).
        clock: Decides when leases end.

    Raises:
        StoreUnavailable: nothing can be opened there; says why and what to do.
        StoreVersionError: a newer salvor made the store.
    """
    if url == "memory:":
        return MemoryStore(clock=clock)
    from salvor.stores.sqlite import SqliteStore

    return SqliteStore.open(_path(url), clock=clock)


def _path(url: str) -> str:
    path = url.removeprefix(_SQLITE)
    scheme = _SCHEME.match(path)
    if scheme or not path or path == ":memory:":
        raise StoreUnavailable(
            f"{url!r} names no store.",
            hint="Give a path, sqlite:///PATH, or memory: for one that ends with the process.",
        )
    return os.path.expanduser(path)
