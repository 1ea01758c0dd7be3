"""Ours, and the raw loop with the same commits."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import perf_counter
from typing import Final

from benchmarks.durable import note, row_texts
from benchmarks.engines.engine import Engine, Way
from benchmarks.raw_loop import RawLoop
from salvor.clock import SystemClock
from salvor.compose import open_runtime
from salvor.events.chain import GENESIS
from salvor.runtime.outcome import Completed
from salvor.runtime.run import Run
from salvor.runtime.workflow import workflow
from salvor.stores.connect import open_store


@workflow
async def noting(run: Run, calls: int) -> int:
    for number in range(calls):
        await run.call(note, claim_id=f"claim-{number}", amount_cents=1250)
    return calls


async def _ours(path: Path, runs: int, calls: int) -> float:
    store = open_store(str(path), clock=SystemClock())
    async with open_runtime(store, plugins=False) as runtime:
        await runtime.run(noting, calls=3)
        started = perf_counter()
        found = await asyncio.gather(*(runtime.run(noting, calls=calls) for _ in range(runs)))
        seconds = perf_counter() - started
    assert all(isinstance(one, Completed) and one.output == calls for one in found)
    return seconds


async def _raw(path: Path, runs: int, calls: int) -> float:
    texts = await row_texts()
    loop = RawLoop(path, runs=runs, group=runs > 1)

    async def one(run: int) -> None:
        seq, before = 0, GENESIS
        for _ in range(calls):
            for text in texts:
                before = await loop.append(run, seq, before, text)
                seq += 1

    try:
        started = perf_counter()
        await asyncio.gather(*(one(run) for run in range(1, runs + 1)))
        return perf_counter() - started
    finally:
        loop.close()


SALVOR: Final = Way(
    name="salvor",
    says="two commits a call: the intent before the body, the completion after it, each under the "
    "run's fence and hashed into its chain; commits of several runs share one sync. Write-ahead "
    "log, synchronous FULL. A write whose outcome is unknown after a crash stops for a person.",
    seconds=lambda path, runs, calls: asyncio.run(_ours(path, runs, calls)),
)
RAW: Final = Way(
    name="raw loop",
    says="the same two rows and commits a call and nothing else, runs without beginning or end: "
    "what the machine can do.",
    seconds=lambda path, runs, calls: asyncio.run(_raw(path, runs, calls)),
)
ENGINE: Final = Engine(ways=[RAW, SALVOR])
