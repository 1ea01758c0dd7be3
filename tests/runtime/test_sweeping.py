"""No run that could go on is forgotten by a sweeper, and none keeps the others from it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from salvor.events.records import STUCK_AFTER, Cancel, Settlement, Signal
from salvor.run_errors import RunInterrupted, RunStuck, Unconfirmed, WakeFailed
from salvor.runtime.outcome import Abandoned, Completed, Failed, OpenWrite, Parked
from salvor.runtime.resolve import ResolvedFailure, ResolvedOutput
from salvor.runtime.run import Run
from salvor.runtime.workflow import workflow
from salvor.stores.memory import MemoryStore
from salvor.testing.clock import FakeClock
from salvor.tools.context import Context
from salvor.tools.decorator import tool
from salvor.tools.function import function_tool
from salvor.tools.parking import sleep_until, suspend
from tests.runtime.conftest import MakeRuntime, MakeStore
from tests.support.shop import WORLD, World, fresh_world, happened, look, mark, pay

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 7, 9, 12, 0, tzinfo=UTC)


class Choice(BaseModel):
    seat: str


@tool(effect="write")
async def ask_bank(ctx: Context) -> str | Choice:
    """Ask the bank, which may be quick."""
    WORLD.act("bank", ctx)
    await WORLD_DOES.now(ctx)
    return suspend("the bank", Choice, signal="bank")


@tool(effect="write")
async def rest(ctx: Context) -> Any:
    """Sleep for long."""
    WORLD.act("rest", ctx)
    await WORLD_DOES.now(ctx)
    return sleep_until(datetime(2026, 8, 1, tzinfo=UTC))


class Does:
    """What happens while the body of a tool runs."""

    def __init__(self) -> None:
        self.what: Callable[[str], Any] | None = None

    async def now(self, ctx: Context) -> None:
        if self.what is not None:
            await self.what(ctx.run_id)


WORLD_DOES = Does()


@workflow
async def banking(run: Run) -> str:
    chosen = await run.call(ask_bank)
    return chosen.seat if isinstance(chosen, Choice) else chosen


@workflow
async def resting(run: Run) -> None:
    await run.call(rest)


@workflow
async def stepping(run: Run) -> str:
    await run.call(look, "c1")
    return await run.call(look, "c2")


@workflow
async def failing(run: Run) -> str:
    await run.sleep_until(NOON)
    raise RuntimeError("a bug")


@workflow
async def marking(run: Run) -> str:
    return await run.call(mark, claim_id="c1")


@workflow
async def paying_twice(run: Run) -> str:
    try:
        await run.call(pay, claim_id="c1", cents=1)
    except Exception:
        pass
    return (await run.call(pay, claim_id="c2", cents=1)).claim_id


@workflow
async def paying_c2(run: Run) -> str:
    return (await run.call(pay, claim_id="c2", cents=1)).claim_id


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    WORLD_DOES.what = None
    yield fresh_world()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOON)


async def test_d3_a_signal_that_came_while_the_tool_ran_makes_its_park_due(
    make_runtime: MakeRuntime, make_store: MakeStore, clock: FakeClock
) -> None:
    async with make_runtime(make_store(clock), clock=clock) as runtime:

        async def signalled(run_id: str) -> None:
            await runtime.signal(run_id, "bank", {"seat": "2A"})

        WORLD_DOES.what = signalled
        parked = await runtime.run(banking)
        assert isinstance(parked, Parked)
        (woken,) = (await runtime.wake_due()).values()

        assert isinstance(woken, Completed)
        assert woken.output == "2A"
        assert WORLD.log == ["bank"]
        assert await runtime.wake_due() == {}


async def test_d3_a_park_of_a_tool_that_nobody_signalled_is_looked_at_once(
    make_runtime: MakeRuntime, make_store: MakeStore, clock: FakeClock
) -> None:
    async with make_runtime(make_store(clock), clock=clock) as runtime:
        parked = await runtime.run(banking)

        assert set(await runtime.wake_due()) == {parked.run_id}
        assert await runtime.wake_due() == {}
        await runtime.signal(parked.run_id, "bank", {"seat": "2A"})
        assert isinstance((await runtime.wake_due())[parked.run_id], Completed)


@pytest.mark.parametrize("flow", [banking, resting])
async def test_d5_a_cancel_that_came_while_the_tool_ran_ends_its_park(
    make_runtime: MakeRuntime, make_store: MakeStore, clock: FakeClock, flow: Any
) -> None:
    async with make_runtime(make_store(clock), clock=clock) as runtime:

        async def cancelled(run_id: str) -> None:
            await runtime.cancel(run_id, reason="closed", by="ada")

        WORLD_DOES.what = cancelled
        first = await runtime.run(flow)
        if isinstance(first, Parked):
            (first,) = (await runtime.wake_due()).values()  # type: ignore[assignment]

        assert isinstance(first, Abandoned)
        assert (first.reason, first.by) == ("closed", "ada")
        assert await runtime.wake_due() == {}


async def test_a6_a_body_that_ends_after_its_time_makes_its_run_due(
    make_runtime: MakeRuntime,
) -> None:
    go = threading.Event()

    @tool(effect="write", timeout=0.01)
    def slow() -> str:
        """Slow."""
        assert go.wait(60)
        return "late, but true"

    async with make_runtime() as runtime:
        opened = await runtime.call_tool(function_tool(slow), {})
        assert isinstance(opened, OpenWrite)
        assert await runtime.wake_due() == {}
        go.set()
        while (await runtime.state(opened.run_id)).status == "needs-reconciliation":
            await anyio.sleep(0.001)
        found = await runtime.wake_due()

    done = found[opened.run_id]
    assert isinstance(done, Completed)
    assert done.output == "late, but true"


async def test_a_run_that_was_interrupted_is_due_at_once_and_not_to_blame(
    make_runtime: MakeRuntime, make_store: MakeStore, clock: FakeClock
) -> None:
    store = make_store(clock)

    first = make_runtime(store, clock=clock)
    WORLD.inside = lambda _: first.interrupt()
    with pytest.raises(RunInterrupted):
        await first.run(stepping)
    WORLD.inside = None
    for _ in range(STUCK_AFTER + 2):
        stopping = make_runtime(store, clock=clock)
        stopping.interrupt()
        (run_id,) = await store.due()
        with pytest.raises(RunInterrupted):
            await stopping.wake(run_id)
    async with make_runtime(store, clock=clock) as runtime:
        (woken,) = (await runtime.wake_due()).values()

    assert isinstance(woken, Completed)
    assert WORLD.log == ["look c1", "look c2"]


async def test_d5_a_cancel_ends_a_run_that_nobody_drives_between_two_steps(
    make_runtime: MakeRuntime, make_store: MakeStore, clock: FakeClock
) -> None:
    store = make_store(clock)
    stopping = make_runtime(store, clock=clock)
    WORLD.inside = lambda _: stopping.interrupt()
    with pytest.raises(RunInterrupted):
        await stopping.run(stepping)
    async with make_runtime(store, clock=clock) as runtime:
        (run_id,) = await store.due()
        state = await runtime.cancel(run_id, reason="closed")

        assert (state.status, state.reason) == ("abandoned", "closed")
        assert await runtime.wake_due() == {}
        assert WORLD.log == ["look c1"]


async def test_runs_that_cannot_go_on_hide_no_run_behind_them(
    make_runtime: MakeRuntime, make_store: MakeStore, clock: FakeClock
) -> None:
    async with make_runtime(make_store(clock), clock=clock) as runtime:
        clock.move(-60)
        broken = {(await runtime.run(failing)).run_id for _ in range(5)}
        clock.move(30)
        healthy = await runtime.run(banking)
        await runtime.signal(healthy.run_id, "bank", {"seat": "2A"})
        clock.move(40)
        WORLD_DOES.what = None

        found = await runtime.wake_due(limit=2)
        found |= await runtime.wake_due(limit=2)
        found |= await runtime.wake_due(limit=2)

        assert isinstance(found[healthy.run_id], Completed)
        assert {run_id for run_id, one in found.items() if isinstance(one, Failed)} == broken


async def test_c4_a_run_that_is_stuck_is_nobodys_to_wake(
    make_runtime: MakeRuntime, make_store: MakeStore, clock: FakeClock
) -> None:
    async with make_runtime(make_store(clock), clock=clock) as runtime:
        clock.move(-60)
        broken = await runtime.run(failing)
        clock.move(90)
        passes = [await runtime.wake_due() for _ in range(STUCK_AFTER + 3)]

        assert isinstance(passes[0][broken.run_id], Failed)
        assert passes[-1] == {}
        assert (await runtime.state(broken.run_id)).status == "running"
        with pytest.raises(RunStuck):
            await runtime.wake(broken.run_id, failing)


async def test_one_runs_odd_exception_does_not_end_the_pass(
    make_runtime: MakeRuntime, clock: FakeClock
) -> None:
    class Odd(MemoryStore):
        odd = ""

        async def cancelled(self, run_id: str) -> Cancel | None:
            if run_id == self.odd:
                raise LookupError("odd")
            return await super().cancelled(run_id)

    store = Odd(clock=clock)
    runtime = make_runtime(store, clock=clock)
    first, second = await runtime.run(banking), await runtime.run(banking)
    for one in (first, second):
        await runtime.signal(one.run_id, "bank", {"seat": "2A"})
    store.odd = first.run_id
    found = await runtime.wake_due()

    error = found[first.run_id]
    assert isinstance(error, WakeFailed)
    assert "LookupError: odd" in error.message
    assert error.hint == f"`salvor resume {first.run_id}` shows where it fails."
    assert isinstance(found[second.run_id], Completed)


async def test_g7_what_makes_a_run_due_while_it_is_put_off_counts(
    make_runtime: MakeRuntime, clock: FakeClock
) -> None:
    class Racing(MemoryStore):
        comes: Signal | None = None

        async def settle(self, settlement: Settlement) -> None:
            if settlement.put_off is not None and self.comes is not None:
                comes, self.comes = self.comes, None
                clock.move(1)
                await super().signal(comes)
            await super().settle(settlement)

    store = Racing(clock=clock)
    runtime = make_runtime(store, clock=clock)
    parked = await runtime.run(banking)
    store.comes = Signal(
        run_id=parked.run_id,
        name="bank",
        payload='{"seat":"2A"}',
        sent_at=NOON,
    )
    first = await runtime.wake_due()
    second = await runtime.wake_due()

    assert isinstance(first[parked.run_id], Parked)
    assert isinstance(second[parked.run_id], Completed)


async def test_e5_a_word_on_another_claim_of_a_waiting_run_does_not_end_its_wait(
    make_runtime: MakeRuntime, make_store: MakeStore, clock: FakeClock
) -> None:
    async with make_runtime(make_store(clock), clock=clock, claim_wait=0.0) as runtime:
        WORLD.trouble = [happened(None)]
        holder = await runtime.run(paying_c2)
        assert isinstance(holder, OpenWrite)
        WORLD.trouble = [happened(True, final=True)]
        waiting = await runtime.run(paying_twice)
        assert isinstance(waiting, Parked)
        [failed] = await runtime.claims.list(state="failed")
        await runtime.claims.settle(
            failed.id, ResolvedFailure("no"), reason="it was not", by="ada", evidence="7"
        )
        assert (await runtime.state(waiting.run_id)).status == "running"
        assert await runtime.wake_due() == {}
        await runtime.resolve(
            holder.run_id, ResolvedOutput({"claim_id": "c2", "cents": 1}), by="ada"
        )
        found = await runtime.wake_due()

        assert isinstance(found[waiting.run_id], Completed)


async def test_g6_a_run_that_waited_for_an_operators_word_is_not_stuck(
    make_runtime: MakeRuntime, make_store: MakeStore, clock: FakeClock
) -> None:
    store = make_store(clock)
    async with make_runtime(store, clock=clock) as runtime:
        await store.begin_incarnation()
        with pytest.raises(Unconfirmed):
            await runtime.run(marking)
        for _ in range(STUCK_AFTER + 2):
            (refused,) = (await runtime.wake_due()).values()
            assert isinstance(refused, Unconfirmed)
        await store.confirm_incarnation()
        (woken,) = (await runtime.wake_due()).values()

        assert isinstance(woken, Completed)
