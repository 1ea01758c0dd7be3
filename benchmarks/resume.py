"""Resuming long runs: seconds and memory of a fresh process, and whether that is linear."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final, Literal

from salvor.clock import SystemClock
from salvor.compose import open_runtime
from salvor.runtime.outcome import Completed, Parked
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.stores.connect import open_store
from salvor.tools.decorator import tool

SIZES: Final = (10_000, 100_000)
ROUNDS: Final = 3
_MEMORY: Final = "memory:"
Kind = Literal["SQLite", "memory"]


@tool(effect="write")
async def note(claim_id: str, amount_cents: int) -> str:
    """Note a claim."""
    return "noted"


@workflow
async def long_run(run: Run, calls: int) -> int:
    for number in range(calls):
        await run.call(note, claim_id=f"claim-{number}", amount_cents=1250)
    await run.suspend("Go on?", bool)
    return calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """One resume: how many events were in the log, seconds, and the process's peak in MB."""

    events: int
    seconds: float
    peak: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """A row of the table: ``peak`` is the memory above that of a run without calls."""

    kind: Kind
    events: int
    seconds: float
    peak: float

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.seconds


def compare(sizes: Sequence[int] = SIZES, rounds: int = ROUNDS) -> list[Resume]:
    """Every size on every store; medians of the rounds."""
    return [row for kind in ("SQLite", "memory") for row in _rows(kind, sizes, rounds)]


def _rows(kind: Kind, sizes: Sequence[int], rounds: int) -> list[Resume]:
    none = median(_fresh(kind, 0).peak for _ in range(rounds))
    rows = []
    for events in sizes:
        found = [_fresh(kind, events) for _ in range(rounds)]
        rows.append(
            Resume(
                kind=kind,
                events=found[0].events,
                seconds=median(one.seconds for one in found),
                peak=median(one.peak for one in found) - none,
            )
        )
    return rows


def _fresh(kind: Kind, events: int) -> Resumed:
    with tempfile.TemporaryDirectory() as folder:
        store = _MEMORY if kind == "memory" else str(Path(folder) / "bench.db")
        run_id = "" if kind == "memory" else _child("build", store, str(events))["run"]
        found = _child("resume", store, str(events), str(run_id))
        return Resumed(**found)  # type: ignore[arg-type]  # the child prints its fields


def _child(*words: str) -> Mapping[str, object]:
    command = [sys.executable, "-m", "benchmarks.resume", *words]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    told: Mapping[str, object] = json.loads(found.stdout)
    return told


def table(rows: Sequence[Resume]) -> list[str]:
    """The lines to print; the last ones say what ten times the events cost."""
    lines = [
        f"  {row.kind:<8} {row.events:>9,} events {row.seconds:8.2f} s   {row.rate:9,.0f} events/s"
        f"   {row.peak:7.0f} MB"
        for row in rows
    ]
    for kind in dict.fromkeys(row.kind for row in rows):
        first, *_, last = [row for row in rows if row.kind == kind]
        lines.append(
            f"  {kind}: {last.events / first.events:.1f} times the events take "
            f"{last.seconds / first.seconds:.1f} times the seconds"
        )
    return lines


async def _build(runtime: Runtime, events: int) -> str:
    parked = await runtime.run(long_run, calls=max(events - 2, 0) // 2)
    assert isinstance(parked, Parked)
    return parked.run_id


async def _resumed(runtime: Runtime, run_id: str) -> Resumed:
    started = perf_counter()
    result = await runtime.resume(run_id, long_run, answer=True)
    seconds = perf_counter() - started
    assert isinstance(result, Completed)
    peak = _peak()
    return Resumed(events=2 * result.output + 2, seconds=seconds, peak=peak)


def _peak() -> float:
    """The process's largest memory so far, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says begins, on Linux, with the peak of the parent
        [peak] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(peak.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def _serve(verb: str, store: str, events: int, run_id: str) -> dict[str, object]:
    opened = open_store(store, clock=SystemClock())
    async with open_runtime(opened, plugins=False) as runtime:
        if verb == "build":
            return {"run": await _build(runtime, events)}
        return asdict(await _resumed(runtime, run_id or await _build(runtime, events)))


if __name__ == "__main__":
    _verb, _store, _events, *_run = sys.argv[1:]
    print(json.dumps(asyncio.run(_serve(_verb, _store, int(_events), "".join(_run)))))
