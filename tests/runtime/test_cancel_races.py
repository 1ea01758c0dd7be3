"""A cancel that stands is no error, whoever ends the park before it does (DURABILITY D5)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from salvor.events.records import Cancel, Driver
from salvor.run_errors import RunEnded
from salvor.runtime.outcome import Abandoned
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.stores.memory import MemoryStore
from salvor.stores.sqlite import SqliteStore
from salvor.testing.clock import FakeClock
from tests.runtime.conftest import MakeRuntime

pytestmark = pytest.mark.anyio

Meanwhile = Callable[[str], Awaitable[object]]


class Raced:
    """Somebody does something as soon as a cancel is in the inbox."""

    meanwhile: Meanwhile | None = None

    async def cancel(self, cancel: Cancel) -> None:
        await super().cancel(cancel)  # type: ignore[misc]
        act, self.meanwhile = self.meanwhile, None
        if act is not None:
            await act(cancel.run_id)


class RacedMemory(Raced, MemoryStore):
    pass


class RacedSqlite(Raced, SqliteStore):
    pass


@workflow
async def asking(run: Run) -> str:
    return await run.suspend("first?", str) + await run.suspend("second?", str)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Any:
    if request.param == "memory":
        return RacedMemory(clock=clock)
    return RacedSqlite.open(tmp_path / "store.db", clock=clock)


def answers(runtime: Runtime) -> Meanwhile:
    return lambda run_id: runtime.answer(run_id, "yes", workflow=asking)


def answers_and_drives(runtime: Runtime) -> Meanwhile:
    return lambda run_id: runtime.resume(run_id, asking, answer="yes")


def takes_over(runtime: Runtime) -> Meanwhile:
    driver = Driver(id="d", pid=1, host="h")
    return lambda run_id: runtime.store.take_over(run_id, driver, lease=30.0)


def cancels(runtime: Runtime) -> Meanwhile:
    return lambda run_id: runtime.cancel(run_id, reason="again")


@pytest.mark.parametrize("race", [answers, answers_and_drives, takes_over, cancels])
async def test_d5_a_cancel_that_somebody_was_faster_than_stands(
    make_runtime: MakeRuntime,
    store: Any,
    clock: FakeClock,
    race: Callable[[Runtime], Meanwhile],
) -> None:
    async with make_runtime(store, clock=clock) as runtime:
        parked = await runtime.run(asking)
        store.meanwhile = race(runtime)
        await runtime.cancel(parked.run_id, reason="stop", by="desk")
        cancel = await runtime.store.cancelled(parked.run_id)
        if race is takes_over:
            clock.move(31)
        ended = await runtime.resume(parked.run_id, asking)

    assert cancel is not None
    assert cancel.reason == "stop"
    assert ended == Abandoned(run_id=parked.run_id, reason="stop", by="desk")


async def test_d5_a_run_that_has_ended_cannot_be_cancelled(
    make_runtime: MakeRuntime, store: Any, clock: FakeClock
) -> None:
    async with make_runtime(store, clock=clock) as runtime:
        parked = await runtime.run(asking)
        await runtime.cancel(parked.run_id)
        with pytest.raises(RunEnded):
            await runtime.cancel(parked.run_id)
