"""What the next call costs when the log is long: runs of several lengths, in turn."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from salvor.clock import SystemClock
from salvor.compose import open_runtime
from salvor.runtime.run import Run
from salvor.runtime.workflow import workflow
from salvor.stores.connect import open_store
from salvor.tools.decorator import tool

LENGTHS: Final = (0, 1_000, 10_000, 100_000)
ROUNDS: Final = 40
CALLS: Final = 25


@tool(effect="write")
async def note(claim_id: str, amount_cents: int) -> str:
    """Note a claim."""
    return "noted"


class _Turns:
    """Lets the runs go on one at a time, round after round, once all have their length."""

    def __init__(self, runs: int) -> None:
        self.grown = asyncio.Barrier(runs)
        self.turn = asyncio.Lock()  # serves in the order of asking
        self.micros: dict[int, list[float]] = {}


async def compare(lengths: Sequence[int] = LENGTHS, rounds: int = ROUNDS) -> Mapping[int, float]:
    """By the log's length before: the median microseconds of a call.

    All runs are in one file and one process. At most ``rounds`` times `CALLS` calls are added.
    """
    turns = _Turns(len(lengths))

    @workflow
    async def growing(run: Run, length: int) -> None:
        for _ in range(length // 2):
            await run.call(note, claim_id="claim-17", amount_cents=1250)
        await turns.grown.wait()
        for _ in range(rounds):
            async with turns.turn:
                turns.micros.setdefault(length, []).extend(await _timed(run))

    with tempfile.TemporaryDirectory() as folder:
        store = open_store(str(Path(folder) / "bench.db"), clock=SystemClock())
        async with open_runtime(store, plugins=False) as runtime:
            await asyncio.gather(*(runtime.run(growing, length=length) for length in lengths))
    return {length: median(turns.micros[length]) for length in lengths}


async def _timed(run: Run) -> list[float]:
    found = []
    for _ in range(CALLS):
        started = perf_counter()
        await run.call(note, claim_id="claim-17", amount_cents=1250)
        found.append((perf_counter() - started) * 1e6)
    return found


def table(micros: Mapping[int, float]) -> list[str]:
    """The lines to print, each also as a ratio to the shortest log."""
    shortest = micros[min(micros)]
    return [
        f"  {length:>8,} events before      {cost:8.0f} us   ratio {cost / shortest:.2f}"
        for length, cost in micros.items()
    ]
