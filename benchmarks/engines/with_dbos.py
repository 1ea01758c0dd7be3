"""DBOS: a workflow with one step a call, its system database on SQLite."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from dbos import DBOS

from benchmarks.engines.engine import Engine, Way


def _note(claim_id: str, amount_cents: int) -> str:
    return "noted"


async def _note_async(claim_id: str, amount_cents: int) -> str:
    return "noted"


note: Any = DBOS.step()(_note)
note_async: Any = DBOS.step()(_note_async)


def _noting(calls: int) -> int:
    for number in range(calls):
        note(f"claim-{number}", 1250)
    return calls


async def _noting_async(calls: int) -> int:
    for number in range(calls):
        await note_async(f"claim-{number}", 1250)
    return calls


noting: Any = DBOS.workflow()(_noting)
noting_async: Any = DBOS.workflow()(_noting_async)


@contextmanager
def _launched(path: Path, runs: int) -> Iterator[None]:
    DBOS(
        config={
            "name": "durable-calls",
            "system_database_url": f"sqlite:///{path}",
            "max_executor_threads": max(runs, 64),
            "log_level": "ERROR",
        }
    )
    DBOS.launch()
    try:
        yield
    finally:
        DBOS.destroy()


def _in_threads(path: Path, runs: int, calls: int) -> float:
    with _launched(path, runs):
        noting(3)
        started = perf_counter()
        handles = [DBOS.start_workflow(noting, calls) for _ in range(runs)]
        found = [handle.get_result() for handle in handles]
        seconds = perf_counter() - started
    assert found == [calls] * runs
    return seconds


async def _in_tasks(path: Path, runs: int, calls: int) -> float:
    with _launched(path, runs):
        await noting_async(3)
        started = perf_counter()
        found = await asyncio.gather(*(noting_async(calls) for _ in range(runs)))
        seconds = perf_counter() - started
    assert found == [calls] * runs
    return seconds


_SAYS: Final = (
    "one commit a call, after the body (its outcome; before it only a read whether there is one "
    "already). Rollback journal, synchronous FULL, as it sets up SQLite itself: four syncs a "
    "commit as counted by strace. A step cut off by a crash runs again."
)
ENGINE: Final = Engine(
    ways=[
        Way(name="DBOS, sync functions", says=_SAYS, seconds=_in_threads),
        Way(
            name="DBOS, async functions",
            says="the same.",
            seconds=lambda path, runs, calls: asyncio.run(_in_tasks(path, runs, calls)),
        ),
    ]
)
