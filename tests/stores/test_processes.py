from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from salvor.events.chain import ChainCheck
from salvor.events.store import Store
from salvor.run_errors import LeaseHeld
from salvor.store_errors import StoreBusy
from salvor.stores.schema import SCHEMA_VERSION
from salvor.stores.sqlite import SqliteStore
from salvor.testing.clock import FakeClock
from salvor.testing.store_log import HERE, Log, start_log

if TYPE_CHECKING:
    from tests.support.workers import Worker

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

StartWorker = Callable[[], "Worker"]
StartWorkers = Callable[[int], "list[Worker]"]


@asynccontextmanager
async def opened(path: Path, *, patience: float = 60.0) -> AsyncIterator[SqliteStore]:
    store = SqliteStore.open(path, patience=patience)
    try:
        yield store
    finally:
        await store.close()


async def length(store: Store, run_id: str) -> int:
    page = await store.read(run_id, limit=1_000_000)
    chain = ChainCheck(run_id)
    chain.rows(page.rows)
    chain.end(page.head)
    return page.head.length


async def test_a_killed_driver_can_be_taken_over_at_once(
    path: Path, start_worker: StartWorker
) -> None:
    worker = start_worker()
    worker.do("open_store", str(path))
    driver_id = worker.do("take_over", "run-1")
    worker.do("append", "a")
    async with opened(path) as store:
        with pytest.raises(LeaseHeld, match=f"process {worker.pid} "):
            await store.take_over("run-1", HERE, lease=30.0)
        assert (path.parent / "store.db-drivers" / driver_id).exists()
        worker.kill()
        assert (await store.head("run-1")).lease is None
        assert [row.head.lease for row in await store.runs()] == [None]
        fence, head = await store.take_over("run-1", HERE, lease=30.0)
        assert (fence.epoch, head.length) == (2, 1)


async def test_a_run_of_a_killed_driver_can_be_settled_at_once(
    path: Path, start_worker: StartWorker
) -> None:
    worker = start_worker()
    worker.do("open_store", str(path))
    worker.do("take_over", "run-1")
    async with opened(path) as store:
        log = Log(store, (await start_log(store, "run-2")).fence)
        log.fence = log.fence.__class__(run_id="run-1", epoch=1, token="")
        with pytest.raises(LeaseHeld):
            await store.settle(log.settlement("end"))
        worker.kill()
        await store.settle(log.settlement("end"))
        assert await length(store, "run-1") == 1


async def test_the_files_of_dead_drivers_are_removed_once_no_lease_needs_them(
    path: Path, start_worker: StartWorker
) -> None:
    idle, busy, live = start_worker(), start_worker(), start_worker()
    for number, worker in enumerate((idle, busy, live)):
        worker.do("open_store", str(path))
        worker.do("take_over", f"run-{number}", 3600.0 if worker is not idle else -1.0)
    kept = {worker.do("take_over", f"run-{worker.pid}") for worker in (busy, live)}
    idle.kill()
    busy.kill()
    async with opened(path) as store:
        await start_log(store, "run-9")
        left = set(os.listdir(f"{path}-drivers"))
        assert kept | {HERE.id} <= left
        assert len(left) == 5  # two of each of the others, and ours


async def test_a_frozen_driver_keeps_its_run_until_the_lease_ends_and_is_fenced_then(
    path: Path, start_worker: StartWorker
) -> None:
    worker = start_worker()
    worker.do("open_store", str(path))
    worker.do("take_over", "run-1", 30.0)
    worker.do("append", "a")
    worker.stop()
    async with opened(path) as store:
        with pytest.raises(LeaseHeld):
            await store.take_over("run-1", HERE, lease=30.0)
    clock = FakeClock(datetime.now(UTC) + timedelta(seconds=31))
    later = SqliteStore.open(path, clock=clock)
    fence, head = await later.take_over("run-1", HERE, lease=30.0)
    assert (fence.epoch, head.length) == (2, 1)
    worker.go_on()
    assert worker.do("append", "b")["error"] == "fenced"
    assert await length(later, "run-1") == 1
    await later.close()


async def test_a_writer_killed_inside_its_transaction_leaves_nothing(
    path: Path, start_worker: StartWorker
) -> None:
    async with opened(path) as store:
        log = await start_log(store, "run-1")
        await log.append("a")
        worker = start_worker()
        worker.do("hold_lock", str(path), True)
        worker.kill()
        await log.append("b")
        assert await length(store, "run-1") == 2


async def test_who_waits_for_a_stopped_process_is_told_its_pid_and_can_try_again(
    path: Path, start_worker: StartWorker
) -> None:
    async with opened(path, patience=0.2) as store:
        log = await start_log(store, "run-1")
        worker = start_worker()
        worker.do("hold_lock", str(path))
        worker.stop()
        with pytest.raises(StoreBusy, match=rf"process {worker.pid} on .*kill -CONT {worker.pid}"):
            await log.append("a")
        with pytest.raises(StoreBusy, match=f"process {worker.pid} on"):
            store.renew([log.fence], lease=30.0)
        assert await length(store, "run-1") == 0
        worker.go_on()
        worker.do("release_lock")
        await log.append("a")
        assert store.renew([log.fence], lease=30.0) == set()
        assert await length(store, "run-1") == 1


async def test_a_store_is_read_and_closed_while_a_stopped_process_holds_the_lock(
    path: Path, start_worker: StartWorker
) -> None:
    store = SqliteStore.open(path, patience=0.2)
    await (await start_log(store, "run-1")).append("a")
    worker = start_worker()
    worker.do("hold_lock", str(path))
    worker.stop()
    assert await length(store, "run-1") == 1
    await store.close()
    reader = SqliteStore.open(path, patience=0.2)
    assert await length(reader, "run-1") == 1
    await reader.close()
    worker.go_on()


def test_a_new_store_is_not_made_while_a_stopped_process_holds_the_lock(
    path: Path, start_worker: StartWorker
) -> None:
    worker = start_worker()
    worker.do("hold_lock", str(path))
    worker.stop()
    with pytest.raises(StoreBusy, match=f"process {worker.pid} on"):
        SqliteStore.open(path, patience=0.1)
    assert not path.exists()
    worker.go_on()


async def test_a_lock_held_by_another_program_is_told_apart(path: Path) -> None:
    async with opened(path, patience=0.2) as store:
        log = await start_log(store, "run-1")
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="a program that is not salvor"):
            await log.append("a")
        db.execute("ROLLBACK")
        db.close()
        await log.append("a")


async def test_a_forked_child_keeps_no_lock_and_cannot_use_the_store(
    path: Path, start_worker: StartWorker
) -> None:
    worker = start_worker()
    worker.do("open_store", str(path))
    worker.do("take_over", "run-1")
    os.mkfifo(f"{path}-fifo")
    fifo = os.open(f"{path}-fifo", os.O_RDWR)
    assert worker.do("fork_and_use", f"{path}-fifo") == "store_closed"
    worker.do("append", "a")
    worker.kill()  # its child lives on, until the FIFO is closed here
    async with opened(path, patience=5.0) as store:
        await store.take_over("run-1", HERE, lease=30.0)
        assert await length(store, "run-1") == 1
    os.close(fifo)


def test_ten_processes_open_a_new_store_at_once(path: Path, start_workers: StartWorkers) -> None:
    workers = start_workers(10)
    for worker in workers:
        worker.order("open_store", str(path))
    assert [worker.answer() for worker in workers] == [None] * 10
    for number, worker in enumerate(workers):
        worker.do("take_over", f"run-{number}")
        assert worker.do("append", "a") is None
    db = sqlite3.connect(path)
    versions = db.execute("SELECT value FROM store_meta WHERE key = 'schema_version'").fetchall()
    assert versions == [(str(SCHEMA_VERSION),)]
    assert db.execute("SELECT count(*) FROM events").fetchone() == (10,)
    db.close()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the writers are other processes
async def test_sixteen_saturating_processes_share_the_file_fairly(
    path: Path, start_workers: StartWorkers
) -> None:
    workers = start_workers(16)
    for number, worker in enumerate(workers):
        worker.do("open_store", str(path))
        worker.do("take_over", f"run-{number}")
    start = time.monotonic() + 0.5
    for worker in workers:
        worker.order("saturate", start, 6.0)
    counts = [worker.answer() for worker in workers]
    assert all(isinstance(count, int) for count in counts), counts  # no error, busy or other
    assert min(counts) / max(counts) >= 0.5, counts
    async with opened(path) as store:
        for number in range(16):
            await length(store, f"run-{number}")


def test_a_process_that_never_closes_its_store_ends(path: Path, start_worker: StartWorker) -> None:
    worker = start_worker()
    worker.do("open_store", str(path))
    worker.do("take_over", "run-1")
    worker.do("append", "a")
    assert worker.end() == 0
    db = sqlite3.connect(path)
    assert db.execute("SELECT count(*) FROM events").fetchone() == (1,)
    db.close()
