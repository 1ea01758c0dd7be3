"""The fixtures `runtime`, `fake_clock` and `scripted` of the pytest plugin."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from salvor.errors import ToolFailure
from salvor.registry.registry import Registry
from salvor.run_errors import NotYet
from salvor.runtime.outcome import Completed, Failed, OpenWrite, Parked
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.testing.clock import FakeClock, SmallIds
from salvor.testing.scripted import Scripted
from salvor.tools.context import Context, Depends
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool
from salvor.tools.parking import sleep_until, suspend

pytestmark = pytest.mark.anyio


def no_bank() -> str:
    raise AssertionError("opened")


@tool(effect="write", idempotency_key="claim", retry=Retry(attempts=2, backoff=30.0))
async def pay(ctx: Context, claim: str, cents: int = 1, *, bank: str = Depends(no_bank)) -> str:
    """Pay."""
    raise AssertionError("called")


@workflow
async def paying(run: Run, claim: str) -> str:
    return await run.call(pay, claim, cents=5)


@workflow
async def asking(run: Run, claim: str) -> Any:
    return await run.call_named("ask", {"claim": claim})


@workflow
async def napping(run: Run) -> str:
    before = await run.now()
    await run.sleep_until(before + timedelta(hours=1))
    return str(await run.now())


async def test_a_scripted_tool_stands_in_for_the_function_a_workflow_calls(
    runtime: Runtime, scripted: Any
) -> None:
    double = scripted(pay, [ToolFailure("busy", happened=False), "receipt 1"])

    done = await runtime.run(paying, "c-1")

    assert isinstance(done, Completed)
    assert done.output == "receipt 1"
    assert double.calls == [{"claim": "c-1", "cents": 5}] * 2


async def test_it_has_effect_and_key_of_what_it_stands_for(runtime: Runtime, scripted: Any) -> None:
    double = scripted(pay, [RuntimeError("gone")])
    stopped = await runtime.run(paying, "c-1")

    assert isinstance(stopped, OpenWrite)
    assert stopped.idempotency_key == '{"claim":"c-1"}'
    assert len(double.calls) == 1


async def test_a_call_too_many_fails_and_says_so(runtime: Runtime, scripted: Any) -> None:
    scripted(pay, [])
    failed = await runtime.run(paying, "c-1")

    assert isinstance(failed, Failed)
    assert "pay is called for the 1. time, and has 0 results" in failed.error


async def test_a_made_up_tool_has_the_declared_effect_and_parameters(
    runtime: Runtime, scripted: Any
) -> None:
    double = scripted("ask", [{"n": 1}], effect="read", parameters={"claim": str})
    done = await runtime.run(asking, "c-1")

    assert isinstance(done, Completed)
    assert done.output == {"n": 1}
    assert double.tool.effect == "read"
    assert double.tool.input_schema["required"] == ["claim"]
    assert double.calls == [{"claim": "c-1"}]


async def test_a_made_up_tool_may_have_a_key(scripted: Any) -> None:
    double = scripted("ask", [], effect="idempotent", parameters={"claim": str}, key="claim")

    assert double.tool.meta.idempotency_key == "claim"


async def test_a_result_may_be_a_wish_to_park(
    runtime: Runtime, scripted: Any, fake_clock: FakeClock
) -> None:
    until = fake_clock.now() + timedelta(minutes=1)
    scripted("ask", [suspend("Really?", bool), sleep_until(until)], parameters={"claim": str})

    parked = await runtime.run(asking, "c-1")
    asleep = await runtime.run(asking, "c-2")

    assert isinstance(parked, Parked)
    assert parked.reason == "Really?"
    assert isinstance(asleep, Parked)
    assert asleep.wake_at == until


async def test_time_passes_when_the_fake_clock_is_moved(
    runtime: Runtime, fake_clock: FakeClock
) -> None:
    asleep = await runtime.run(napping)
    with pytest.raises(NotYet):
        await runtime.wake(asleep.run_id, napping)
    fake_clock.move(3601)
    done = await runtime.wake(asleep.run_id, napping)

    assert isinstance(done, Completed)
    assert done.output == str(datetime(2026, 7, 9, 13, 0, 1, tzinfo=UTC))


async def test_a_scripted_tool_is_called_by_name_too(salvor_registry: Registry) -> None:
    double = Scripted(pay, ["receipt"])
    salvor_registry.merge([double.tool])

    assert salvor_registry.for_function(pay).fn is double
    assert double.__name__ == "pay"
    assert double(None, "c-1") == "receipt"
    with pytest.raises(ToolFailure):
        double(None, "c-1")


async def test_random_numbers_differ_and_leave_no_pause_between_attempts() -> None:
    ids = SmallIds()
    drawn = [ids.random() for _ in range(100)]

    assert len(set(drawn)) == 100
    assert max(drawn) < 2**16  # of 64 bits: a pause of half a minute becomes picoseconds
