"""What may be said is what can be kept, copied and read back: one limit for all of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from salvor.errors import JsonRefused
from salvor.run_errors import AnswerRefused, OutputMisfit
from salvor.runtime.outcome import Completed, OpenWrite
from salvor.runtime.resolve import ResolvedOutput
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.testing.clock import FakeClock
from salvor.tools.decorator import tool
from salvor.tools.parking import suspend
from salvor.values import MAX_ARGUMENT_BYTES, MAX_OUTPUT_BYTES
from tests.runtime.conftest import MakeRuntime, MakeStore

pytestmark = pytest.mark.anyio

LARGEST = "x" * (MAX_OUTPUT_BYTES - 2)
TOO_LARGE = LARGEST + "x"


@tool(effect="write", idempotency_key="key")
async def asked(key: str) -> str:
    """Ask."""
    return suspend("what?", str)


@tool(effect="write", idempotency_key="key")
async def lost(key: str) -> str:
    """Leave it open what happened."""
    raise RuntimeError("gone")


@workflow
async def asking(run: Run) -> int:
    return len(await run.call(asked, key="a"))


@workflow
async def wondering(run: Run) -> int:
    return len(await run.suspend("what?", str))


@workflow
async def losing(run: Run) -> int:
    return len(await run.call(lost, key="a"))


@workflow
async def waiting(run: Run) -> int:
    return len(await run.signal("go", str))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def runtime(
    make_runtime: MakeRuntime, make_store: MakeStore, clock: FakeClock
) -> AsyncIterator[Runtime]:
    async with make_runtime(make_store(clock), clock=clock, claim_wait=0.0) as runtime:
        yield runtime


async def test_d3_the_largest_signal_is_taken_and_a_larger_one_is_not_sent(
    runtime: Runtime,
) -> None:
    parked = await runtime.run(waiting)
    with pytest.raises(JsonRefused, match="at most 8,388,608 bytes of JSON, got 8,388,609"):
        await runtime.signal(parked.run_id, "go", TOO_LARGE)
    with pytest.raises(JsonRefused, match="at most 8,388,608 bytes"):
        await runtime.signal(parked.run_id, "other", TOO_LARGE)
    await runtime.signal(parked.run_id, "go", LARGEST)
    done = await runtime.wake(parked.run_id, waiting)

    assert isinstance(done, Completed)
    assert done.output == len(LARGEST)


@pytest.mark.parametrize("flow", [asking, wondering])
async def test_d1_an_answer_that_is_too_large_is_refused(runtime: Runtime, flow: Any) -> None:
    parked: Any = await runtime.run(flow)

    with pytest.raises(AnswerRefused, match="at most 8,388,608 bytes"):
        await runtime.resume(parked.run_id, flow, answer=TOO_LARGE)
    assert (await runtime.state(parked.run_id)).status == "suspended"


async def test_e4_the_largest_answer_is_copied_also_once_its_run_is_gone(
    runtime: Runtime, clock: FakeClock
) -> None:
    parked = await runtime.run(asking)
    await runtime.resume(parked.run_id, asking, answer=LARGEST)
    clock.move(10)
    later = clock.now() + timedelta(seconds=1)
    assert await runtime.upkeep.forget(ended_before=later) == [parked.run_id]
    copied = await runtime.run(asking)

    assert isinstance(copied, Completed)
    assert copied.output == len(LARGEST)


async def test_f1_an_output_that_is_too_large_resolves_nothing(runtime: Runtime) -> None:
    opened = await runtime.run(losing)
    assert isinstance(opened, OpenWrite)

    with pytest.raises(OutputMisfit, match="at most 8,388,608 bytes"):
        await runtime.resolve(opened.run_id, ResolvedOutput(TOO_LARGE))
    assert (await runtime.state(opened.run_id)).status == "needs-reconciliation"


async def test_the_largest_answer_is_exported_and_taken_in_elsewhere(
    runtime: Runtime, make_runtime: MakeRuntime, clock: FakeClock
) -> None:
    parked = await runtime.run(asking)
    quoted = '"' * (MAX_OUTPUT_BYTES // 2 - 2)
    done = await runtime.resume(parked.run_id, asking, answer=quoted)
    async with make_runtime(clock=clock) as other:
        await other.upkeep.adopt(await runtime.upkeep.export(parked.run_id))
        assert await other.resume(parked.run_id, asking) == done


async def test_a_word_that_is_too_long_is_refused(runtime: Runtime) -> None:
    parked = await runtime.run(waiting)

    with pytest.raises(JsonRefused, match="longer than"):
        await runtime.cancel(parked.run_id, reason="x" * (MAX_ARGUMENT_BYTES + 1))
