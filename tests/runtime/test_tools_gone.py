"""Calls by name that were begun, and whose tool is gone today (DURABILITY B2, B3)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime

import pytest

from salvor.errors import ToolFailed, UnknownToolError
from salvor.events.store import Store
from salvor.registry.registry import Registry
from salvor.runtime.outcome import Completed, OpenWrite, Parked
from salvor.runtime.resolve import NotDone
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.testing.clock import FakeClock, FakeIds
from salvor.tools.approval import ApprovalRule
from tests.runtime.conftest import MakeStore
from tests.support.shop import World, fresh_world, happened, send

pytestmark = pytest.mark.anyio

ASKING = ApprovalRule(tools=("send",))
Day = Callable[..., Runtime]


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


@pytest.fixture
async def day(make_store: MakeStore) -> AsyncIterator[Day]:
    """Makes runtimes on one store, with the tool or without it."""
    clock = FakeClock(datetime(2026, 7, 9, tzinfo=UTC))
    store: Store = make_store(clock)
    made: list[Runtime] = []

    def make(*rules: ApprovalRule, tool: bool = True) -> Runtime:
        registry = Registry()
        if tool:
            registry.add(send)
        runtime = Runtime(
            store=store, registry=registry, clock=clock, ids=FakeIds(len(made)), approvals=rules
        )
        made.append(runtime)
        return runtime

    async with AsyncExitStack() as stack:
        stack.push_async_callback(store.close)
        yield make
        for runtime in made:
            runtime._host.keeper.stop()
            runtime._host.threads.close()


@workflow
async def sending(run: Run) -> str:
    try:
        return str(await run.call_named("send", {"claim_id": "c1"}))
    except ToolFailed as failed:
        return failed.kind


async def written(runtime: Runtime, run_id: str) -> list[str]:
    return [one.event.kind for one in (await runtime.history(run_id)).envelopes]


async def not_done(day: Day, world: World) -> str:
    """A run whose write did not happen, and is to be made anew."""
    world.trouble = [happened(None)]
    stopped = await day().run(sending)
    assert isinstance(stopped, OpenWrite)
    await day().resolve(stopped.run_id, NotDone(worker_dead=True))
    return stopped.run_id


async def test_b3_a_call_that_is_to_be_made_anew_waits_for_its_tool(day: Day, world: World) -> None:
    run_id = await not_done(day, world)
    before = await written(day(), run_id)

    for _ in range(2):
        with pytest.raises(UnknownToolError, match="there is no tool called 'send'"):
            await day(tool=False).resume(run_id, sending)
    assert await written(day(), run_id) == before
    done = await day().resume(run_id, sending)

    assert isinstance(done, Completed)
    assert world.log == ["send c1"]


async def test_b3_nothing_is_recorded_before_the_record_ends(day: Day, world: World) -> None:
    run_id = await not_done(day, world)
    asked = await day(ASKING).resume(run_id, sending)
    assert isinstance(asked, Parked)
    before = await written(day(), run_id)

    found = [await day(tool=False).resume(run_id, sending) for _ in range(2)]
    assert found == [asked, asked]
    assert await written(day(), run_id) == before
    await day(tool=False).approve(run_id, True, by="ada")
    with pytest.raises(UnknownToolError):
        await day(tool=False).resume(run_id, sending)
    done = await day(ASKING).resume(run_id, sending)

    assert isinstance(done, Completed)
    assert world.log == ["send c1"]


async def test_d2_a_call_that_was_asked_for_waits_for_its_tool(day: Day, world: World) -> None:
    asked = await day(ASKING).run(sending)
    assert isinstance(asked, Parked)

    assert await day(tool=False).resume(asked.run_id, sending) == asked
    await day(tool=False).approve(asked.run_id, True, by="ada")
    with pytest.raises(UnknownToolError, match="there is no tool called 'send'"):
        await day(tool=False).resume(asked.run_id, sending)
    assert len(await written(day(), asked.run_id)) == 3
    done = await day(ASKING).resume(asked.run_id, sending)

    assert isinstance(done, Completed)
    assert world.log == ["send c1"]


async def test_d2_a_no_is_replayed_without_the_tool(day: Day, world: World) -> None:
    @workflow
    async def sending_and_asking(run: Run) -> str:
        said = await sending(run)
        return said + await run.suspend("and?", str)

    asked = await day(ASKING).run(sending_and_asking)
    await day().approve(asked.run_id, False, by="ada")
    again = await day(ASKING).resume(asked.run_id, sending_and_asking)
    done = await day(tool=False).resume(asked.run_id, sending_and_asking, answer="!")

    assert isinstance(again, Parked)
    assert isinstance(done, Completed)
    assert done.output == "denied!"
    assert world.log == []
