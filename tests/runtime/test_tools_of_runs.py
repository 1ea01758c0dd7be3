"""What a run and its tools may have in common, and what they may not: names, registry, loops."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import Any

import anyio
import pytest

from salvor.errors import ToolFailed, UnknownToolError
from salvor.registry.naming import Selection
from salvor.registry.registry import Registry
from salvor.runtime.caller import spec
from salvor.runtime.outcome import Completed, Failed
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.stores.memory import MemoryStore
from salvor.testing.authors import call_async
from salvor.testing.clock import FakeClock
from salvor.tools.context import Context
from salvor.tools.decorator import tool
from salvor.tools.injection import INJECTED, Depends
from tests.runtime.conftest import MakeRuntime

NAMES = {
    *("fn", "self", "tool", "name", "args", "kwargs", "run", "key", "timeout", "run_id"),
    *("call_id", "arguments", "options", "effect", "info", "config", "callbacks", "answer"),
}


def echo(**given: str) -> list[str]:
    return sorted(given.values())


SCOPE: dict[str, Any] = {"echo": echo}
exec(
    f"def own({', '.join(f'{name}: str' for name in sorted(NAMES))}) -> list[str]:\n"
    f"    'Give back what came.'\n"
    f"    return echo({', '.join(f'{name}={name}' for name in sorted(NAMES))})\n",
    SCOPE,
)
own: Any = tool(effect="read")(SCOPE["own"])
SENT = {name: name for name in NAMES}


@pytest.mark.anyio
async def test_a_parameter_may_be_called_like_anything_of_a_call(runtime: Runtime) -> None:
    @workflow
    async def flow(run: Run) -> list[list[str]]:
        return [
            await run.call(own, **SENT),
            await run.options(timeout=60).call(own, **SENT),
            *await run.gather(spec(own, **SENT)),
            await run.call_named("own", dict(SENT)),
        ]

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output == [sorted(NAMES)] * 4


@pytest.mark.anyio
async def test_a_recorded_value_whose_tool_is_gone_stops_the_run_and_names_the_tool(
    make_runtime: MakeRuntime,
) -> None:
    store = MemoryStore(clock=FakeClock())
    before, after = make_runtime(store), make_runtime(store)
    before.registry.add(own)

    @workflow
    async def flow(run: Run) -> int:
        found = await run.call_named("own", dict(SENT))
        with pytest.raises(ToolFailed):
            await run.call_named("nothing", {})
        await run.suspend("go on?", bool)
        return len(found)

    parked = await before.run(flow)
    with pytest.raises(UnknownToolError, match="there is no tool called 'own'"):
        await after.resume(parked.run_id, flow)
    after.registry.add(own)
    result = await after.resume(parked.run_id, flow, answer=True)

    assert isinstance(result, Completed)
    assert result.output == len(NAMES)


@pytest.mark.anyio
async def test_a_session_names_the_tool_that_is_gone(make_runtime: MakeRuntime) -> None:
    store = MemoryStore(clock=FakeClock())
    before, after = make_runtime(store), make_runtime(store)
    before.registry.add(own)

    async with before.session("s") as session:
        said = await session.call_named("own", dict(SENT), call_id="1")
    async with after.session("s") as session:
        with pytest.raises(UnknownToolError, match="there is no tool called 'own'"):
            await session.call_named("own", dict(SENT), call_id="1")
        after.registry.add(own)
        assert await session.call_named("own", dict(SENT), call_id="1") == said


@pytest.mark.anyio
async def test_a_tool_may_add_tools_and_only_later_calls_know_them(runtime: Runtime) -> None:
    @tool(effect="read")
    def fresh() -> str:
        """Be new."""
        return "fresh"

    @tool(effect="read")
    def adding() -> int:
        """Add a tool."""
        runtime.registry.add(fresh)
        return len(runtime.registry)

    @workflow
    async def flow(run: Run) -> list[Any]:
        with pytest.raises(ToolFailed):
            await run.call_named("fresh", {})
        return [await run.call(adding), await run.call_named("fresh", {})]

    result = await runtime.run(flow)
    again = await runtime.resume(result.run_id, flow)

    assert isinstance(result, Completed)
    assert result.output == [2, "fresh"]
    assert again == result


@pytest.mark.anyio
async def test_what_is_left_out_of_the_registry_cannot_be_called(runtime: Runtime) -> None:
    class Desk:
        @tool(effect="read")
        def look(self) -> str:
            """Look."""
            return "seen"

        @tool(effect="write")
        def burn(self) -> str:
            """Burn."""
            return "burnt"

    runtime.registry.add(Desk(), selection=Selection(include=("look",)))

    @workflow
    async def flow(run: Run) -> str:
        return str(await run.call_named("burn", {}))

    result = await runtime.run(flow)

    assert isinstance(result, Failed)
    assert "there is no tool called 'burn'" in result.error
    assert len(runtime.registry) == 1


async def opened() -> str:
    await anyio.lowlevel.checkpoint()
    return "opened"


@tool(effect="read")
async def waiting(found: str = Depends(opened), *, ctx: Context = INJECTED) -> str:
    """Wait on the loop that calls."""
    await anyio.sleep(0)
    return found


@tool(effect="read")
def looping(found: str = Depends(opened)) -> str:
    """Run a loop of its own in the thread."""
    asyncio.run(asyncio.sleep(0))
    return found


@pytest.mark.parametrize("body", [waiting, looping])
def test_a_tool_made_at_import_serves_every_loop_in_every_thread(body: Any) -> None:
    (made,) = Registry().add(body)
    outputs: list[Any] = []

    def call_on(backend: str) -> None:
        outputs.append(anyio.run(partial(call_async, made, {}), backend=backend))

    for backend in ("asyncio", "trio", "asyncio"):
        call_on(backend)
    threads = [threading.Thread(target=call_on, args=(name,)) for name in ("asyncio", "trio") * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert outputs == ["opened"] * 9
