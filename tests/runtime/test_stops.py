"""What stops a drive, and what only looks as if it did."""

import asyncio
from collections.abc import Iterator

import anyio
import pytest

from salvor.errors import WorkflowFailed
from salvor.runtime.outcome import OpenWrite
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.tools.decorator import tool
from tests.support import shop
from tests.support.shop import World, fresh_world, happened

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


class Odd(BaseException):
    """No `Exception`, and nobody's cancellation."""


@pytest.mark.parametrize("raised", [SystemExit(3), Odd("x"), asyncio.CancelledError("leaked")])
@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_a2_whatever_a_tool_raises_leaves_its_write_open(
    runtime: Runtime, raised: BaseException, colour: str
) -> None:
    def leave() -> None:
        """Leave."""
        raise raised

    async def leave_async() -> None:
        """Leave."""
        raise raised

    leaving = tool(effect="write")(leave if colour == "sync" else leave_async)

    @workflow
    async def flow(run: Run) -> None:
        await run.call(leaving)

    result = await runtime.run(flow)

    assert isinstance(result, OpenWrite)
    assert type(raised).__name__ in result.cause


@pytest.mark.parametrize("ending", ["fails", "returns"])
async def test_a7_a_cancelled_drive_records_no_end(runtime: Runtime, ending: str) -> None:
    @workflow
    async def flow(run: Run) -> str:
        await run.now()
        scope.cancel()
        try:
            await anyio.sleep_forever()
        except BaseException:
            if ending == "fails":
                raise WorkflowFailed("cancelled") from None
        return "default"

    run_id = runtime.new_run_id()
    with anyio.CancelScope() as scope:
        await runtime.start(flow, run_id=run_id)

    assert scope.cancelled_caught
    assert (await runtime.state(run_id)).status == "running"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a7_a_cancelled_task_records_no_end(runtime: Runtime) -> None:
    reached = asyncio.Event()

    @workflow
    async def flow(run: Run) -> str:
        reached.set()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass
        return "default"

    run_id = runtime.new_run_id()
    task = asyncio.create_task(runtime.start(flow, run_id=run_id))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert (await runtime.state(run_id)).status == "running"


async def test_c1_a_stopped_run_refuses_a_call_that_does_not_even_bind(
    runtime: Runtime, world: World
) -> None:
    seen: list[str] = []

    @workflow
    async def flow(run: Run) -> str:
        try:
            await run.call(shop.send, "c1")
        except BaseException:
            pass
        try:
            await run.call(shop.send, "c1", "c2", "c3")  # type: ignore[call-overload]
        except BaseException as error:
            seen.append(type(error).__name__)
        return "x"

    world.trouble = [happened(None)]
    await runtime.run(flow)

    assert seen == ["RunStopped"]
