"""Sessions that wait: what ends the park of one, and who may look after it (DURABILITY C7, D)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from salvor.errors import ToolFailed
from salvor.events.store import Store
from salvor.registry.registry import Registry
from salvor.run_errors import DeadlinePassed, LeaseHeld, NotYet, SessionStopped, WrongState
from salvor.runtime.outcome import Abandoned, Completed, OpenWrite, Parked
from salvor.runtime.runtime import Runtime
from salvor.testing.clock import FakeClock, FakeIds
from salvor.tools.approval import ApprovalRule
from salvor.tools.decorator import tool
from salvor.tools.parking import sleep_until, suspend
from tests.runtime.conftest import MakeStore
from tests.support.shop import WORLD, World, fresh_world, happened, look, pay, send, sending

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 7, 9, 12, tzinfo=UTC)


@tool(effect="idempotent")
def later() -> Any:
    """Go on in an hour."""
    WORLD.log.append("later")
    return sleep_until(NOON + timedelta(hours=1))


@tool(effect="write", idempotency_key="what")
async def bank(what: str) -> str:
    """Wait for the bank."""
    WORLD.log.append(f"bank {what}")
    return suspend("bank", str, signal=True)


@tool(effect="write")
async def choose(what: str) -> str:
    """Ask somebody."""
    WORLD.log.append(f"choose {what}")
    return suspend(f"which {what}?", str)


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOON)


@pytest.fixture
async def runtime(make_store: MakeStore, clock: FakeClock) -> AsyncIterator[Runtime]:
    registry = Registry()
    for one in (look, later, bank, choose, pay, send):
        registry.add(one)
    async with Runtime(
        store=make_store(clock),
        registry=registry,
        clock=clock,
        ids=FakeIds(),
        claim_wait=0.0,
        approvals=(ApprovalRule(tools=("send",), deadline=60.0),),
    ) as runtime:
        yield runtime


async def use(runtime: Runtime, name: str, arguments: Any, call_id: str = "a") -> Any:
    """One call of a loop that comes and goes: its value, or where the session rests."""
    async with runtime.session("order-7") as session:
        try:
            return await session.call_named(name, arguments, call_id=call_id)
        except SessionStopped as stopped:
            return stopped.result


Ends = Callable[[Runtime, str], Awaitable[Any]]


async def reopened(runtime: Runtime, run_id: str) -> None:
    """Nobody but the loop comes."""


async def woken(runtime: Runtime, run_id: str) -> None:
    assert isinstance(await runtime.wake(run_id), Parked)


async def resumed(runtime: Runtime, run_id: str) -> None:
    assert isinstance(await runtime.resume(run_id), Parked)


async def swept(runtime: Runtime, run_id: str) -> None:
    assert isinstance((await runtime.wake_due())[run_id], Parked)


ENDS = pytest.mark.parametrize("end", [reopened, woken, resumed, swept])


@ENDS
async def test_c7_a_tool_that_slept_gives_its_value_once_its_time_has_come(
    runtime: Runtime, clock: FakeClock, world: World, end: Ends
) -> None:
    parked = await use(runtime, "later", {})
    assert isinstance(parked, Parked)
    assert await use(runtime, "later", {}) == parked
    with pytest.raises(NotYet):
        await runtime.wake(parked.run_id)
    assert await runtime.wake_due() == {}
    clock.move(3600)
    await end(runtime, parked.run_id)

    assert await use(runtime, "later", {}) == {"slept_until": "2026-07-09T13:00:00Z"}
    assert await use(runtime, "look", {"claim_id": "c1"}, "b") == "seen c1"
    assert world.log == ["later", "look c1"]


@ENDS
async def test_d3_a_signal_ends_the_park_of_a_session(
    runtime: Runtime, world: World, end: Ends
) -> None:
    parked = await use(runtime, "bank", {"what": "c1"})
    assert isinstance(parked, Parked)
    await runtime.signal(parked.run_id, "bank", "paid")
    await end(runtime, parked.run_id)

    assert await use(runtime, "bank", {"what": "c1"}) == "paid"
    assert await use(runtime, "bank", {"what": "c1"}, "b") == "paid"
    assert world.log == ["bank c1"]


@ENDS
async def test_d4_an_approval_nobody_gave_in_time_is_a_no(
    runtime: Runtime, clock: FakeClock, world: World, end: Ends
) -> None:
    parked = await use(runtime, "send", {"claim_id": "c1"})
    clock.move(61)
    with pytest.raises(DeadlinePassed):
        await runtime.approve(parked.run_id, True)
    await end(runtime, parked.run_id)

    with pytest.raises(ToolFailed, match="it was not approved"):
        await use(runtime, "send", {"claim_id": "c1"})
    assert world.log == []


async def test_d1_resume_with_an_answer_records_it_and_leaves_the_rest_to_the_loop(
    runtime: Runtime,
) -> None:
    parked = await use(runtime, "choose", {"what": "seat"})
    with pytest.raises(WrongState, match="is a session, which no workflow drives"):
        await runtime.resume(parked.run_id, sending, answer="2A")
    rested = await runtime.resume(parked.run_id, answer="2A")

    assert isinstance(rested, Parked)
    assert "its own loop goes on" in rested.reason
    assert await use(runtime, "choose", {"what": "seat"}) == "2A"


async def test_c7_a_session_whose_park_is_over_is_not_due_for_ever(
    runtime: Runtime, clock: FakeClock
) -> None:
    parked = await use(runtime, "choose", {"what": "seat"})
    await runtime.answer(parked.run_id, "2A")
    assert await runtime.wake_due() == {}
    await runtime.signal(parked.run_id, "hello", None)

    assert set(await runtime.wake_due()) == {parked.run_id}
    assert await runtime.wake_due() == {}


async def test_c7_a_session_whose_process_died_is_looked_at_once(
    runtime: Runtime, clock: FakeClock
) -> None:
    run_id = await died(runtime, clock)

    assert isinstance((await runtime.wake_due())[run_id], OpenWrite)
    assert await runtime.wake_due() == {}
    assert isinstance(await runtime.resume(run_id), OpenWrite)
    assert isinstance(await use(runtime, "look", {"claim_id": "c1"}, "b"), OpenWrite)


async def died(runtime: Runtime, clock: FakeClock) -> str:
    """Leave a write open, and a lease that nobody gave back."""
    WORLD.trouble = [happened(None)]
    left = await use(runtime, "pay", {"claim_id": "c1", "cents": 5})
    await runtime.store.take_over(left.run_id, runtime._host.driver, lease=30.0)
    clock.move(31)
    return str(left.run_id)


async def test_d5_a_cancel_ends_a_session_between_its_calls(runtime: Runtime) -> None:
    await use(runtime, "look", {"claim_id": "c1"})
    async with runtime.session("order-7") as session:
        pass
    state = await runtime.cancel(session.run_id, reason="enough", by="ada")

    assert state.status == "abandoned"
    assert await runtime.wake(session.run_id) == Abandoned(
        run_id=session.run_id, reason="enough", by="ada"
    )
    assert await use(runtime, "look", {"claim_id": "c1"}) == "seen c1"


@ENDS
async def test_d5_a_cancel_that_came_while_it_was_open_ends_it_at_its_next_call_or_after(
    runtime: Runtime, end: Ends
) -> None:
    async with runtime.session("order-7") as session:
        await session.call_named("look", {"claim_id": "c1"}, call_id="a")
        assert (await runtime.cancel(session.run_id, by="ada")).status == "running"
        with pytest.raises(LeaseHeld):
            await runtime.wake(session.run_id)
    if end is reopened:
        rest = await use(runtime, "look", {"claim_id": "c2"}, "b")
    else:
        rest = await (runtime.wake if end is woken else runtime.resume)(session.run_id)

    assert isinstance(rest, Abandoned)
    assert (await runtime.state(session.run_id)).status == "abandoned"


async def test_d5_a_cancelled_session_gives_up_the_key_of_the_park_it_rests_at(
    runtime: Runtime,
) -> None:
    parked = await use(runtime, "bank", {"what": "c1"})
    assert (await runtime.cancel(parked.run_id)).status == "abandoned"

    (claim,) = await runtime.claims.list()
    assert (claim.state, claim.extent) == ("failed", "unknown")


async def test_e5_a_session_that_waits_for_a_key_goes_on_with_other_calls_and_tries_again(
    runtime: Runtime, world: World
) -> None:
    async with runtime.session("other") as other:
        with pytest.raises(SessionStopped):
            await other.call_named("bank", {"what": "c1"}, call_id="a")
    async with runtime.session("order-7") as session:
        for _ in range(2):
            with pytest.raises(SessionStopped) as stopped:
                await session.call_named("bank", {"what": "c1"}, call_id="a")
            assert isinstance(stopped.value.result, Parked)
            assert stopped.value.result.waiting_for is not None
        assert await session.call_named("look", {"claim_id": "c1"}, call_id="b") == "seen c1"
        await runtime.signal(other.run_id, "bank", "paid")
        await runtime.wake(other.run_id)
        assert await session.call_named("bank", {"what": "c1"}, call_id="a") == "paid"
        await session.close()

    assert world.log == ["bank c1", "look c1"]
    assert await runtime.wake_due() == {}


async def test_e5_an_approved_call_that_waits_for_a_key_is_not_asked_for_again(
    runtime: Runtime, world: World
) -> None:
    async with runtime.session("other") as other:
        with pytest.raises(SessionStopped):
            await other.call_named("bank", {"what": "c1"}, call_id="a")
    registry = runtime.registry
    strict = Runtime(
        store=runtime.store,
        registry=registry,
        clock=runtime._host.clock,
        ids=FakeIds(5),
        claim_wait=0.0,
        approvals=(ApprovalRule(tools=("bank",)),),
    )
    asked = await use(strict, "bank", {"what": "c1"})
    await strict.approve(asked.run_id, True, by="ada")
    async with strict.session("order-7") as session:
        for _ in range(2):
            with pytest.raises(SessionStopped) as stopped:
                await session.call_named("bank", {"what": "c1"}, call_id="a")
            assert isinstance(stopped.value.result, Parked)
            assert stopped.value.result.waiting_for is not None
    strict._host.keeper.stop()
    strict._host.threads.close()
    assert world.log == ["bank c1"]


async def test_c7_a_closed_session_is_reported(runtime: Runtime) -> None:
    async with runtime.session("order-7") as session:
        await session.close({"done": 1})

    done = Completed(run_id=session.run_id, output={"done": 1}, recorded={"done": 1})
    assert await runtime.wake(session.run_id) == done
    assert await runtime.resume(session.run_id) == done


async def test_c7_a_run_of_another_kind_is_not_opened_as_a_session(runtime: Runtime) -> None:
    async with runtime.session("order-7") as session:
        await session.close()
    taken = await runtime.start(sending, run_id=runtime.new_run_id())
    store: Store = runtime.store

    with pytest.raises(WrongState, match="is no session"):
        async with runtime._driving.session(taken.run_id, "other", accept_changes=False):
            pass
    assert (await store.head(taken.run_id)).lease is None
