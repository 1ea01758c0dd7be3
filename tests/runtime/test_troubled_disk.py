"""Commits that fail, or fail although they took effect, and a full disk: nothing twice or lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from salvor.clock import SystemClock
from salvor.compose import open_runtime
from salvor.config import Config
from salvor.events.records import Append, Stands
from salvor.registry.registry import Registry
from salvor.run_errors import UnknownRun, WrongState
from salvor.runtime.outcome import Completed, OpenWrite
from salvor.runtime.resolve import NotDone, ResolvedOutput
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.store_errors import StoreError, StoreFull
from salvor.stores.sqlite import SqliteStore
from salvor.tools.decorator import tool

pytestmark = pytest.mark.anyio

RUN = "55555555-5555-4555-8555-555555555555"
MOST_COMMITS = 16

ledger: list[str] = []


class Disk:
    """Connections of one store, and what goes wrong at which of their commits."""

    def __init__(self, at: int | None = None, fault: str = "") -> None:
        self.commits = 0
        self.at = at
        self.fault = fault
        self.unreadable = False
        self.connections: list[sqlite3.Connection] = []

    def connect(self, path: str) -> sqlite3.Connection:
        """A connection of this disk."""
        disk = self

        class Connection(sqlite3.Connection):
            def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
                if sql == "COMMIT" and self.in_transaction:
                    disk.commits += 1
                    if disk.commits == disk.at:
                        return disk.fail(super().execute)
                if disk.unreadable and sql.startswith("SELECT nonce"):
                    raise _io_error()
                return super().execute(sql, parameters)

        made = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, factory=Connection
        )
        self.connections.append(made)
        return made

    def fail(self, execute: Callable[[str], sqlite3.Cursor]) -> sqlite3.Cursor:
        """Let this commit fail; it may have taken effect all the same."""
        if self.fault != "nothing was written":
            execute("COMMIT")
        self.unreadable = self.fault == "written, and nobody can look"
        raise _io_error()


def _io_error() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    return error


@tool(effect="write")
async def send(what: str) -> str:
    """Send."""
    ledger.append(what)
    return what


@tool(effect="write", idempotency_key="what")
async def pay(what: str) -> str:
    """Pay."""
    ledger.append(what)
    return what


@workflow
async def acting(run: Run) -> list[str]:
    return [
        await run.call(send, what="a"),
        await run.call(pay, what="b"),
        await run.call(send, what="c"),
    ]


async def _told_what_happened(runtime: Runtime, path: OpenWrite) -> None:
    """Play the person: the ledger says whether it happened."""
    events = (await runtime.history(RUN)).envelopes
    intent = events[-1].event
    what = intent.input["what"]  # type: ignore[union-attr, index, call-overload]
    assert isinstance(what, str)
    resolution = ResolvedOutput(what) if what in ledger else NotDone(worker_dead=True)
    await runtime.resolve(RUN, resolution)


async def _drive(store: SqliteStore, *, again: bool) -> Any:
    async with open_runtime(store, registry=Registry(), config=Config(), plugins=False) as runtime:
        if not again:
            return await runtime.start(acting, run_id=RUN)
        try:
            result: Any = await runtime.resume(RUN, acting)
        except (UnknownRun, WrongState):  # nothing of it had been written
            return await runtime.start(acting, run_id=RUN)
        if isinstance(result, OpenWrite):
            await _told_what_happened(runtime, result)
            return await runtime.resume(RUN, acting)
        return result


@pytest.mark.parametrize(
    "fault", ["nothing was written", "written", "written, and nobody can look"]
)
@pytest.mark.parametrize("at", range(1, MOST_COMMITS + 1))
async def test_g3_of_a_commit_that_fails_nothing_is_lost_or_done_twice(
    tmp_path: Path, at: int, fault: str
) -> None:
    ledger.clear()
    path = tmp_path / "salvor.db"
    disk = Disk()
    store = SqliteStore.open(path, connect=disk.connect)
    disk.commits, disk.at, disk.fault = 0, at, fault
    try:
        result = await _drive(store, again=False)
    except StoreError:
        result = None
    finally:
        await store.close()
    if not isinstance(result, Completed):
        store = SqliteStore.open(path)
        result = await _drive(store, again=True)
        await store.close()

    assert isinstance(result, Completed)
    assert result.output == ["a", "b", "c"]
    assert ledger == ["a", "b", "c"]
    assert disk.commits >= at or at > 9, "there are fewer commits than are tried here"


class Watched(SqliteStore):
    """A store that says when it found the disk full."""

    full: anyio.Event

    async def append(self, append: Append) -> Stands | None:
        try:
            return await super().append(append)
        except StoreFull:
            self.full.set()
            raise


async def test_g4_a_completion_that_finds_the_disk_full_is_written_when_there_is_room(
    tmp_path: Path,
) -> None:
    disk = Disk()
    store = Watched.open(tmp_path / "salvor.db", clock=SystemClock(), connect=disk.connect)
    assert isinstance(store, Watched)
    store.full = anyio.Event()
    calls: list[int] = []

    def room(pages: int) -> None:
        for db in disk.connections[1:]:
            db.execute(f"PRAGMA max_page_count={pages}")

    @tool(effect="write")
    async def fetch_all() -> str:
        """Fetch a lot, and fill the disk meanwhile."""
        calls.append(1)
        room(40)
        return "x" * 1_000_000

    @workflow
    async def fetching(run: Run) -> int:
        return len(await run.call(fetch_all))

    results: list[Any] = []
    async with open_runtime(store, registry=Registry(), config=Config(), plugins=False) as runtime:

        async def drive() -> None:
            results.append(await runtime.start(fetching))

        async with anyio.create_task_group() as group:
            group.start_soon(drive)
            await store.full.wait()
            room(4000)
    await store.close()

    assert isinstance(results[0], Completed)
    assert (results[0].output, calls) == (1_000_000, [1])
