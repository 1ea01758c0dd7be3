"""A body that nobody waits for any more may still act: no second one of its call begins (A6)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from salvor.runtime.caller import spec
from salvor.runtime.outcome import Completed, Parked
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool
from tests.runtime.conftest import MakeRuntime

pytestmark = pytest.mark.anyio


class Gate:
    """Where bodies wait, and how many were inside."""

    def __init__(self) -> None:
        self.entered = 0
        self.inside = threading.Event()
        self.opened = threading.Event()

    def wait(self) -> str:
        assert self.entered == 0 or self.opened.is_set(), "a second copy has begun"
        self.entered += 1
        self.inside.set()
        assert self.opened.wait(60)
        return "through"


GATE = Gate()


@tool(effect="idempotent", retry=Retry(attempts=1))
def push(what: str) -> str:
    """Push."""
    return GATE.wait()


@tool(effect="read", retry=Retry(attempts=1))
def find(what: str) -> str:
    """Find."""
    return GATE.wait()


@workflow
async def pushing(run: Run) -> str:
    return await run.call(push, what="a")


@workflow
async def finding(run: Run) -> str:
    return await run.call(find, what="a")


@workflow
async def gathering(run: Run) -> str:
    return (await run.gather(spec(find, what="a")))[0]


@pytest.fixture(autouse=True)
def gate() -> Iterator[Gate]:
    global GATE
    GATE = Gate()
    yield GATE
    GATE.opened.set()


@pytest.fixture
def runtime(make_runtime: MakeRuntime) -> Runtime:
    return make_runtime(claim_wait=0.0)


@pytest.mark.parametrize("flow", [pushing, finding, gathering])
async def test_a_call_that_was_cancelled_waits_for_its_body_before_it_is_made_again(
    runtime: Runtime, gate: Gate, flow: Any
) -> None:
    run_id = runtime.new_run_id()
    async with runtime:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: runtime.start(flow, {}, run_id=run_id))
            await anyio.to_thread.run_sync(gate.inside.wait)
            group.cancel_scope.cancel()
        parked = await runtime.resume(run_id, flow)
        assert isinstance(parked, Parked)
        assert "nobody waits for" in parked.reason
        assert gate.entered == 1
        gate.opened.set()
        while runtime._host.overtime._bodies:
            await anyio.sleep(0.001)
        done = await runtime.resume(run_id, flow)

    assert isinstance(done, Completed)
    assert (done.output, gate.entered) == ("through", 2)


async def test_a_body_that_ends_in_time_lets_the_call_go_on(
    make_runtime: MakeRuntime, gate: Gate
) -> None:
    runtime = make_runtime(claim_wait=60.0)
    run_id = runtime.new_run_id()
    async with runtime:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: runtime.start(pushing, {}, run_id=run_id))
            await anyio.to_thread.run_sync(gate.inside.wait)
            group.cancel_scope.cancel()
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: runtime.resume(run_id, pushing))
            gate.opened.set()

        assert (await runtime.state(run_id)).output == "through"
    assert gate.entered == 2
