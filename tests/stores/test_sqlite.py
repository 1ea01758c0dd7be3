from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from salvor.events.claims import ClaimId
from salvor.store_errors import CommitUnknown, Conflict, Fenced, StoreUnavailable
from salvor.stores.lockfile import FairLock
from salvor.stores.sqlite import SqliteStore
from salvor.testing.store_log import HERE, KEY, Log, start_log

pytestmark = pytest.mark.anyio


class Faulty(sqlite3.Connection):
    """A connection whose next COMMIT can be made to fail."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        fault = Faults.now
        if sql == "COMMIT" and fault is not None and self.in_transaction:
            Faults.now = None
            return fault(self)
        if Faults.unreadable and sql.startswith("SELECT nonce"):
            raise _io_error()
        return super().execute(sql, parameters)

    def plainly(self, sql: str) -> sqlite3.Cursor:
        return super().execute(sql)


class Faults:
    """What goes wrong next."""

    now: Callable[[Faulty], sqlite3.Cursor] | None = None
    unreadable = False
    connections: list[Faulty]


def _io_error() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    return error


def commits_and_fails(db: Faulty) -> sqlite3.Cursor:
    db.plainly("COMMIT")
    raise _io_error()


def fails(db: Faulty) -> sqlite3.Cursor:
    raise _io_error()


def connect(path: str) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=Faulty)
    Faults.connections.append(db)
    return db


@pytest.fixture
def faults() -> type[Faults]:
    Faults.now, Faults.unreadable, Faults.connections = None, False, []
    return Faults


async def texts(store: SqliteStore, run_id: str = "run-1") -> list[str]:
    return [row.envelope for row in (await store.read(run_id)).rows]


async def test_a_commit_that_took_effect_although_it_failed_is_found_by_its_nonce(
    path: Path, faults: type[Faults]
) -> None:
    store = SqliteStore.open(path, connect=connect)
    log = await start_log(store, "run-1")
    faults.now = commits_and_fails
    assert await log.append("a") is None
    await log.append("b")
    faults.now = commits_and_fails
    fence, head = await store.take_over("run-2", HERE, lease=30.0, create=True)
    assert await store.head("run-2") == head
    await store.confirm(fence)
    faults.now = commits_and_fails
    await store.release(fence)
    assert (await store.head("run-2")).lease is None
    assert await texts(store) == ["a", "b"]
    await store.close()


async def test_a_commit_that_failed_is_told_to_every_member(
    path: Path, faults: type[Faults]
) -> None:
    store = SqliteStore.open(path, connect=connect)
    logs = [await start_log(store, f"run-{number}") for number in range(3)]
    await store.release((await start_log(store, "run-9")).fence)
    for log in logs:
        faults.now = fails
        with pytest.raises(StoreUnavailable, match=r"the disk that holds .* failed"):
            await log.append("a", claims=(log.take(),))
    faults.now = fails
    with pytest.raises(StoreUnavailable):
        await store.settle(replace(logs[0].settlement("end"), run_id="run-9"))
    assert await store.claim(KEY) is None
    await logs[0].append("a", claims=(logs[0].take(),))
    assert await texts(store, "run-0") == ["a"]
    assert await texts(store, "run-9") == []
    await store.close()


async def test_a_commit_whose_effect_cannot_be_read_is_unknown(
    path: Path, faults: type[Faults]
) -> None:
    store = SqliteStore.open(path, connect=connect)
    log = await start_log(store, "run-1")
    faults.now, faults.unreadable = commits_and_fails, True
    with pytest.raises(CommitUnknown):
        await log.append("a")
    faults.unreadable = False
    assert await texts(store) == ["a"]
    with pytest.raises(Conflict):
        await log.append("a")
    log.advance("a")
    await log.append("b")
    await store.close()


async def test_an_append_that_finds_the_disk_full_can_be_repeated(
    path: Path, faults: type[Faults]
) -> None:
    store = SqliteStore.open(path, connect=connect)
    log = await start_log(store, "run-1")
    for db in faults.connections[1:]:
        db.plainly("PRAGMA max_page_count=40")
    with pytest.raises(StoreUnavailable, match="is full"):
        await log.append("x" * 1_000_000)
    await log.append("a")
    for db in faults.connections[1:]:
        db.plainly("PRAGMA max_page_count=4000")
    await log.append("x" * 1_000_000)
    assert len((await texts(store))[1]) == 1_000_000
    await store.close()


async def test_a_crowd_of_appends_with_refused_ones_among_them(path: Path) -> None:
    store = SqliteStore.open(path)
    logs = [await start_log(store, f"run-{number:03d}") for number in range(60)]
    refused: dict[str, type[Exception]] = {}

    async def work(number: int, log: Log) -> None:
        for step in range(8):
            append = log.prepare(str(step), claims=(log.take(_key(number, step)),))
            if (number + step) % 7 == 0:
                append = replace(append, fence=replace(log.fence, epoch=9))
            try:
                assert await store.append(append) is None
            except Fenced as error:
                refused[f"{number}.{step}"] = type(error)
            else:
                log.advance(str(step))

    async with anyio.create_task_group() as group:
        for number, log in enumerate(logs):
            group.start_soon(work, number, log)
    for number, log in enumerate(logs):
        kept = [str(step) for step in range(8) if (number + step) % 7]
        assert await texts(store, log.fence.run_id) == kept
        for step in range(8):
            claim = await store.claim(_key(number, step))
            assert (claim is not None) == (str(step) in kept)
    assert len(refused) == sum((n + s) % 7 == 0 for n in range(60) for s in range(8))
    await store.close()


def _key(number: int, step: int) -> ClaimId:
    return replace(KEY, key=f"{number}.{step}")


async def test_changes_that_need_their_order_are_done_in_it(path: Path) -> None:
    """Of two appends in one batch the second takes the key that the first gives back."""
    store = SqliteStore.open(path)
    first, second = await start_log(store, "run-1"), await start_log(store, "run-2")
    await first.append("intent", claims=(first.take(),))
    settle = first.prepare("end", claims=(first.settle(0, "released", extent="no"),))
    take = second.prepare("intent", claims=(second.take(),))
    lock = FairLock(f"{path}-lock")
    lock.acquire()
    async with anyio.create_task_group() as group:
        for append in (settle, take):
            group.start_soon(store.append, append)
            await anyio.wait_all_tasks_blocked()
        lock.release()
    lock.close()
    claim = await store.claim(KEY)
    assert claim is not None
    assert (claim.state, claim.run_id, claim.generation) == ("held", "run-2", 2)
    await store.close()


async def test_one_append_may_give_a_key_back_and_take_it_again(path: Path) -> None:
    store = SqliteStore.open(path)
    log = await start_log(store, "run-1")
    other = await start_log(store, "run-2")
    await log.append("intent", claims=(log.take(),))
    assert await store.wait(other.fence, KEY, tool="pay")
    again = replace(log.take(), intent_seq=2)
    await log.append("end", "intent", claims=(log.settle(0, "released"), again))
    claim = await store.claim(KEY)
    assert claim is not None
    assert (claim.state, claim.intent_seq, claim.generation) == ("held", 2, 2)
    assert [row.wait for row in await store.runs()] == [None, None]
    await store.close()


async def test_appends_in_flight_are_written_or_refused_when_the_store_closes(path: Path) -> None:
    store = SqliteStore.open(path)
    logs = [await start_log(store, f"run-{number}") for number in range(20)]

    async def work(log: Log) -> None:
        try:
            while True:
                await log.append("x")
        except StoreUnavailable as error:
            assert "is closed" in str(error)

    async with anyio.create_task_group() as group:
        for log in logs:
            group.start_soon(work, log)
        while logs[-1].length < 5:
            await anyio.lowlevel.checkpoint()
        await store.close()
    await store.close()
    again = SqliteStore.open(path)
    for log in logs:
        assert (await again.head(log.fence.run_id)).length == log.length
    await again.close()


async def test_a_closed_store_refuses_every_verb(path: Path) -> None:
    store = SqliteStore.open(path)
    log = await start_log(store, "run-1")
    await store.close()
    for verb in (
        lambda: store.append(log.prepare("a")),
        lambda: store.confirm(log.fence),
        lambda: store.head("run-1"),
        store.runs,
        lambda: anyio.to_thread.run_sync(lambda: store.renew([log.fence], lease=30.0)),
    ):
        with pytest.raises(StoreUnavailable, match="is closed"):
            await verb()


async def test_the_lock_of_a_driver_that_still_has_a_lease_outlives_the_store(path: Path) -> None:
    store = SqliteStore.open(path)
    kept = await start_log(store, "run-1")
    released = await start_log(store, "run-2", driver=replace(HERE, id="other"))
    await store.release(released.fence)
    await store.close()
    names = await anyio.to_thread.run_sync(
        lambda: [file.name for file in Path(f"{path}-drivers").iterdir()]
    )
    assert names == [HERE.id]
    again = SqliteStore.open(path)
    await again.confirm(kept.fence)
    await again.close()


async def test_leases_are_renewed_under_a_load_of_appends(path: Path) -> None:
    store = SqliteStore.open(path)
    logs = [await start_log(store, f"run-{number}") for number in range(16)]
    done = False

    async def work(log: Log) -> None:
        while not done:
            await log.append("x")

    async with anyio.create_task_group() as group:
        for log in logs:
            group.start_soon(work, log)
        fences = [log.fence for log in logs]
        for _ in range(20):
            lost = await anyio.to_thread.run_sync(lambda: store.renew(fences, lease=30.0))
            assert lost == set()
        done = True
    await store.close()


async def test_a_driver_id_that_is_no_file_name_is_refused(path: Path) -> None:
    store = SqliteStore.open(path)
    for bad in ("../up", ".hidden", "", "a/b"):
        with pytest.raises(ValueError, match="file name"):
            await store.take_over("run-1", replace(HERE, id=bad), lease=1.0, create=True)
    assert list(await store.runs()) == []
    await store.close()


async def test_a_fence_from_elsewhere_can_be_used(path: Path) -> None:
    first, second = SqliteStore.open(path), SqliteStore.open(path)
    log = await start_log(first, "run-1")
    await log.append("a")
    log.store = second
    await log.append("b")
    assert await texts(first) == ["a", "b"]
    await first.close()
    await second.close()


async def test_what_waits_for_the_lock_shares_one_commit(path: Path) -> None:
    commits: list[str] = []

    def traced(name: str) -> sqlite3.Connection:
        db = sqlite3.connect(name, isolation_level=None, check_same_thread=False)
        db.set_trace_callback(lambda text: commits.append(text) if text == "COMMIT" else None)
        return db

    store = SqliteStore.open(path, connect=traced)
    logs = [await start_log(store, f"run-{number}") for number in range(20)]
    lock = FairLock(f"{path}-lock")
    async with anyio.create_task_group() as group:
        with lock.held():
            commits.clear()
            for log in logs:
                group.start_soon(log.append, "a")
            await anyio.wait_all_tasks_blocked()
    assert len(commits) == 1
    assert [(await store.head(log.fence.run_id)).length for log in logs] == [1] * 20
    lock.close()
    await store.close()


async def test_a_fault_of_the_writer_itself_reaches_its_callers_and_stops_nothing(
    path: Path, faults: type[Faults]
) -> None:
    def breaks(db: Faulty) -> sqlite3.Cursor:
        raise RuntimeError("a bug")

    store = SqliteStore.open(path, connect=connect)
    log = await start_log(store, "run-1")
    faults.now = breaks
    with pytest.raises(RuntimeError, match="a bug"):
        await log.append("a")
    await log.append("b")
    assert await texts(store) == ["b"]
    await store.close()


async def test_every_write_is_synced_and_begins_with_the_write_lock(path: Path) -> None:
    statements: list[str] = []
    connections: list[sqlite3.Connection] = []

    def traced(name: str) -> sqlite3.Connection:
        db = sqlite3.connect(name, isolation_level=None, check_same_thread=False)
        db.set_trace_callback(statements.append)
        connections.append(db)
        return db

    store = SqliteStore.open(path, connect=traced)
    log = await start_log(store, "run-1")
    await log.append("a")
    store.renew([log.fence], lease=30.0)
    await store.read("run-1")
    writer, renewal = connections[-3:-1]
    assert writer.execute("PRAGMA synchronous").fetchone() == (2,)
    assert renewal.execute("PRAGMA synchronous").fetchone() == (1,)
    assert writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    begun = [text for text in statements if text.startswith("BEGIN")]
    assert begun.count("BEGIN") == 1  # the read
    assert set(begun) == {"BEGIN", "BEGIN IMMEDIATE"}
    await store.close()
