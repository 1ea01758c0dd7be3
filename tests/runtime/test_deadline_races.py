"""A deadline that passes while something else is about to end the park (DURABILITY D4)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from salvor.events.records import Settlement
from salvor.runtime.outcome import Completed, Parked
from salvor.runtime.run import Run
from salvor.runtime.workflow import workflow
from salvor.stores.memory import MemoryStore
from salvor.testing.clock import FakeClock
from tests.runtime.conftest import MakeRuntime

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 7, 9, 12, 0, tzinfo=UTC)
SOON = NOON + timedelta(seconds=5)


class AtTheDeadline(MemoryStore):
    """A store whose clock reaches a deadline just as a signal is to end the park."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock=clock)
        self._moving = clock

    async def settle(self, settlement: Settlement) -> None:
        if settlement.consumes is not None:
            self._moving.move(60)
        await super().settle(settlement)


async def test_d4_no_signal_ends_a_park_after_its_deadline(
    make_runtime: MakeRuntime,
) -> None:
    clock = FakeClock(NOON)

    @workflow
    async def patient(run: Run) -> str:
        return await run.signal("bank", str, deadline=SOON, default="nothing")

    runtime = make_runtime(AtTheDeadline(clock), clock=clock)
    parked = await runtime.run(patient)
    await runtime.signal(parked.run_id, "bank", "paid")
    assert isinstance(await runtime.wake(parked.run_id, patient), Parked)
    done = await runtime.wake(parked.run_id, patient)

    assert isinstance(done, Completed)
    assert done.output == "nothing"
