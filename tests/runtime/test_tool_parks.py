"""Tools that park their run: what they return, what is recorded, what the caller gets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from pydantic import BaseModel

from salvor.errors import ToolFailed
from salvor.events.vocabulary import (
    Resumed,
    SleepCompleted,
    SleepStarted,
    Suspended,
    ToolCallCompleted,
)
from salvor.run_errors import AnswerRefused
from salvor.runtime.outcome import Abandoned, Completed, Parked
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.testing.clock import FakeClock
from salvor.tools.around import Call, Failure, Guard, Next, Outcome, Sleep, Suspend
from salvor.tools.decorator import tool
from salvor.tools.parking import Slept, sleep_until, suspend
from tests.runtime.conftest import MakeRuntime
from tests.support.shop import WORLD, World, fresh_world

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 7, 9, 12, 0, tzinfo=UTC)
SOON = NOON + timedelta(minutes=5)


class Choice(BaseModel):
    seat: str


@tool(effect="write", idempotency_key="flight")
async def book(flight: str) -> str | Choice:
    """Book a seat; somebody has to choose it."""
    WORLD.log.append(f"book {flight}")
    return suspend(f"Which seat on {flight}?", Choice)


@tool(effect="idempotent", idempotency_key="flight")
def settle_later(flight: str) -> Slept:
    """Wait for the settlement."""
    WORLD.log.append(f"settle {flight}")
    return sleep_until(SOON)


@tool(effect="read")
async def await_bank() -> Choice:
    """Wait for the bank."""
    WORLD.log.append("bank")
    return suspend("the bank", Choice, signal=True)


@tool(effect="write")
async def confused(what: str) -> str:
    """Return what cannot be read."""
    WORLD.log.append(what)
    wrong: dict[str, Any] = {
        "reason": lambda: suspend(5, str),  # type: ignore[arg-type]
        "type": lambda: suspend("?", cast("type[Any]", Iterator)),
        "signal": lambda: suspend("?", str, signal="  "),
        "naive": lambda: sleep_until(datetime(2026, 1, 1)),  # noqa: DTZ001
        "number": lambda: sleep_until(5),  # type: ignore[arg-type]
    }
    return wrong[what]()  # type: ignore[no-any-return]


@workflow
async def booking(run: Run, flight: str = "f1") -> str:
    chosen = await run.call(book, flight=flight)
    return chosen.seat if isinstance(chosen, Choice) else chosen


@workflow
async def settling(run: Run, flight: str = "f1") -> datetime:
    return (await run.call(settle_later, flight=flight)).slept_until


@workflow
async def banking(run: Run) -> str:
    return (await run.call(await_bank)).seat


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOON)


@pytest.fixture
def runtime(make_runtime: MakeRuntime, clock: FakeClock) -> Runtime:
    return make_runtime(clock=clock, claim_wait=0.0)


async def events(runtime: Runtime, run_id: str) -> list[Any]:
    return [envelope.event for envelope in (await runtime.history(run_id)).envelopes]


async def test_a_tool_may_ask_and_the_answer_is_the_value_of_its_call(
    runtime: Runtime, world: World
) -> None:
    parked = await runtime.run(booking)

    assert isinstance(parked, Parked)
    assert (parked.reason, parked.park_seq) == ("Which seat on f1?", 3)
    assert parked.call is not None and parked.call.seq == 1
    with pytest.raises(AnswerRefused):
        await runtime.answer(parked.run_id, {"seat": 5})
    done = await runtime.resume(parked.run_id, booking, answer={"seat": "2A"})

    assert isinstance(done, Completed)
    assert done.output == "2A"
    assert world.log == ["book f1"]
    assert await runtime.resume(parked.run_id, booking) == done
    _, _, completion, park, answer, _ = await events(runtime, parked.run_id)
    assert (completion.outcome, completion.output["__salvor_suspend"]["reason"]) == (
        "suspend",
        "Which seat on f1?",
    )
    assert isinstance(park, Suspended)
    assert isinstance(answer, Resumed)


async def test_e3_the_key_stays_held_until_the_answer_commits_it(runtime: Runtime) -> None:
    first = await runtime.run(booking)
    second = await runtime.run(booking)
    [held] = await runtime.claims.list()

    assert isinstance(second, Parked)
    assert second.waiting_for is not None
    assert second.waiting_for.holder_run == first.run_id
    assert held.state == "held"
    await runtime.resume(first.run_id, booking, answer={"seat": "2A"})
    [committed] = await runtime.claims.list()
    done = await runtime.resume(second.run_id, booking)

    assert (committed.state, committed.completion_seq) == ("committed", 4)
    assert isinstance(done, Completed)
    assert done.output == "2A"
    assert WORLD.log == ["book f1"]
    copied = (await events(runtime, second.run_id))[2]
    assert isinstance(copied, ToolCallCompleted)
    assert copied.deduplicated_from is not None


async def test_a_tool_may_sleep_and_gives_the_instant(
    runtime: Runtime, clock: FakeClock, world: World
) -> None:
    parked = await runtime.run(settling)
    assert isinstance(parked, Parked)
    assert parked.wake_at == SOON
    clock.move(300)
    done = await runtime.wake(parked.run_id, settling)
    again = await runtime.run(settling)

    assert isinstance(done, Completed)
    assert done.output == SOON
    assert isinstance(again, Completed)
    assert again.output == SOON
    assert world.log == ["settle f1"]
    found = await events(runtime, parked.run_id)
    assert isinstance(found[3], SleepStarted)
    assert isinstance(found[4], SleepCompleted)


async def test_a_tool_may_wait_for_a_signal_of_its_name(runtime: Runtime, world: World) -> None:
    parked = await runtime.run(banking)
    assert isinstance(parked, Parked)
    assert parked.signal == "await_bank"
    await runtime.signal(parked.run_id, "await_bank", {"seat": "3C"})
    done = await runtime.wake(parked.run_id, banking)

    assert isinstance(done, Completed)
    assert done.output == "3C"
    assert world.log == ["bank"]


@pytest.mark.parametrize("what", ["reason", "type", "signal", "naive", "number"])
async def test_a2_a_park_request_that_cannot_be_read_happened(runtime: Runtime, what: str) -> None:
    @workflow
    async def flow(run: Run) -> str:
        try:
            return await run.call(confused, what)
        except ToolFailed as failed:
            return f"{failed.extent} {failed.attempts} {failed.message}"

    done = await runtime.run(flow)

    assert isinstance(done, Completed)
    assert done.output.startswith("yes 1 confused: its park request cannot be read")
    assert WORLD.log == [what]


async def test_d5_a_cancel_at_the_park_of_a_tool_fails_its_key(runtime: Runtime) -> None:
    parked = await runtime.run(booking)
    await runtime.cancel(parked.run_id, reason="closed", by="desk")
    [claim] = await runtime.claims.list()
    ended = await runtime.resume(parked.run_id, booking)

    assert (claim.state, claim.extent) == ("failed", "unknown")
    assert ended == Abandoned(run_id=parked.run_id, reason="closed", by="desk")


async def test_middleware_sees_a_park_and_cannot_make_it_another(
    clock: FakeClock, world: World
) -> None:
    from salvor.registry.registry import Registry
    from salvor.stores.memory import MemoryStore
    from salvor.testing.clock import FakeIds

    seen: list[Outcome] = []

    async def look(call: Call, next: Next) -> Outcome:
        outcome = await next()
        seen.append(outcome)
        return Suspend(reason="another", schema={}) if call.tool == "book" else outcome

    async def deny(call: Call, next: Next) -> Outcome:
        outcome = await next()
        return Failure(message="no") if call.tool == "settle_later" else outcome

    async with Runtime(
        store=MemoryStore(clock=clock),
        registry=Registry(),
        clock=clock,
        ids=FakeIds(),
        guards=(Guard("look", look), Guard("deny", deny)),
    ) as runtime:
        parked = await runtime.run(booking)
        failed = await runtime.run(settling)

    assert isinstance(parked, Parked)
    assert parked.reason == "Which seat on f1?"
    assert isinstance(seen[0], Suspend)
    assert isinstance(seen[1], Failure)
    assert not isinstance(failed, Parked)
    assert Sleep("x").wake_at == "x"
