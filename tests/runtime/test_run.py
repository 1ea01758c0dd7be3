import asyncio
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from salvor.errors import ConcurrentUseError, RunStopped, ToolFailed, WorkflowFailed
from salvor.runtime.outcome import Completed, Failed, OpenWrite, Parked
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


async def _length(runtime: Runtime, run_id: str) -> int:
    return len((await runtime.history(run_id)).envelopes)


async def test_c1_swallowing_every_exception_does_not_go_past_an_open_write(
    runtime: Runtime, world: World
) -> None:
    @workflow
    async def stubborn(run: Run) -> str:
        for _ in range(3):
            try:
                await run.call(shop.send, "c1")
            except BaseException:
                pass
        return "done"

    world.trouble = [happened(None), None, None]
    result = await runtime.run(stubborn)

    assert isinstance(result, OpenWrite)
    assert len(world.keys) == 1
    assert await _length(runtime, result.run_id) == 2


async def test_c1_a_task_group_around_a_call_does_not_go_past_an_open_write(
    runtime: Runtime, world: World
) -> None:
    @workflow
    async def grouping(run: Run) -> str:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(run.call, shop.send, "c1")
        except BaseException:
            pass
        await run.call(shop.send, "c2")
        return "done"

    world.trouble = [happened(None)]
    result = await runtime.run(grouping)

    assert isinstance(result, OpenWrite)
    assert len(world.keys) == 1


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_c1_gather_with_return_exceptions_does_not_go_past_an_open_write(
    runtime: Runtime, world: World
) -> None:
    @workflow
    async def gathering(run: Run) -> str:
        await asyncio.gather(run.call(shop.send, "c1"), return_exceptions=True)
        await asyncio.gather(run.call(shop.send, "c2"), return_exceptions=True)
        return "done"

    world.trouble = [happened(None)]
    result = await runtime.run(gathering)

    assert isinstance(result, OpenWrite)
    assert len(world.keys) == 1


async def test_c1_a_park_swallowed_by_the_workflow_is_a_park(runtime: Runtime) -> None:
    @workflow
    async def flow(run: Run) -> str:
        try:
            await run.suspend("sure?", bool)
        except BaseException:
            pass
        try:
            await run.now()
        except BaseException:
            pass
        return "went on"

    result = await runtime.run(flow)

    assert isinstance(result, Parked)
    assert await _length(runtime, result.run_id) == 2


async def test_c1_a_stopped_run_refuses_every_step(runtime: Runtime, world: World) -> None:
    refused: list[str] = []

    @workflow
    async def flow(run: Run) -> str:
        try:
            await run.call(shop.send, "c1")
        except BaseException:
            pass
        for step in (run.now, run.random, lambda: run.call(shop.look, "c1")):
            with pytest.raises(RunStopped):
                await step()
            refused.append("yes")
        with pytest.raises(RunStopped):
            await run.suspend("?", bool)
        return "x"

    world.trouble = [happened(None)]
    result = await runtime.run(flow)

    assert isinstance(result, OpenWrite)
    assert refused == ["yes"] * 3


async def test_c1_a_cancelled_call_stops_the_run_and_leaves_its_intent(
    runtime: Runtime, world: World
) -> None:
    @tool(effect="write")
    async def hang() -> str:
        """Hang."""
        world.log.append("hang")
        await anyio.sleep_forever()
        return "never"

    @workflow
    async def flow(run: Run) -> str:
        with anyio.move_on_after(0.01):
            await run.call(hang)
        await run.call(shop.look, "c1")
        return "x"

    result = await runtime.run(flow)

    assert isinstance(result, OpenWrite)
    assert "cancelled" in result.cause
    assert world.log == ["hang"]
    assert await _length(runtime, result.run_id) == 2


async def test_a7_a_cancelled_drive_records_nothing_and_can_be_resumed(
    runtime: Runtime, world: World
) -> None:
    first = True

    @tool(effect="read")
    async def wait() -> str:
        """Wait."""
        nonlocal first
        if first:
            first = False
            scope.cancel()
            await anyio.sleep_forever()
        return "seen"

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(wait)

    run_id = runtime.new_run_id()
    with anyio.CancelScope() as scope:
        await runtime.start(flow, run_id=run_id)
    assert scope.cancelled_caught
    assert await _length(runtime, run_id) == 2

    result = await runtime.resume(run_id, flow)
    assert isinstance(result, Completed)
    assert result.output == "seen"


async def test_c2_a_second_step_at_the_same_time_is_refused_and_not_recorded(
    runtime: Runtime, world: World
) -> None:
    refused = anyio.Event()

    @tool(effect="read")
    async def busy(claim_id: str) -> str:
        """Busy."""
        world.log.append(claim_id)
        await refused.wait()
        return "x"

    @workflow
    async def flow(run: Run) -> str:
        async def call(claim_id: str) -> None:
            try:
                await run.call(busy, claim_id)
            except ConcurrentUseError:
                refused.set()

        async with anyio.create_task_group() as group:
            group.start_soon(call, "c1")
            group.start_soon(call, "c2")
        return "x"

    run_id = runtime.new_run_id()
    with pytest.raises(ConcurrentUseError, match="still going on"):
        await runtime.start(flow, run_id=run_id)

    assert await _length(runtime, run_id) == 3
    assert len(world.log) == 1


async def test_c5_a_tool_failure_nobody_catches_ends_the_run(
    runtime: Runtime, world: World
) -> None:
    world.trouble = [happened(False, final=True)]
    result = await runtime.run(shop.sending)

    assert isinstance(result, Failed)
    assert (result.error, result.final) == ("send: declined", True)
    assert (await runtime.state(result.run_id)).status == "failed"
    assert await runtime.resume(result.run_id, shop.sending) == result


async def test_c5_workflow_failed_ends_the_run(runtime: Runtime) -> None:
    @workflow
    async def flow(run: Run) -> None:
        raise WorkflowFailed("no budget")

    result = await runtime.run(flow)

    assert isinstance(result, Failed)
    assert (result.error, result.final) == ("no budget", True)


async def test_c5_failures_wrapped_by_a_task_group_end_the_run(
    runtime: Runtime, world: World
) -> None:
    @workflow
    async def flow(run: Run) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(run.call, shop.send, "c1")

    world.trouble = [happened(False, final=True)]
    result = await runtime.run(flow)

    assert isinstance(result, Failed)
    assert (result.error, result.final) == ("send: declined", True)


async def test_c5_any_other_exception_is_a_bug_and_the_run_goes_on_after_the_fix(
    runtime: Runtime, world: World
) -> None:
    broken = True

    @workflow
    async def flow(run: Run) -> str:
        await run.call(shop.send, "c1")
        if broken:
            raise KeyError("oops")
        return "fixed"

    result = await runtime.run(flow)
    assert isinstance(result, Failed)
    assert not result.final
    assert "KeyError" in result.error
    assert await _length(runtime, result.run_id) == 3

    broken = False
    again = await runtime.resume(result.run_id, flow)
    assert isinstance(again, Completed)
    assert world.log == ["send c1"]


async def test_an_output_the_workflow_does_not_promise_is_a_bug(runtime: Runtime) -> None:
    @workflow
    async def flow(run: Run) -> int:
        return "three"  # type: ignore[return-value]

    result = await runtime.run(flow)

    assert isinstance(result, Failed)
    assert not result.final


async def test_a_step_left_behind_is_waited_for_before_the_run_ends(
    runtime: Runtime, world: World
) -> None:
    inside, let_go = anyio.Event(), anyio.Event()

    @tool(effect="write")
    async def linger() -> str:
        """Linger."""
        inside.set()
        await let_go.wait()
        world.log.append("lingered")
        return "done"

    results: list[Any] = []
    async with anyio.create_task_group() as outer:

        @workflow
        async def flow(run: Run) -> str:
            outer.start_soon(run.call, linger)
            await inside.wait()
            return "returned"

        async def drive() -> None:
            results.append(await runtime.run(flow))

        outer.start_soon(drive)
        await inside.wait()
        await anyio.wait_all_tasks_blocked()
        assert results == []
        let_go.set()

    assert isinstance(results[0], Completed)
    assert world.log == ["lingered"]
    assert await _length(runtime, results[0].run_id) == 4


async def test_a_run_that_has_ended_refuses_steps_from_tasks_left_behind(
    runtime: Runtime,
) -> None:
    kept: list[Run] = []

    @workflow
    async def flow(run: Run) -> str:
        kept.append(run)
        return "x"

    await runtime.run(flow)
    with pytest.raises(RunStopped):
        await kept[0].now()


async def test_the_clock_is_read_once_and_is_aware(runtime: Runtime) -> None:
    @workflow
    async def flow(run: Run) -> str:
        moment = await run.now()
        assert moment.utcoffset() is not None
        return moment.isoformat()

    result = await runtime.run(flow)
    assert isinstance(result, Completed)
    events: Any = (await runtime.history(result.run_id)).envelopes[1].event
    assert events.now.endswith("Z")


async def test_toolfailed_is_the_only_error_a_call_raises(runtime: Runtime, world: World) -> None:
    @workflow
    async def flow(run: Run) -> str:
        try:
            await run.call(shop.look, claim_id="c1")
        except Exception as error:
            return type(error).__name__
        return "none"

    world.trouble = [ValueError("x")] * 3
    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output == ToolFailed.__name__


async def test_a_failure_text_that_utf8_cannot_carry_is_escaped(runtime: Runtime) -> None:
    @workflow
    async def flow(run: Run) -> None:
        raise WorkflowFailed("half \udcaf a pair")

    result = await runtime.run(flow)

    assert isinstance(result, Failed)
    assert result.error == "half \\udcaf a pair"
