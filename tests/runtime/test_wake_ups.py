"""What could go on is due, whatever cut its drive off and whoever looks at it (DURABILITY G7)."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from salvor.errors import ToolFailed
from salvor.events.records import (
    STUCK_AFTER,
    Append,
    Driver,
    Fence,
    Head,
    Stands,
)
from salvor.events.store import Store
from salvor.events.vocabulary import RunStarted, WorkflowRef
from salvor.run_errors import WrongState
from salvor.runtime.outcome import Completed, Failed, OpenWrite, Parked
from salvor.runtime.recorder import Recorder
from salvor.runtime.resolve import ResolvedOutput
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import define, workflow
from salvor.store_errors import CommitUnknown, StoreBusy, StoreError, StoreFull, StoreUnavailable
from salvor.testing.clock import FakeClock
from salvor.tools.context import Context
from salvor.tools.decorator import tool
from salvor.tools.parking import suspend
from salvor.values import JsonValue
from tests.runtime.conftest import MakeRuntime, MakeStore
from tests.support.shop import NO_WAIT, WORLD, World, fresh_world, happened, look, pay, send

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 7, 9, 12, 0, tzinfo=UTC)
SOON = NOON + timedelta(seconds=5)


class Around:
    """A store that tells of a call of its own once it is over, and then of no other."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.after: dict[str, Any] = {}
        self.fails: list[StoreError | None] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def take_over(self, *args: Any, **named: Any) -> tuple[Fence, Head]:
        taken = await self._store.take_over(*args, **named)
        await self._told("take_over")
        return taken

    async def append(self, append: Append) -> Stands | None:
        fails = self.fails.pop(0) if self.fails else None
        if fails is not None:
            raise fails
        return await self._store.append(append)

    async def release(self, fence: Fence, **named: Any) -> None:
        await self._store.release(fence, **named)
        await self._told("release")

    async def _told(self, name: str) -> None:
        told = self.after.pop(name, None)
        if told is not None:
            await told()


STALL = anyio.Event()


@tool(effect="write")
async def ask_bank(ctx: Context) -> str:
    """Ask the bank, which may be quick."""
    if WORLD.inside is not None:
        await WORLD.inside(ctx)  # type: ignore[misc]
    return suspend("the bank", str, signal="bank")


@tool(effect="read")
async def stall(ctx: Context) -> str:
    """Wait to be cancelled, the first time."""
    if not WORLD.log:
        WORLD.log.append("stalled")
        STALL.set()
        await anyio.sleep_forever()
    return "seen"


@workflow
async def banking(run: Run) -> str:
    await run.sleep_until(SOON)
    return await run.call(ask_bank)


@workflow
async def listening(run: Run) -> str:
    await run.sleep_until(SOON)
    return await run.signal("bank", str)


@workflow
async def stalling(run: Run) -> str:
    await run.sleep_until(SOON)
    return await run.call(stall)


@workflow
async def stalling_at_once(run: Run) -> str:
    return await run.call(stall)


@workflow
async def looking_twice(run: Run) -> str:
    await run.sleep_until(SOON)
    await run.call(look, "c1")
    return await run.call(look, "c2")


@workflow
async def looking(run: Run) -> str:
    return await run.call(look, "c1")


@workflow
async def sending(run: Run) -> str:
    await run.sleep_until(SOON)
    return await run.call(send, "c1")


@workflow
async def paid_and_stalling(run: Run) -> str:
    try:
        await run.call(pay, claim_id="c1", cents=1)
    except ToolFailed:
        pass
    return await run.call(stall)


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    global STALL
    STALL = anyio.Event()
    yield fresh_world()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOON)


@pytest.fixture
def store(make_store: MakeStore, clock: FakeClock) -> Around:
    return Around(make_store(clock))


@pytest.fixture
async def runtime(
    make_runtime: MakeRuntime, store: Around, clock: FakeClock
) -> AsyncIterator[Runtime]:
    async with make_runtime(store, clock=clock, claim_wait=0.0) as runtime:
        yield runtime


async def asleep(runtime: Runtime, flow: Any, clock: FakeClock) -> str:
    """A run of the flow whose first sleep is over."""
    parked = await runtime.run(flow)
    assert isinstance(parked, Parked)
    clock.move(10)
    return parked.run_id


@asynccontextmanager
async def cut_off(what: Any) -> AsyncIterator[None]:
    """Cancel a task of its own that does it, after the block."""
    async with anyio.create_task_group() as group:
        group.start_soon(what)
        yield
        group.cancel_scope.cancel()


async def test_d3_a_signal_while_the_body_of_a_woken_run_is_at_it_ends_its_park(
    runtime: Runtime, store: Around, clock: FakeClock, world: World
) -> None:
    async def quick(ctx: Context) -> None:
        await runtime.signal(ctx.run_id, "bank", "paid")

    world.inside = quick
    run_id = await asleep(runtime, banking, clock)
    await runtime.wake_due()
    clock.move(1)

    assert isinstance((await runtime.wake_due())[run_id], Completed)


async def test_d3_a_signal_after_the_drive_of_a_woken_run_ends_its_park(
    runtime: Runtime, store: Around, clock: FakeClock
) -> None:
    run_id = await asleep(runtime, listening, clock)

    async def sent() -> None:
        await runtime.signal(run_id, "bank", "paid")

    store.after["release"] = sent
    await runtime.wake_due()
    clock.move(1)

    assert isinstance((await runtime.wake_due())[run_id], Completed)


async def test_a7_a_run_whose_sweeper_was_cancelled_is_due(
    runtime: Runtime, clock: FakeClock
) -> None:
    run_id = await asleep(runtime, stalling, clock)
    async with cut_off(runtime.wake_due):
        await STALL.wait()

    found = (await runtime.wake_due())[run_id]
    assert isinstance(found, Completed)
    assert found.output == "seen"


async def test_a7_however_often_its_drive_is_cancelled_a_run_is_not_stuck(
    runtime: Runtime, store: Around, clock: FakeClock, world: World
) -> None:
    run_id = await asleep(runtime, stalling, clock)
    for _ in range(STUCK_AFTER + 2):
        global STALL
        STALL, world.log = anyio.Event(), []
        async with cut_off(runtime.wake_due):
            await STALL.wait()

    assert isinstance((await runtime.wake_due())[run_id], Completed)


async def test_a7_a_take_over_that_was_cancelled_leaves_a_dead_drivers_run_due(
    runtime: Runtime, store: Around, clock: FakeClock
) -> None:
    run_id = await dead(store, clock, looking)
    reached = anyio.Event()

    async def stalled() -> None:
        reached.set()
        await anyio.sleep_forever()

    store.after["take_over"] = stalled
    async with cut_off(runtime.wake_due):
        await reached.wait()
    clock.move(60)

    assert isinstance((await runtime.wake_due())[run_id], Completed)


async def dead(store: Around, clock: FakeClock, flow: Any) -> str:
    """A run whose driver recorded its beginning and was never heard of again."""
    made = define(flow)
    run_id = "00000000-0000-4000-8000-00000000dead"
    gone = Driver(id="gone", pid=1, host="elsewhere")
    fence, head = await store.take_over(run_id, gone, lease=30.0, create=True)
    ref = WorkflowRef(name=made.name, version=made.version, target=made.target)
    recorder = Recorder(store, clock, fence=fence, head=head, last=None)
    await recorder.append(RunStarted(agent_def_hash=made.hash, input={}, workflow=ref))
    clock.move(60)
    return run_id


@pytest.mark.parametrize("kind", [StoreBusy, StoreFull, StoreUnavailable, CommitUnknown])
async def test_a_run_that_a_fault_of_the_store_stopped_is_due_and_not_to_blame(
    runtime: Runtime, store: Around, clock: FakeClock, kind: type[StoreError]
) -> None:
    run_id = await asleep(runtime, looking_twice, clock)
    for _ in range(STUCK_AFTER + 2):
        store.fails = [kind("a fault that passes.")]
        assert isinstance((await runtime.wake_due())[run_id], kind)

    assert isinstance((await runtime.wake_due())[run_id], Completed)


async def test_f1_an_open_write_of_a_woken_run_is_put_off_until_it_is_resolved(
    runtime: Runtime, store: Around, clock: FakeClock, world: World
) -> None:
    run_id = await asleep(runtime, sending, clock)
    world.trouble = [happened(None)]
    store.after["release"] = lambda: runtime.signal(run_id, "nobody", 1)

    assert isinstance((await runtime.wake_due())[run_id], OpenWrite)
    assert await runtime.wake_due() == {}
    await runtime.resolve(run_id, ResolvedOutput("sent"))
    assert isinstance((await runtime.wake_due())[run_id], Completed)


async def test_e6_a_word_on_a_claim_leaves_a_dead_drivers_run_due(
    make_runtime: MakeRuntime, make_store: MakeStore, clock: FakeClock, world: World
) -> None:
    store = make_store(clock)
    other = make_runtime(store, clock=clock)
    frozen = make_runtime(store, clock=clock)
    other.registry.for_function(pay)
    world.trouble = [happened(True)]
    async with other, cut_off(lambda: frozen.run(paid_and_stalling)):
        await STALL.wait()
        frozen._host.keeper.stop()
        clock.move(60)
        [claim] = await other.claims.list(state="failed")
        paid: JsonValue = {"claim_id": "c1", "cents": 1}
        await other.claims.settle(claim.id, ResolvedOutput(paid), reason="seen", by="ada")

        assert await store.due() == [claim.run_id]
        assert isinstance((await other.wake_due())[claim.run_id], Completed)


async def test_a6_a_run_that_waits_for_a_body_of_its_key_is_due(
    runtime: Runtime, clock: FakeClock, world: World
) -> None:
    gate = threading.Event()

    @tool(effect="idempotent", idempotency_key="n", timeout=0.01, retry=NO_WAIT)
    def push(n: int) -> str:
        """Push."""
        world.log.append("push")
        assert len(world.log) > 1 or gate.wait(60)
        return "ok"

    @workflow
    async def pushing(run: Run) -> str:
        return await run.options(timeout=60.0).call(push, n=1)

    runtime.registry.for_function(push)
    first = await runtime.call_tool(runtime.registry.get("push"), {"n": 1})
    assert isinstance(first, Failed)
    second = await runtime.run(pushing)
    assert isinstance(second, Parked)
    assert "still runs in this process" in second.reason
    gate.set()
    while runtime._host.overtime._bodies:
        await anyio.sleep(0.001)

    assert await runtime.store.due() == [second.run_id]
    assert isinstance(await runtime.wake(second.run_id, pushing), Completed)


async def test_a_run_that_was_never_begun_is_nobodys_to_wake_and_needs_no_end(
    runtime: Runtime, store: Around, clock: FakeClock
) -> None:
    run_id = runtime.new_run_id()
    gone = Driver(id="gone", pid=1, host="elsewhere")
    await store.take_over(run_id, gone, lease=30.0, create=True)
    clock.move(60)

    assert await runtime.wake_due() == {}
    for verb in (runtime.abandon, runtime.cancel, runtime.resume, runtime.wake):
        with pytest.raises(WrongState, match="never begun"):
            await verb(run_id)
    assert isinstance(await runtime.start(looking, {}, run_id=run_id), Completed)


async def test_a_copy_of_a_run_that_crashed_inside_a_read_is_due_where_it_was_taken_in(
    runtime: Runtime, make_runtime: MakeRuntime, clock: FakeClock
) -> None:
    run_id = runtime.new_run_id()
    async with cut_off(lambda: runtime.start(stalling_at_once, {}, run_id=run_id)):
        await STALL.wait()
        runtime._host.keeper.stop()
        clock.move(60)
        lines = await runtime.upkeep.export(run_id)

    async with make_runtime(clock=clock) as elsewhere:
        assert await elsewhere.upkeep.adopt(lines) == run_id
        assert isinstance((await elsewhere.wake_due())[run_id], Completed)


async def test_a_process_that_is_told_to_stop_keeps_it(runtime: Runtime) -> None:
    assert not runtime.interrupted
    runtime.interrupt()
    await anyio.lowlevel.checkpoint()
    assert runtime.interrupted
