from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from salvor.errors import ToolFailed
from salvor.events.vocabulary import ToolCallCompleted, ToolCallRequested
from salvor.runtime.outcome import Completed, Failed
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool
from tests.runtime.conftest import MakeRuntime
from tests.support.shop import World, fresh_world, look, notify, pay, send

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


@tool(effect="idempotent")
async def stall() -> str:
    """Never end."""
    await anyio.sleep_forever()
    return "done"


@workflow
async def sending(run: Run, key: str | int, claim_id: str = "c1") -> str:
    return await run.options(key=key).call(send, claim_id)


async def test_e1_a_key_of_one_call_is_a_declared_key(runtime: Runtime, world: World) -> None:
    first = await runtime.run(sending, "order-7")
    second = await runtime.run(sending, "order-7")

    assert isinstance(first, Completed)
    assert isinstance(second, Completed)
    assert world.log == ["send c1"]
    events = [e.event for e in (await runtime.history(second.run_id)).envelopes]
    intent, completion = events[1:3]
    assert isinstance(intent, ToolCallRequested)
    assert isinstance(completion, ToolCallCompleted)
    assert intent.idempotency_key == '{"key":"order-7"}'
    assert completion.deduplicated_from is not None


@pytest.mark.parametrize(("one", "other"), [("5", 5), ("a", "b"), ("a", "A")])
async def test_e1_keys_that_differ_are_two_calls(
    runtime: Runtime, world: World, one: str | int, other: str | int
) -> None:
    await runtime.run(sending, one)
    await runtime.run(sending, other)

    assert world.log == ["send c1", "send c1"]


async def test_e4_one_key_with_other_arguments_is_refused(runtime: Runtime, world: World) -> None:
    await runtime.run(sending, "order-7")
    refused = await runtime.run(sending, "order-7", "c2")

    assert isinstance(refused, Failed)
    assert "other arguments" in refused.error
    assert world.log == ["send c1"]


async def test_the_key_of_the_record_counts_when_a_run_is_resumed(
    runtime: Runtime, world: World
) -> None:
    keys = ["one"]

    @workflow
    async def flow(run: Run) -> bool:
        await run.options(key=keys[0]).call(send, "c1")
        return await run.suspend("sure?", bool)

    parked = await runtime.run(flow)
    keys[0] = "another"
    done = await runtime.resume(parked.run_id, flow, answer=True)

    assert isinstance(done, Completed)
    assert world.log == ["send c1"]


@pytest.mark.parametrize(
    ("fn", "arguments", "says"),
    [
        (look, {"claim_id": "c1"}, "no key for a read"),
        (pay, {"claim_id": "c1", "cents": 1}, "no key beside the one the tool declares"),
    ],
)
async def test_e1_a_key_that_does_not_go_with_the_tool_is_refused(
    runtime: Runtime, world: World, fn: Any, arguments: dict[str, Any], says: str
) -> None:
    @workflow
    async def flow(run: Run) -> str:
        try:
            await run.options(key="k").call(fn, **arguments)
        except ToolFailed as failed:
            return failed.message
        return ""

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert says in result.output
    assert world.log == []


async def test_a6_a_time_limit_of_one_call_bounds_it(runtime: Runtime) -> None:
    @workflow
    async def flow(run: Run) -> str:
        try:
            return await run.options(timeout=0.01).call(stall)
        except ToolFailed as failed:
            return failed.message

    result = await runtime.run(flow)

    assert isinstance(result, Completed)
    assert result.output == "stall: timed out after 0.01 s"


async def test_options_hold_for_calls_by_name_too(runtime: Runtime, world: World) -> None:
    runtime.registry.add(send)

    @workflow
    async def flow(run: Run) -> str:
        told: str = await run.options(key=7).call_named("send", {"claim_id": "c1"})
        return told

    await runtime.run(flow)
    await runtime.run(flow)

    assert world.log == ["send c1"]


async def test_options_of_one_call_are_not_those_of_the_next(
    runtime: Runtime, world: World
) -> None:
    @workflow
    async def flow(run: Run) -> str:
        await run.options(key="k").call(notify, "c1")
        return await run.call(notify, "c1")

    await runtime.run(flow)
    await runtime.run(flow)

    assert world.log == ["notify c1"] * 3


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0},
        {"timeout": -1.0},
        {"timeout": True},
        {"timeout": "5"},
        {"key": ""},
        {"key": True},
        {"key": 1.5},
        {"key": ["a"]},
    ],
)
async def test_an_option_that_cannot_be_meant_is_a_fault_of_the_workflow(
    runtime: Runtime, options: dict[str, Any]
) -> None:
    @workflow
    async def flow(run: Run) -> str:
        return await run.options(**options).call(send, "c1")

    result = await runtime.run(flow)

    assert isinstance(result, Failed)
    assert not result.final
    assert next(iter(options)) in result.error


async def test_a6_the_timeout_of_a_call_also_holds_when_it_is_made_again(
    make_runtime: MakeRuntime,
) -> None:
    executed: list[str] = []

    @tool(effect="idempotent", retry=Retry(attempts=1))
    async def hang() -> str:
        """Hang, and die the first time."""
        executed.append("hang")
        if len(executed) == 1:
            raise KeyboardInterrupt
        await anyio.sleep_forever()
        return "never"

    @workflow
    async def flow(run: Run) -> str:
        try:
            return await run.options(timeout=0.02).call(hang)
        except ToolFailed as failed:
            return failed.message

    runtime = make_runtime()
    run_id = runtime.new_run_id()
    with pytest.raises(KeyboardInterrupt):
        await runtime.start(flow, run_id=run_id)
    with anyio.fail_after(30):
        result = await runtime.resume(run_id, flow)

    assert isinstance(result, Completed)
    assert result.output == "hang: timed out after 0.02 s"
    assert executed == ["hang", "hang"]
