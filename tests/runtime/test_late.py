"""What a driver got to know too late is kept (DURABILITY E7), and mutants of the paths there."""

import threading
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from salvor.errors import ToolFailure
from salvor.events.claims import ClaimId
from salvor.events.records import Append, Fence, LateResult, Stands
from salvor.events.vocabulary import ToolCallCompleted
from salvor.run_errors import RunInterrupted
from salvor.runtime.outcome import Completed, OpenWrite
from salvor.runtime.run import Run
from salvor.runtime.workflow import workflow
from salvor.store_errors import Fenced, StoreBusy, StoreFull
from salvor.stores.memory import MemoryStore
from salvor.testing.clock import FakeClock
from salvor.tools.decorator import tool
from tests.runtime.conftest import MakeRuntime
from tests.support import shop
from tests.support.shop import World, fresh_world, happened

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


class Troubled(MemoryStore):
    """Refuses completions and late results as it is told to."""

    def __init__(self) -> None:
        super().__init__(clock=FakeClock())
        self.completions: list[Exception] = []
        self.lates: list[Exception] = []
        self.asked = anyio.Event()

    async def append(self, append: Append) -> Stands | None:
        if "ToolCallCompleted" in append.rows[0].envelope and self.completions:
            self.asked.set()
            raise self.completions.pop(0)
        return await super().append(append)

    async def keep_late(self, late: LateResult) -> None:
        if self.lates:
            raise self.lates.pop(0)
        await super().keep_late(late)


async def test_e7_a_late_result_is_kept_although_the_store_is_busy_at_first(
    make_runtime: MakeRuntime,
) -> None:
    store = Troubled()
    runtime = make_runtime(store)
    run_id = runtime.new_run_id()
    store.completions, store.lates = [Fenced(run_id)], [StoreBusy("busy")]

    with pytest.raises(Fenced):
        await runtime.start(shop.sending, run_id=run_id)

    late = (await runtime.history(run_id)).late
    assert [(entry.outcome, entry.value, entry.extent) for entry in late] == [
        ("output", '"sent"', None)
    ]


async def test_e7_a_fenced_failure_is_kept_with_what_it_did(
    make_runtime: MakeRuntime, world: World
) -> None:
    store = Troubled()
    runtime = make_runtime(store)
    run_id = runtime.new_run_id()
    store.completions = [Fenced(run_id)]
    world.trouble = [happened(True)]

    with pytest.raises(Fenced):
        await runtime.start(shop.sending, run_id=run_id)

    assert [entry.extent for entry in (await runtime.history(run_id)).late] == ["yes"]


async def test_e7_a_completion_that_is_cancelled_while_the_disk_is_full_is_kept_as_late(
    make_runtime: MakeRuntime,
) -> None:
    store = Troubled()
    runtime = make_runtime(store)
    run_id = runtime.new_run_id()
    store.completions = [StoreFull("full")] * 1000

    async with anyio.create_task_group() as group:

        async def drive() -> None:
            await runtime.start(shop.sending, run_id=run_id)

        group.start_soon(drive)
        await store.asked.wait()
        group.cancel_scope.cancel()

    late = (await runtime.history(run_id)).late
    assert [(entry.outcome, entry.value) for entry in late] == [("output", '"sent"')]


async def test_e7_a_body_that_outlives_its_cancelled_call_is_kept_as_late(
    make_runtime: MakeRuntime,
) -> None:
    runtime = make_runtime()
    inside, opened = threading.Event(), threading.Event()

    @tool(effect="write")
    def slow() -> str:
        """Slow."""
        inside.set()
        opened.wait(60)
        return "done"

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(slow)

    async with runtime:
        run_id = runtime.new_run_id()
        async with anyio.create_task_group() as group:
            group.start_soon(_drive, runtime, flow, run_id)
            await anyio.to_thread.run_sync(inside.wait)
            group.cancel_scope.cancel()
        assert (await runtime.store.head(run_id)).lease is not None

        opened.set()
        with anyio.fail_after(60):
            while (await runtime.store.head(run_id)).lease is not None:
                await anyio.sleep(0.001)
        history = await runtime.history(run_id)

    assert len(history.envelopes) == 2
    assert [(entry.outcome, entry.value) for entry in history.late] == [("output", '"done"')]


async def _drive(runtime: Any, flow: Any, run_id: str) -> None:
    await runtime.start(flow, run_id=run_id)


class Unrenewable(MemoryStore):
    """The machine sleeps after the intent, and the lease cannot be renewed although it is ours."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock=clock)
        self.clock = clock
        self.asleep = True

    async def append(self, append: Append) -> Stands | None:
        seen = await super().append(append)
        if "ToolCallRequested" in append.rows[0].envelope and self.asleep:
            self.clock.move(100)
        return seen

    def renew(self, fences: Any, *, lease: float) -> set[Fence]:
        if self.asleep:
            raise StoreBusy("busy")
        return super().renew(fences, lease=lease)


async def test_b1_a_lease_that_cannot_be_renewed_but_is_ours_leaves_no_write_open(
    make_runtime: MakeRuntime, world: World
) -> None:
    clock = FakeClock()
    store = Unrenewable(clock)
    runtime = make_runtime(store, clock=clock)
    run_id = runtime.new_run_id()

    with pytest.raises(StoreBusy, match="could not be renewed"):
        await runtime.start(shop.paying, {"claim_id": "c1"}, run_id=run_id)

    assert world.keys == []
    assert (await runtime.state(run_id)).status == "running"
    key = ClaimId(namespace="default", scope="native/pay", key='{"claim_id":"c1"}')
    claim = await store.claim(key)
    assert claim is not None
    assert claim.state == "released"

    store.asleep = False
    assert isinstance(await runtime.resume(run_id, shop.paying), Completed)
    assert world.log == ["pay c1"]


async def test_e3_an_interrupt_in_the_backoff_of_a_keyed_write_releases_its_key(
    make_runtime: MakeRuntime, world: World
) -> None:
    runtime = make_runtime()
    world.inside = lambda _: runtime.interrupt()
    world.trouble = [happened(False)]
    run_id = runtime.new_run_id()
    with pytest.raises(RunInterrupted):
        await runtime.start(shop.paying, {"claim_id": "c1"}, run_id=run_id)

    key = ClaimId(namespace="default", scope="native/pay", key='{"claim_id":"c1"}')
    claim = await runtime.store.claim(key)
    assert claim is not None
    assert claim.state == "released"


async def test_b3_a_fresh_intent_after_a_resume_keeps_the_key_of_the_first(
    make_runtime: MakeRuntime, world: World
) -> None:
    runtime = make_runtime()
    world.inside = lambda _: runtime.interrupt()
    world.trouble = [happened(False)]
    run_id = runtime.new_run_id()
    with pytest.raises(RunInterrupted):
        await runtime.start(shop.sending, run_id=run_id)
    world.inside = None

    again = make_runtime(runtime.store)
    assert isinstance(await again.resume(run_id, shop.sending), Completed)

    assert len(world.keys) == 2
    assert len(set(world.keys)) == 1


async def test_an_interrupt_between_the_attempts_of_a_read_stops_it(
    make_runtime: MakeRuntime, world: World
) -> None:
    runtime = make_runtime()
    world.inside = lambda _: runtime.interrupt()
    world.trouble = [ValueError("x")] * 3
    run_id = runtime.new_run_id()

    with pytest.raises(RunInterrupted):
        await runtime.start(shop.looking, run_id=run_id)

    assert len(world.keys) == 1


async def test_a_late_failure_names_no_output(make_runtime: MakeRuntime) -> None:
    store = Troubled()
    runtime = make_runtime(store)

    @tool(effect="write")
    async def failing() -> str:
        """Fail."""
        raise ToolFailure("declined", happened=True)

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(failing)

    run_id = runtime.new_run_id()
    store.completions = [Fenced(run_id)]
    with pytest.raises(Fenced):
        await runtime.start(flow, run_id=run_id)

    assert [entry.outcome for entry in (await runtime.history(run_id)).late] == ["error"]
    opened = await runtime.resume(run_id, flow)
    assert isinstance(opened, OpenWrite)
    events = [e.event for e in (await runtime.history(run_id)).envelopes]
    assert not any(isinstance(event, ToolCallCompleted) for event in events)
