"""What every check of a store begins with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from salvor.clock import Clock
from salvor.events.store import Store
from salvor.testing.clock import FakeClock

MakeStore = Callable[[Clock], Store]
"""Makes an empty store whose leases end by the given clock."""

Check = Callable[[MakeStore], Awaitable[None]]


@asynccontextmanager
async def opened(make: MakeStore) -> AsyncIterator[tuple[Store, FakeClock]]:
    """An empty store and the clock it goes by."""
    clock = FakeClock()
    store = make(clock)
    try:
        yield store, clock
    finally:
        await store.close()


def checks_in(module: Mapping[str, Any]) -> tuple[Check, ...]:
    """The checks among the names of a module, in order."""
    return tuple(
        check for name, check in sorted(module.items()) if name[:1] == "s" and name[1:2].isdigit()
    )
