"""What is remembered of a run that was let go of: its keys, and not its name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from salvor.runtime.outcome import Completed
from salvor.runtime.runtime import Runtime
from salvor.testing.clock import FakeClock
from tests.runtime.conftest import MakeRuntime, MakeStore
from tests.support.shop import World, fresh_world, paying, send, sending

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def runtime(
    make_runtime: MakeRuntime, make_store: MakeStore, clock: FakeClock
) -> AsyncIterator[Runtime]:
    async with make_runtime(make_store(clock), clock=clock) as runtime:
        yield runtime


async def let_go(runtime: Runtime, clock: FakeClock) -> int:
    clock.move(10)
    return len(await runtime.upkeep.forget(ended_before=clock.now()))


async def test_a_keyed_name_begins_anew_once_its_run_is_gone(
    runtime: Runtime, clock: FakeClock, world: World
) -> None:
    keyed = runtime.keyed("letters-2026-07")
    for _ in range(2):
        assert isinstance(await keyed.run(sending), Completed)
    assert world.log == ["send c1"]
    assert await let_go(runtime, clock) == 1
    assert isinstance(await keyed.run(sending), Completed)

    assert world.log == ["send c1", "send c1"]


async def test_a_declared_key_outlives_the_run_of_a_name(
    runtime: Runtime, clock: FakeClock, world: World
) -> None:
    keyed = runtime.keyed("payments-2026-07")
    first = await keyed.run(paying, claim_id="c1")
    assert await let_go(runtime, clock) == 1
    again = await keyed.run(paying, claim_id="c1")

    assert isinstance(first, Completed)
    assert isinstance(again, Completed)
    assert again.recorded == first.recorded
    assert again.run_id == first.run_id
    assert (await runtime.upkeep.verify()).faults == ()
    assert world.log == ["pay c1"]


async def test_c7_a_session_begins_anew_once_its_log_is_gone(
    runtime: Runtime, clock: FakeClock, world: World
) -> None:
    runtime.registry.for_function(send)
    for _ in range(2):
        async with runtime.session("order-1") as session:
            await session.call_named("send", {"claim_id": "c1"}, call_id="1")
            await session.close()
        assert await let_go(runtime, clock) == 1

    assert world.log == ["send c1", "send c1"]
