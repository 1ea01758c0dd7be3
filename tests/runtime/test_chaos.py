"""Workers that are killed and frozen at random for a minute: nothing twice, nothing lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from salvor.compose import open_runtime
from salvor.config import Config
from salvor.errors import SalvorError
from salvor.run_errors import RunExists
from salvor.runtime.outcome import Completed, OpenWrite
from salvor.runtime.resolve import NotDone, ResolvedOutput
from salvor.runtime.runtime import Runtime
from tests.support import chaos_flow
from tests.support.chaos_worker import run_id

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
SECONDS = float(os.environ.get("CHAOS_SECONDS", "60"))
RUNS = 200
WORKERS = 4


class Workers:
    """Processes that drive runs; those that were killed are started again."""

    def __init__(self, store: Path, ledger: Path) -> None:
        self._store = store
        self._env = {**os.environ, "PYTHONPATH": str(ROOT), chaos_flow.LEDGER: str(ledger)}
        self._processes: list[subprocess.Popen[str]] = []
        self.counts: Counter[str] = Counter()

    def start(self, number: int) -> None:
        worker = [sys.executable, "-m", "tests.support.chaos_worker", str(self._store)]
        process = subprocess.Popen(
            [*worker, str(RUNS), str(number * RUNS // WORKERS)],
            env=self._env,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        self._processes.append(process)

    def disturb(self, lot: random.Random) -> None:
        """Kill one and start another, or freeze one for longer than its lease."""
        process = lot.choice(self._processes)
        if lot.random() < 0.85:
            self._kill(process)
            self.counts["kills"] += 1
            self.start(lot.randrange(WORKERS))
        else:
            process.send_signal(signal.SIGSTOP)
            time.sleep(lot.choice([0.05, 0.5, 3.0]))  # how long it is frozen, not for order
            process.send_signal(signal.SIGCONT)
            self.counts["freezes"] += 1

    def _kill(self, process: subprocess.Popen[str]) -> None:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
        self._processes.remove(process)

    def kill_all(self) -> None:
        for process in list(self._processes):
            self._kill(process)


@contextmanager
def started(store: Path, ledger: Path) -> Iterator[Workers]:
    workers = Workers(store, ledger)
    try:
        for number in range(WORKERS):
            workers.start(number)
        yield workers
    finally:
        workers.kill_all()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the workers are processes of their own
async def test_killed_and_frozen_workers_do_nothing_twice_and_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store, ledger = tmp_path / "runs.db", tmp_path / "ledger"
    monkeypatch.setenv(chaos_flow.LEDGER, str(ledger))
    seed = random.randrange(2**32)
    lot = random.Random(seed)
    until = time.monotonic() + SECONDS
    sent: set[int] = set()
    async with opened(store) as operator:
        with started(store, ledger) as workers:
            while time.monotonic() < until:
                workers.disturb(lot)
                await send_signals(operator, lot, sent)
            workers.kill_all()
            counts = workers.counts
        counts["ended"] = len(await operator.store.runs(ended=True, limit=RUNS))
        ended = await all_to_the_end(operator, ledger, counts)
        verified = await operator.upkeep.verify()
    lines = Counter(done_outside(ledger))
    with capsys.disabled():
        print(
            f"\nchaos: seed {seed}, {SECONDS:g} s, {WORKERS} workers, {RUNS} runs, "
            f"{counts['kills']} kills, {counts['freezes']} freezes, "
            f"{counts['ended']} ended by the workers, "
            f"{counts['open writes']} open writes, {verified.events} events, "
            f"{sum(lines.values())} effects, 0 twice, 0 lost"
        )

    assert verified.faults == ()
    assert verified.runs == RUNS
    assert [one for one in ended if not isinstance(one, Completed)] == []
    for number in range(RUNS):
        assert lines[f"send r{number}"] == 1, (seed, number)
    for order in range(RUNS // 2):
        assert lines[f"pay o{order}"] == 1, (seed, order)
    puts = Counter(line.split()[1] for line in lines if line.startswith("put "))
    assert set(puts.values()) == {1}, "an idempotent call had two keys"


def opened(store: Path) -> Any:
    return open_runtime(str(store), plugins=False, config=Config(), lease=2.0, claim_wait=0.0)


async def send_signals(operator: Runtime, lot: random.Random, sent: set[int]) -> None:
    """Some of the words that the runs wait for; each sent once, whatever fails in between."""
    for number in lot.sample(range(RUNS), 20):
        try:
            await operator.signal(run_id(number), "go", f"w{number}", sender_id="desk")
            sent.add(number)
        except SalvorError:
            continue


async def all_to_the_end(operator: Runtime, ledger: Path, counts: Counter[str]) -> list[Any]:
    """What is left over, with all workers dead: an operator who can read the ledger.

    In rounds: a run may wait for the key of another one.
    """
    found: dict[int, Any] = {}
    for _ in range(12):
        for number in range(RUNS):
            if not isinstance(found.get(number), Completed):
                found[number] = await gone_on(operator, number, ledger, counts)
    return [found[number] for number in range(RUNS)]


async def gone_on(operator: Runtime, number: int, ledger: Path, counts: Counter[str]) -> Any:
    try:
        found: Any = await operator.start(
            chaos_flow.settle, {"number": number}, run_id=run_id(number)
        )
    except RunExists:
        found = await resumed(operator, number)
    if isinstance(found, OpenWrite):
        counts["open writes"] += 1
        await resolve(operator, found, ledger)
    elif not isinstance(found, Completed):
        await send_one(operator, number)
    return found


async def resumed(operator: Runtime, number: int) -> Any:
    return await operator.resume(run_id(number), chaos_flow.settle)


async def send_one(operator: Runtime, number: int) -> None:
    try:
        await operator.signal(run_id(number), "go", f"w{number}", sender_id="desk")
    except SalvorError:
        return


def done_outside(ledger: Path) -> list[str]:
    """What happened, in order."""
    return ledger.read_text().splitlines()


async def resolve(operator: Runtime, opened: OpenWrite, ledger: Path) -> None:
    [what] = opened.arguments.values()
    happened = f"{opened.tool} {what}" in done_outside(ledger)
    done = {"send": "sent", "pay": "paid"}[opened.tool]
    await operator.resolve(
        opened.run_id, ResolvedOutput(done) if happened else NotDone(worker_dead=True)
    )
