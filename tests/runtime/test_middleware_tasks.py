"""Middleware that leaves the execution to a task of its own: what it does is accounted for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import anyio
import pytest

from salvor.errors import PluginError
from salvor.runtime.outcome import Completed, Failed
from salvor.tools.around import Call, Failure, Next, Outcome
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool
from salvor.tools.function import FunctionTool, function_tool
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


class Waiting:
    """A write that waits, and middleware that leaves it to a task of its own and waits too."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.go = asyncio.Event()
        self.waiting = asyncio.Event()
        self.task: asyncio.Task[Outcome] | None = None

    def tool(self) -> FunctionTool:
        @tool(effect="write", name="pay")
        async def pay(cents: int) -> str:
            """Pay."""
            self.seen.append("begun")
            self.waiting.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.seen.append("over")
            return "paid"

        return function_tool(pay)

    async def at_once(self, call: Call, next: Next) -> Outcome:
        self.task = asyncio.create_task(next())  # type: ignore[arg-type]
        return await asyncio.Event().wait()  # type: ignore[return-value]

    async def later(self, call: Call, next: Next) -> Outcome:
        async def after_a_while() -> Outcome:
            self.waiting.set()
            await self.go.wait()
            return await next()

        self.task = asyncio.create_task(after_a_while())
        return await asyncio.Event().wait()  # type: ignore[return-value]

    async def cancelled(self, driving: Coroutine[Any, Any, Any]) -> None:
        driver = asyncio.create_task(driving)
        await self.waiting.wait()
        driver.cancel()
        with pytest.raises(asyncio.CancelledError):
            await driver


async def test_a7_a_cancelled_call_takes_the_body_along_that_is_in_another_task() -> None:
    world = Waiting()

    await world.cancelled(driven(world.tool(), world.at_once))

    assert world.seen == ["begun", "over"]
    assert world.task is not None
    (ended,) = await asyncio.gather(world.task, return_exceptions=True)
    assert isinstance(ended, PluginError)


async def test_a7_nothing_begins_after_the_call_was_cancelled() -> None:
    world = Waiting()

    await world.cancelled(driven(world.tool(), world.later))
    world.go.set()

    assert world.task is not None
    (ended,) = await asyncio.gather(world.task, return_exceptions=True)
    assert isinstance(ended, PluginError)
    assert world.seen == []


async def test_a6_a_deadline_around_a_body_that_cannot_be_stopped_starts_no_second_copy() -> None:
    go, seen = threading.Event(), []

    @tool(effect="idempotent", retry=Retry(attempts=3, backoff=0.0))
    def push() -> str:
        """Push."""
        seen.append("push")
        assert go.wait(60)
        return "ok"

    async def impatient(call: Call, next: Next) -> Outcome:
        with anyio.fail_after(0.01):
            return await next()

    result, (completion,) = await driven(function_tool(push), impatient, arguments={})
    go.set()

    assert isinstance(result, Failed)
    assert (completion.extent, seen) == ("unknown", ["push"])
