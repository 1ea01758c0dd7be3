"""Ending runs: cancel (DURABILITY D5), abandon (F1, F4), and runs that are stuck (C4)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest

from salvor.errors import ToolFailure
from salvor.events.records import STUCK_AFTER
from salvor.events.vocabulary import RunAbandoned, UnresolvedWrite
from salvor.run_errors import (
    LeaseHeld,
    NotDoneRefused,
    RunEnded,
    RunStuck,
    WrongState,
)
from salvor.runtime.outcome import Abandoned, Completed, OpenWrite, Parked
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.store_errors import Fenced
from salvor.testing.clock import FakeClock
from salvor.tools.context import Context
from salvor.tools.decorator import tool
from tests.runtime.conftest import MakeRuntime
from tests.support.shop import (
    NO_WAIT,
    WORLD,
    World,
    fresh_world,
    happened,
    look,
    pay,
    paying,
    send,
    sending,
)

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 7, 9, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOON)


@pytest.fixture
def runtime(make_runtime: MakeRuntime, clock: FakeClock) -> Runtime:
    return make_runtime(clock=clock)


@workflow
async def asking(run: Run) -> bool:
    return await run.suspend("sure?", bool)


async def last(runtime: Runtime, run_id: str) -> Any:
    return (await runtime.history(run_id)).envelopes[-1].event


async def test_d5_a_cancel_at_a_park_ends_the_run(runtime: Runtime) -> None:
    parked = await runtime.run(asking)
    state = await runtime.cancel(parked.run_id, reason="closed", by="ada")

    assert (state.status, state.reason, state.by) == ("abandoned", "closed", "ada")
    assert await last(runtime, parked.run_id) == RunAbandoned(reason="closed", caller="ada")
    ended = await runtime.resume(parked.run_id, asking)
    assert ended == Abandoned(run_id=parked.run_id, reason="closed", by="ada")
    for verb in (runtime.cancel, runtime.abandon):
        with pytest.raises(RunEnded):
            await verb(parked.run_id)
    with pytest.raises(WrongState):
        await runtime.resume(parked.run_id, asking, answer=True)


async def test_d5_a_cancel_is_honoured_before_the_next_intent_never_inside_a_write(
    runtime: Runtime, world: World
) -> None:
    @tool(effect="write")
    async def cancelled_within(ctx: Context) -> str:
        """Write, while somebody cancels."""
        state = await runtime.cancel(ctx.run_id, reason="closed")
        WORLD.log.append(state.status)
        return "written"

    @workflow
    async def flow(run: Run) -> str:
        first = await run.call(cancelled_within)
        await run.call(send, first)
        return "never"

    ended = await runtime.run(flow)

    assert isinstance(ended, Abandoned)
    assert world.log == ["needs-reconciliation"]
    kinds = [type(e.event).__name__ for e in (await runtime.history(ended.run_id)).envelopes]
    assert kinds == ["RunStarted", "ToolCallRequested", "ToolCallCompleted", "RunAbandoned"]


@pytest.mark.parametrize("step", ["suspend", "signal", "sleep", "refused", "gather"])
async def test_d5_a_cancel_is_honoured_at_every_step_that_is_recorded(
    runtime: Runtime, step: str
) -> None:
    from salvor.runtime.caller import spec

    @tool(effect="read")
    async def cancelled_within(ctx: Context) -> str:
        """Read, while somebody cancels."""
        await runtime.cancel(ctx.run_id)
        return "read"

    @workflow
    async def flow(run: Run) -> None:
        await run.call(cancelled_within)
        if step == "suspend":
            await run.suspend("?", bool)
        elif step == "signal":
            await run.signal("go", bool)
        elif step == "sleep":
            await run.sleep_until(NOON)
        elif step == "refused":
            await run.call_named("nobody", {})
        else:
            await run.gather(spec(look, "c1"))

    ended = await runtime.run(flow)

    assert isinstance(ended, Abandoned)
    assert isinstance(await last(runtime, ended.run_id), RunAbandoned)


async def test_d5_a_run_that_needs_reconciliation_cannot_be_cancelled(
    runtime: Runtime, world: World
) -> None:
    world.trouble = [happened(None)]
    opened = await runtime.run(sending)

    with pytest.raises(WrongState, match="has an open write"):
        await runtime.cancel(opened.run_id)
    assert await runtime.store.cancelled(opened.run_id) is None


async def test_f4_an_open_write_without_a_key_may_be_abandoned_as_it_is(
    runtime: Runtime, world: World
) -> None:
    world.trouble = [happened(None)]
    opened = await runtime.run(sending)
    state = await runtime.abandon(opened.run_id, reason="gave up", by="ada")

    assert state.unresolved_write == UnresolvedWrite(seq=1, tool="send")
    assert await runtime.resume(opened.run_id, sending) == Abandoned(
        run_id=opened.run_id,
        reason="gave up",
        by="ada",
        unresolved=UnresolvedWrite(seq=1, tool="send"),
    )


@pytest.mark.parametrize(
    ("happened_word", "state", "extent"),
    [("yes", "failed", "yes"), ("unknown", "failed", "unknown"), ("no", "released", None)],
)
async def test_f4_an_open_write_with_a_key_says_what_becomes_of_it(
    runtime: Runtime, world: World, happened_word: Any, state: str, extent: str | None
) -> None:
    world.trouble = [happened(None)]
    opened = await runtime.run(paying, claim_id="c1")
    assert isinstance(opened, OpenWrite)
    with pytest.raises(WrongState, match="has to be said what its call did"):
        await runtime.abandon(opened.run_id)
    await runtime.abandon(opened.run_id, happened=happened_word, worker_dead=True)
    [claim] = await runtime.claims.list()

    assert (claim.state, claim.extent) == (state, extent)


async def test_f2_nothing_happened_needs_the_word_that_the_worker_is_dead(
    runtime: Runtime, world: World
) -> None:
    world.trouble = [happened(None)]
    opened = await runtime.run(paying, claim_id="c1")

    with pytest.raises(NotDoneRefused):
        await runtime.abandon(opened.run_id, happened="no")
    assert (await runtime.state(opened.run_id)).status == "needs-reconciliation"


async def test_f1_a_run_that_is_driven_is_abandoned_by_force_only(
    make_runtime: MakeRuntime, clock: FakeClock
) -> None:
    runtime = make_runtime(clock=clock)
    other = make_runtime(runtime.store, clock=clock)

    @tool(effect="read")
    async def abandoned_within(ctx: Context) -> str:
        """Read, while somebody abandons."""
        with pytest.raises(LeaseHeld):
            await other.abandon(ctx.run_id)
        state = await other.abandon(ctx.run_id, force=True)
        WORLD.log.append(state.status)
        return "read"

    @workflow
    async def flow(run: Run) -> None:
        await run.call(abandoned_within)

    with pytest.raises(Fenced):
        await runtime.run(flow)
    assert WORLD.log == ["abandoned"]


async def test_c4_a_run_that_gets_nowhere_is_stuck_until_an_operator_resumes_it(
    make_runtime: MakeRuntime, clock: FakeClock, world: World
) -> None:
    broken = [True]

    @workflow
    async def flow(run: Run) -> str:
        if broken[0]:
            raise LookupError("the disk of the code is gone")
        return await run.call(look, "c1")

    runtime = make_runtime(clock=clock)
    first = await runtime.run(flow)
    for _ in range(STUCK_AFTER):
        await make_runtime(runtime.store, clock=clock).wake(first.run_id, flow)
    with pytest.raises(RunStuck, match="taken over 5 times without a new event"):
        await runtime.wake(first.run_id, flow)
    head = await runtime.store.head(first.run_id)
    assert head.stuck
    assert head.causes == ("LookupError: the disk of the code is gone",) * STUCK_AFTER
    broken[0] = False
    done = await runtime.resume(first.run_id, flow)

    assert isinstance(done, Completed)
    assert not (await runtime.store.head(first.run_id)).stuck


async def test_c4_a_run_that_waits_for_a_key_is_not_stuck(
    make_runtime: MakeRuntime, clock: FakeClock, world: World
) -> None:
    runtime = make_runtime(clock=clock, claim_wait=0.0)
    world.trouble = [happened(None)]
    await runtime.run(paying, claim_id="c1")
    waiting = await runtime.run(paying, claim_id="c1")
    assert isinstance(waiting, Parked)

    for _ in range(STUCK_AFTER + 2):
        again = await runtime.wake(waiting.run_id, paying)
        assert isinstance(again, Parked)
    assert pay.__name__ == "pay"


async def test_a7_a_cancelled_task_is_no_cancel_of_the_run(runtime: Runtime) -> None:
    @tool(effect="read")
    async def stall() -> None:
        """Never end."""
        await anyio.sleep_forever()

    @workflow
    async def flow(run: Run) -> None:
        await run.call(stall)

    run_id = runtime.new_run_id()
    with anyio.move_on_after(0.05):
        await runtime.start(flow, run_id=run_id)
    assert (await runtime.state(run_id)).status == "awaiting-tool"


@pytest.mark.parametrize("key", [None, "claim_id"])
async def test_d5_a_cancel_during_the_back_off_of_a_write_is_honoured_before_its_fresh_intent(
    runtime: Runtime, world: World, key: str | None
) -> None:
    @tool(effect="write", idempotency_key=key, retry=NO_WAIT)
    async def busy(ctx: Context, claim_id: str) -> str:
        """Write, while somebody cancels; the far side is busy."""
        if ctx.attempt == 1:
            await runtime.cancel(ctx.run_id, reason="closed")
            raise ToolFailure("busy", happened=False)
        WORLD.log.append("written")
        return "written"

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(busy, claim_id="c1")

    ended = await runtime.run(flow)

    assert isinstance(ended, Abandoned)
    assert (ended.reason, ended.unresolved, world.log) == ("closed", None, [])
    kinds = [type(e.event).__name__ for e in (await runtime.history(ended.run_id)).envelopes]
    assert kinds == ["RunStarted", "ToolCallRequested", "ToolCallCompleted", "RunAbandoned"]
    assert [claim.state for claim in await runtime.claims.list()] == ["released"][: bool(key)]
