"""What ends a tool's park is an output of the tool, or its call fails (DURABILITY D1, E3)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Annotated

import pytest
from pydantic import AfterValidator, BaseModel

from salvor.errors import ToolFailed
from salvor.events.records import Signal
from salvor.registry.registry import Registry
from salvor.run_errors import AnswerRefused
from salvor.runtime.outcome import Completed, Failed, Parked
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.store_errors import Divergence
from salvor.testing.clock import FakeClock
from salvor.tools.decorator import tool
from salvor.tools.parking import sleep_until, suspend
from salvor.values import JsonValue, canonical_json
from tests.runtime.conftest import MakeRuntime, MakeStore

pytestmark = pytest.mark.anyio

CLOCK = FakeClock()


def _even(number: int) -> int:
    if number % 2:
        raise ValueError("has to be even")
    return number


class Seat(BaseModel):
    number: Annotated[int, AfterValidator(_even)]


@tool(effect="write", idempotency_key="flight")
async def seat(flight: str) -> Seat:
    """Ask for an even seat."""
    return suspend("which seat?", Seat)


@tool(effect="write", idempotency_key="flight")
async def misasked(flight: str) -> str:
    """Ask for what it does not give."""
    return suspend("how many?", int)  # type: ignore[return-value]


@tool(effect="write", idempotency_key="flight")
async def banked(flight: str) -> Seat:
    """Wait for the bank to name the seat."""
    return suspend("the bank", Seat, signal="bank")


@tool(effect="write", idempotency_key="flight")
async def misslept(flight: str) -> str:
    """Sleep, and give what is no text then."""
    return sleep_until(CLOCK.now() + timedelta(seconds=60))  # type: ignore[return-value]


@workflow
async def seating(run: Run) -> int:
    return (await run.call(seat, flight="f1")).number


@workflow
async def misasking(run: Run) -> str:
    return await run.call(misasked, flight="f1")


@workflow
async def banking(run: Run) -> str:
    try:
        return f"seat {(await run.call(banked, flight='f1')).number}"
    except ToolFailed as failed:
        return f"{failed.kind} {failed.extent} {failed.attempts}"


@workflow
async def missleeping(run: Run) -> str:
    return await run.call(misslept, flight="f1")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def runtime(
    make_runtime: MakeRuntime, make_store: MakeStore, clock: FakeClock
) -> AsyncIterator[Runtime]:
    async with make_runtime(make_store(clock), clock=clock, claim_wait=0.0) as runtime:
        yield runtime


async def claim_of(runtime: Runtime) -> tuple[str, str | None]:
    [claim] = await runtime.claims.list()
    return claim.state, claim.extent


async def test_d1_an_answer_that_the_tool_would_refuse_leaves_the_run_parked(
    runtime: Runtime,
) -> None:
    parked = await runtime.run(seating)
    with pytest.raises(AnswerRefused, match="has to be even"):
        await runtime.answer(parked.run_id, {"number": 3})
    with pytest.raises(AnswerRefused, match="has to be even"):
        await runtime.resume(parked.run_id, seating, answer={"number": 3})

    assert await claim_of(runtime) == ("held", None)
    done = await runtime.resume(parked.run_id, seating, answer={"number": 4})
    assert isinstance(done, Completed)
    assert done.output == 4
    assert await claim_of(runtime) == ("committed", None)


async def test_d1_an_answer_of_a_type_that_the_tool_does_not_give_is_refused(
    runtime: Runtime,
) -> None:
    parked = await runtime.run(misasking)

    with pytest.raises(AnswerRefused, match="expected a string, got 5"):
        await runtime.answer(parked.run_id, 5)
    assert isinstance(await runtime.resume(parked.run_id, misasking), Parked)


async def test_d3_a_signal_that_the_tool_would_refuse_is_refused_while_it_is_waited_for(
    runtime: Runtime,
) -> None:
    parked = await runtime.run(banking)

    with pytest.raises(AnswerRefused, match="has to be even"):
        await runtime.signal(parked.run_id, "bank", {"number": 3})
    assert await runtime.inbox(parked.run_id) == []


@pytest.mark.parametrize("payload", [{"number": 3}, {"nope": 1}, None])
async def test_e3_an_early_signal_that_is_no_output_fails_the_call_and_its_key(
    runtime: Runtime, clock: FakeClock, payload: JsonValue
) -> None:
    run_id = await _signalled_early(runtime, payload)
    done = await runtime.resume(run_id, banking)
    again = await runtime.resume(run_id, banking)

    assert isinstance(done, Completed)
    assert done.output == "output_serialization yes 1"
    assert again == done
    assert await claim_of(runtime) == ("failed", "yes")
    assert (await runtime.upkeep.verify()).faults == ()


async def test_e3_a_sleep_that_gives_what_the_tool_does_not_fails_the_call_and_its_key(
    runtime: Runtime, clock: FakeClock
) -> None:
    CLOCK.move((clock.now() - CLOCK.now()).total_seconds())
    parked = await runtime.run(missleeping)
    assert isinstance(parked, Parked)
    clock.move(61)
    failed = await runtime.wake(parked.run_id, missleeping)

    assert isinstance(failed, Failed)
    assert failed.final
    assert "its park ended with what it does not give" in failed.error
    assert await claim_of(runtime) == ("failed", "yes")


async def test_c1_an_answer_that_only_a_changed_tool_refuses_is_a_divergence(
    runtime: Runtime, clock: FakeClock
) -> None:
    parked = await runtime.run(seating)
    await runtime.answer(parked.run_id, {"number": 4})

    other = Runtime(
        store=runtime.store, registry=Registry(), clock=clock, ids=runtime._host.ids, lease=30.0
    )

    @tool(effect="write", name="seat", idempotency_key="flight")
    async def changed(flight: str) -> str:
        """Give a text by now."""
        return flight

    @workflow(name="seating")
    async def renewed(run: Run) -> str:
        return await run.call(changed, flight="f1")

    with pytest.raises(Divergence, match="an output of another type"):
        await other.resume(parked.run_id, renewed)
    other._host.keeper.stop()
    assert isinstance(await runtime.resume(parked.run_id, seating), Completed)


async def _signalled_early(runtime: Runtime, payload: JsonValue) -> str:
    """A run whose inbox had the signal before anybody could know what it has to fit."""
    run_id = runtime.new_run_id()
    parked = await runtime.start(banking, run_id=run_id)
    assert isinstance(parked, Parked)
    signal = Signal(
        run_id=run_id,
        name="bank",
        payload=canonical_json(payload),
        sent_at=runtime._host.clock.now(),
    )
    await runtime.store.signal(signal)
    return run_id
