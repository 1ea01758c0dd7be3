"""Where the time of a durable call goes: processor time by thread, beside the raw loop's."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time, thread_time

from benchmarks.durable import our_calls, row_texts
from benchmarks.raw_loop import raw_calls

SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Spent:
    """Microseconds a call: the clock's, the event loop's thread, all other threads."""

    wall: float
    loop: float
    others: float


async def compare(runs: int) -> dict[str, Spent]:
    """Ours and the raw loop with group commit, ``runs`` callers each."""
    texts = await row_texts()
    return {
        "salvor": await _spent(
            lambda path: our_calls(path, runs=runs, kind="note", seconds=SECONDS)
        ),
        "raw loop": await _spent(
            lambda path: raw_calls(path, callers=runs, seconds=SECONDS, texts=texts, group=True)
        ),
    }


async def _spent(measure: Callable[[Path], Awaitable[float]]) -> Spent:
    with tempfile.TemporaryDirectory() as folder:
        wall, process, thread = perf_counter(), process_time(), thread_time()
        calls = await measure(Path(folder) / "bench.db") * SECONDS
        loop = thread_time() - thread
        return Spent(
            wall=(perf_counter() - wall) / calls * 1e6,
            loop=loop / calls * 1e6,
            others=(process_time() - process - loop) / calls * 1e6,
        )
