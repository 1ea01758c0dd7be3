"""Middleware that leaves the execution to a task of its own: what it does is accounted for."""

from __future__ import annotations

import asyncio

import pytest

from salvor.errors import PluginError
from salvor.runtime.outcome import Completed, Failed
from salvor.tools.around import Call, Failure, Next, Outcome
from tests.runtime.test_middleware import World, driven


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


pytestmark = pytest.mark.anyio


async def test_a1_a_body_that_was_not_begun_before_the_answer_is_never_begun(
    world: World,
) -> None:
    tasks: list[asyncio.Task[Outcome]] = []

    async def hedging(call: Call, next: Next) -> Outcome:
        tasks.append(asyncio.create_task(next()))  # type: ignore[arg-type]
        return Failure(message="circuit open", extent="no")

    result, (completion,) = await driven(world.tool("write"), hedging)

    assert isinstance(result, Failed)
    assert (completion.extent, world.seen) == ("no", [])
    (ended,) = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(ended, PluginError)
    assert world.seen == []


async def test_a1_a_body_in_a_task_is_waited_for_and_happened_whatever_is_said(
    world: World,
) -> None:
    tasks: list[asyncio.Task[Outcome]] = []

    async def hedging(call: Call, next: Next) -> Outcome:
        tasks.append(asyncio.create_task(next()))  # type: ignore[arg-type]
        await asyncio.sleep(0)  # the body begins, in a thread of its own
        return Failure(message="circuit open", extent="no", final=False)

    result, (completion,) = await driven(world.tool("write"), hedging)

    assert isinstance(result, Failed)
    assert (completion.extent, world.seen) == ("yes", ["body 5"])
    await asyncio.gather(*tasks)


async def test_a_task_that_is_awaited_is_as_good_as_none(world: World) -> None:
    async def apart(call: Call, next: Next) -> Outcome:
        return await asyncio.create_task(next())  # type: ignore[arg-type]

    result, _ = await driven(world.tool("write"), apart)

    assert isinstance(result, Completed)
    assert world.seen == ["body 5"]
