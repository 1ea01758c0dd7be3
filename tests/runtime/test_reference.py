"""The reference workflow, killed with SIGKILL at every append and around every effect."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import pytest

from salvor.compose import open_runtime
from salvor.config import Config
from salvor.runtime.outcome import Completed
from salvor.runtime.resolve import NotDone, ResolvedOutput
from salvor.runtime.runtime import Runtime
from salvor.runtime.targets import load_target
from salvor.testing.crash import CrashPoint, CrashRun
from tests.support.reference_flow import TARGET

pytestmark = pytest.mark.slow

RUN = "11111111-2222-4333-8444-666666666666"
OUTPUT = ["look", "look", "pay", "yes", "hello", "launch", "2A", "2026-01-01T00:00:00+00:00"]
KINDS = [
    "RunStarted",
    "NowObserved",
    "RandomObserved",
    *["ToolCallRequested", "ToolCallCompleted"] * 4,
    *["Suspended", "Resumed"] * 2,
    *["SleepStarted", "SleepCompleted"],
    *["Suspended", "Resumed", "ToolCallRequested", "ToolCallCompleted"],
    *["ToolCallRequested", "ToolCallCompleted", "Suspended", "Resumed"],
    *["ToolCallRequested", "ToolCallCompleted", "SleepStarted", "SleepCompleted"],
    "RunCompleted",
]
WRITES = ("pay", "launch", "book")
POINTS = [
    *(CrashPoint.event(seq, "after") for seq in range(len(KINDS))),
    *(CrashPoint.event(seq, "before") for seq in range(0, len(KINDS), 3)),
    *(CrashPoint(tool, "during") for tool in ("look", "touch", *WRITES, "rest")),
]


class World:
    """One store, one ledger, one run, and an operator who reads the ledger."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "salvor.db"
        self.ledger = folder / "ledger"
        env = {"LEDGER": str(self.ledger)}
        self.run = CrashRun(self.store, TARGET, RUN, {"name": "c1"}, env=env)

    def done(self) -> Counter[str]:
        """The whole lines of the ledger, by tool."""
        text = self.ledger.read_text() if self.ledger.exists() else ""
        found = (line[line.rfind('{"tool"') :] for line in text.splitlines())
        return Counter(json.loads(one)["tool"] for one in found if one.endswith("}"))

    def to_the_end(self, point: CrashPoint) -> list[Any]:
        """Drive it in children until one is killed at the point, then here until it ends."""
        kinds: list[Any] = []
        for _ in range(10):
            ended = self.run.drive(point)
            kinds.append("killed" if ended.killed else ended.kind)
            if ended.killed:
                return [*kinds, *anyio.run(self._go_on)]
            if ended.kind == "Completed":
                return [*kinds, ended.result["recorded"]]
            anyio.run(self._help_on)
        raise AssertionError(f"it does not come to an end: {kinds}")

    async def _help_on(self) -> None:
        async with self._opened() as runtime:
            await self._help(runtime)

    async def _go_on(self) -> list[Any]:
        kinds: list[Any] = []
        flow = load_target(TARGET)
        async with self._opened() as runtime:
            for _ in range(20):
                if any(run.events for run in await runtime.list()):
                    result: Any = await runtime.resume(RUN, flow)
                else:
                    result = await runtime.start(flow, {"name": "c1"}, run_id=RUN)
                kinds.append(type(result).__name__)
                if isinstance(result, Completed):
                    return [*kinds, result.recorded]
                await self._help(runtime)
        raise AssertionError(f"it does not come to an end: {kinds}")

    def _opened(self) -> Any:
        load_target(TARGET)
        return open_runtime(str(self.store), plugins=False, config=Config())

    async def _help(self, runtime: Runtime) -> None:
        """What people do: answer, approve, signal, find out what a write did."""
        opened = (await runtime.state(RUN)).open_call
        if opened is not None:
            happened = self.done()[opened.tool] > 0
            said = ResolvedOutput(opened.tool) if happened else NotDone(worker_dead=True)
            await runtime.resolve(RUN, said)
            return
        parked = await runtime.parked(RUN)
        if parked is None or parked.wake_at is not None:
            return
        if parked.signal == "word":
            await runtime.signal(RUN, "word", "hello", sender_id="desk")
        elif parked.wants_approval:
            await runtime.approve(RUN, True, by="desk")
        else:
            await runtime.answer(RUN, "2A" if "seat" in parked.reason else "yes", by="desk")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(tmp_path)
    monkeypatch.setenv("LEDGER", str(made.ledger))
    return made


@pytest.mark.parametrize("point", POINTS, ids=str)
def test_every_primitive_survives_a_kill_anywhere(world: World, point: CrashPoint) -> None:
    *kinds, output = world.to_the_end(point)
    done = world.done()

    # A tool that had booked and died before it could ask is resolved with what it did.
    expected = list(OUTPUT)
    if output[6] == "book":
        expected[6] = "book"
    assert output == expected
    assert [done[tool] for tool in WRITES] == [1, 1, 1], kinds
    assert anyio.run(verified, world.store) == ()


async def verified(store: Path) -> Any:
    async with open_runtime(str(store), plugins=False, config=Config()) as runtime:
        return (await runtime.upkeep.verify()).faults


def test_the_points_are_all_there_are(world: World) -> None:
    *_, output = world.to_the_end(CrashPoint("nowhere", "before"))

    assert output == OUTPUT
    assert anyio.run(kinds_of, world.store) == KINDS


async def kinds_of(store: Path) -> list[str]:
    async with open_runtime(str(store), plugins=False, config=Config()) as runtime:
        return [envelope.event.kind for envelope in (await runtime.history(RUN)).envelopes]
