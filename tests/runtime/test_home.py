"""A runtime belongs to the event loop it was opened in; elsewhere it says so at once."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from salvor.run_errors import RunError
from salvor.runtime.bodies import BodyThreads
from salvor.runtime.outcome import Completed, Parked
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.tools.decorator import tool
from tests.runtime.conftest import MakeRuntime

pytestmark = pytest.mark.anyio


@tool(effect="read")
def here() -> str:
    """Here."""
    return threading.current_thread().name


@workflow
async def calling(run: Run) -> str:
    await run.call(here)
    return await run.suspend("Which?", str)


async def elsewhere(work: Callable[[], Awaitable[Any]], backend: str) -> None:
    """Await something in a loop of its own, in another thread."""

    async def refused() -> None:
        with pytest.raises(RunError, match="opened in another event loop"):
            await work()

    await BodyThreads().run(lambda: anyio.run(refused, backend=backend))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
async def test_another_loop_is_refused_at_once_and_nothing_is_begun(
    make_runtime: MakeRuntime, backend: str
) -> None:
    runtime = make_runtime()
    runtime.registry.add(here)
    async with runtime:
        parked = await runtime.run(calling)
        await elsewhere(lambda: runtime.run(calling), backend)
        await elsewhere(lambda: runtime.call_tool(runtime.registry.get("here"), {}), backend)
        await elsewhere(lambda: runtime.resume(parked.run_id, calling), backend)
        await elsewhere(lambda: runtime.keyed("nightly").run(calling), backend)
        await elsewhere(lambda: opened(runtime), backend)
        async with runtime.session("desk") as session:
            await elsewhere(lambda: session.call_named("here", {}, call_id="1"), backend)
            await elsewhere(session.close, backend)
            await session.call_named("here", {}, call_id="1")

        assert len(await runtime.list()) == 2
        await runtime.answer(parked.run_id, "red")
        done = await runtime.resume(parked.run_id, calling)

    assert isinstance(parked, Parked)
    assert isinstance(done, Completed)


async def opened(runtime: Runtime) -> None:
    async with runtime.session("desk"):
        pass
