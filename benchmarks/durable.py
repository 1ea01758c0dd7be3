"""Durable calls per second through the runtime, against the raw loop with the same commits."""

from __future__ import annotations

import asyncio
import itertools
import statistics
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from benchmarks.raw_loop import raw_calls
from salvor.clock import SystemClock
from salvor.compose import open_runtime
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.stores.connect import open_store
from salvor.stores.memory import MemoryStore
from salvor.tools.decorator import tool

SLICE = 1.5
SLICES = 7


@tool(effect="write")
async def note(claim_id: str, amount_cents: int) -> str:
    """Note a claim."""
    return "noted"


@tool(effect="write", idempotency_key="claim_id")
async def pay(claim_id: str, amount_cents: int) -> str:
    """Pay a claim."""
    return "paid"


@tool(effect="write")
def note_in_thread(claim_id: str, amount_cents: int) -> str:
    """Note a claim, in a thread."""
    return "noted"


_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Ratio:
    """Calls per second of both sides, and the median ratio of paired slices."""

    ours: float
    raw: float
    median: float
    low: float
    high: float


@workflow
async def looping(run: Run, kind: str, seconds: float) -> int:
    called = {"note": note, "pay": pay, "thread": note_in_thread}[kind]
    end, calls = perf_counter() + seconds, 0
    while perf_counter() < end:
        await run.call(called, claim_id=f"claim-{next(_numbers)}", amount_cents=1250)
        calls += 1
    return calls


async def _drive(runtime: Runtime, kind: str, seconds: float) -> int:
    result = await runtime.run(looping, kind=kind, seconds=seconds)
    calls: int = result.output  # type: ignore[union-attr]  # it always returns
    return calls


async def our_calls(path: Path, *, runs: int, kind: str, seconds: float) -> float:
    """Calls per second of ``runs`` runs in one process on one SQLite file."""
    store = open_store(str(path), clock=SystemClock())
    async with open_runtime(store, plugins=False) as runtime:
        await _drive(runtime, kind, 0.05)
        started = perf_counter()
        counts = await asyncio.gather(*(_drive(runtime, kind, seconds) for _ in range(runs)))
        return sum(counts) / (perf_counter() - started)


async def row_texts() -> list[str]:
    """The envelopes of one call, as a real run writes them."""
    store = MemoryStore(clock=SystemClock())
    async with open_runtime(store, plugins=False) as runtime:
        result = await runtime.run(looping, kind="note", seconds=0.01)
        page = await store.read(result.run_id)
        return [row.envelope for row in page.rows[1:3]]


async def compare(runs: int, kind: str, *, group: bool, slices: int = SLICES) -> Ratio:
    """Both sides in turn, in fresh files, several times over."""
    texts = await row_texts()
    pairs: list[tuple[float, float]] = []
    for _ in range(slices):
        raw = await _fresh(
            lambda path: raw_calls(path, callers=runs, seconds=SLICE, texts=texts, group=group)
        )
        ours = await _fresh(lambda path: our_calls(path, runs=runs, kind=kind, seconds=SLICE))
        pairs.append((ours, raw))
    ratios = sorted(ours / raw for ours, raw in pairs)
    return Ratio(
        ours=statistics.median(ours for ours, _ in pairs),
        raw=statistics.median(raw for _, raw in pairs),
        median=statistics.median(ratios),
        low=ratios[0],
        high=ratios[-1],
    )


async def _fresh(measure: Callable[[Path], Awaitable[float]]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        return await measure(Path(folder) / "bench.db")
