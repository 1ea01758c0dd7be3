"""Take-overs that are cut off."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from salvor.stores.lockfile import FairLock
from salvor.stores.sqlite import SqliteStore
from salvor.testing.clock import FakeClock
from salvor.testing.store_log import HERE, start_log

pytestmark = pytest.mark.anyio


async def test_a_take_over_whose_caller_was_cancelled_leaves_no_lease_behind(path: Path) -> None:
    clock = FakeClock()
    store = SqliteStore.open(path, clock=clock)
    await (await start_log(store, "run-1")).append("a")
    clock.move(60)
    lock = FairLock(f"{path}-lock")
    scope = anyio.CancelScope()

    async def take() -> None:
        with scope:
            fence, _ = await store.take_over("run-1", HERE, lease=30.0)
            await store.release(fence, blameless=True)

    async with anyio.create_task_group() as group:
        with lock.held():
            group.start_soon(take)
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
    await start_log(store, "run-2")  # behind what was left to be written
    assert (await store.head("run-1")).epoch == 2
    assert list(await store.due()) == ["run-1"]  # as before, by its dead driver
    lock.close()
    await store.close()
