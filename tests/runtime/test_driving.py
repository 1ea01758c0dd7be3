from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from salvor.errors import ArgumentsRefused, JsonRefused, TargetError, WorkflowDefinitionError
from salvor.events.vocabulary import RunStarted
from salvor.run_errors import RunExists, UnknownRun
from salvor.runtime.outcome import Completed, Failed, OpenWrite
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.store_errors import Divergence, Fenced
from salvor.stores.memory import MemoryStore
from salvor.testing.clock import FakeClock
from salvor.tools.decorator import tool
from salvor.tools.function import function_tool
from tests.runtime.conftest import MakeRuntime
from tests.support import shop
from tests.support.shop import Receipt, World, fresh_world, happened

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


async def test_c6_the_head_names_workflow_version_target_and_input(runtime: Runtime) -> None:
    result = await runtime.start(shop.paying, {"claim_id": "c1"})

    head = (await runtime.history(result.run_id)).envelopes[0].event
    assert isinstance(head, RunStarted)
    assert head.input == {"claim_id": "c1"}
    assert head.workflow is not None
    assert (head.workflow.name, head.workflow.version) == ("paying", "1")
    assert head.workflow.target == "tests.support.shop:paying"


async def test_c6_a_run_is_resumed_by_its_recorded_target(runtime: Runtime, world: World) -> None:
    world.trouble = [happened(None)]
    opened = await runtime.run(shop.sending)
    assert isinstance(opened, OpenWrite)

    again = await runtime.resume(opened.run_id)

    assert isinstance(again, OpenWrite)


async def test_c6_another_version_diverges_at_the_head(runtime: Runtime) -> None:
    def flow(version: str) -> Any:
        @workflow(name="flow", version=version)
        async def flow(run: Run) -> bool:
            return await run.suspend("?", bool)

        return flow

    parked = await runtime.run(flow("1"))
    with pytest.raises(Divergence, match=r"recorded is flow version 1, .* flow version 2"):
        await runtime.resume(parked.run_id, flow("2"))


async def test_input_that_does_not_fit_is_refused_with_all_problems_and_not_recorded(
    runtime: Runtime,
) -> None:
    with pytest.raises(ArgumentsRefused) as caught:
        await runtime.start(shop.paying, {"cents": True, "claim": "c1"})

    assert {p.pointer for p in caught.value.problems} == {"/cents", "/claim", "/claim_id"}
    assert await runtime.list() == []


async def test_a_run_id_is_used_once_and_has_to_be_a_uuid(runtime: Runtime) -> None:
    first = await runtime.run(shop.looking)

    with pytest.raises(RunExists):
        await runtime.start(shop.looking, run_id=first.run_id)
    for bad in ("", " ", "x" * 300, "a\x00b"):
        with pytest.raises(JsonRefused, match="UUID"):
            await runtime.start(shop.looking, run_id=bad)
    assert len(await runtime.list()) == 1


async def test_unknown_runs_are_refused_by_every_verb(runtime: Runtime) -> None:
    run_id = runtime.new_run_id()
    for verb in (runtime.resume, runtime.state, runtime.history):
        with pytest.raises(UnknownRun):
            await verb(run_id)


async def test_what_is_not_a_workflow_is_refused_with_a_hint(runtime: Runtime) -> None:
    async def plain(run: Run) -> None: ...

    with pytest.raises(WorkflowDefinitionError, match="@workflow"):
        await runtime.start(plain)


async def test_a_single_call_is_a_run(runtime: Runtime, world: World) -> None:
    tool = function_tool(shop.pay)
    runtime.registry.add(shop.pay)

    result = await runtime.call_tool(tool, {"claim_id": "c1", "cents": 4})

    assert isinstance(result, Completed)
    assert result.output == Receipt(claim_id="c1", cents=4)
    again = await runtime.resume(result.run_id)
    assert isinstance(again, Completed)
    assert again.recorded == result.recorded
    assert world.log == ["pay c1"]


async def test_a_single_call_that_fails_is_a_failed_run(runtime: Runtime, world: World) -> None:
    runtime.registry.add(shop.pay)

    result = await runtime.call_tool(function_tool(shop.pay), {"claim_id": "c1"})

    assert isinstance(result, Failed)
    assert "/cents" in result.error


async def test_g1_a_driver_taken_over_while_its_tool_runs_keeps_what_it_learnt(
    make_runtime: MakeRuntime, world: World
) -> None:
    clock = FakeClock()
    store = MemoryStore(clock=clock)
    slow, fast = make_runtime(store, clock=clock), make_runtime(store, clock=clock)

    @tool(effect="write")
    async def overtaken() -> str:
        """Be overtaken while running."""
        world.log.append("done")
        clock.move(31)
        opened = await fast.resume(run_id, flow)
        assert isinstance(opened, OpenWrite)
        return "receipt"

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(overtaken)

    run_id = slow.new_run_id()
    with pytest.raises(Fenced):
        await slow.start(flow, run_id=run_id)

    history = await fast.history(run_id)
    assert len(history.envelopes) == 2
    assert [(late.outcome, late.value) for late in history.late] == [("output", '"receipt"')]
    assert world.log == ["done"]


async def test_b1_a_driver_that_lost_its_lease_does_not_start_the_body(
    make_runtime: MakeRuntime, world: World
) -> None:
    class Stealing(MemoryStore):
        """Somebody takes the run over right after the intent is recorded."""

        async def append(self, append):  # type: ignore[no-untyped-def]
            seen = await super().append(append)
            if "ToolCallRequested" in append.rows[0].envelope:
                clock.move(31)
                await self.take_over(append.fence.run_id, thief._host.driver, lease=30)
            return seen

    clock = FakeClock()
    store = Stealing(clock=clock)
    owner, thief = make_runtime(store, clock=clock), make_runtime(store, clock=clock)
    run_id = owner.new_run_id()

    with pytest.raises(Fenced):
        await owner.start(shop.sending, run_id=run_id)

    assert world.keys == []
    late = (await owner.history(run_id)).late
    assert [entry.outcome for entry in late] == ["not_executed"]


async def test_b1_a_lease_that_ran_out_unnoticed_is_renewed_before_the_body(
    make_runtime: MakeRuntime, world: World
) -> None:
    class Slow(MemoryStore):
        """The machine sleeps through the recording of the intent; nobody takes over."""

        async def append(self, append):  # type: ignore[no-untyped-def]
            seen = await super().append(append)
            if "ToolCallRequested" in append.rows[0].envelope:
                clock.move(100)
            return seen

    clock = FakeClock()
    runtime = make_runtime(Slow(clock=clock), clock=clock)

    result = await runtime.run(shop.sending)

    assert isinstance(result, Completed)
    assert world.log == ["send c1"]


async def test_a_read_left_open_runs_again_and_an_idempotent_one_under_its_key(
    runtime: Runtime, world: World
) -> None:
    for flow, expected in ((shop.looking, "seen c1"), (shop.notifying, "told")):
        fresh_world()
        world.trouble = [KeyboardInterrupt()]  # type: ignore[list-item]
        run_id = runtime.new_run_id()
        with pytest.raises(KeyboardInterrupt):
            await runtime.start(flow, run_id=run_id)
        assert (await runtime.state(run_id)).status == "awaiting-tool"

        result = await runtime.resume(run_id, flow)

        assert isinstance(result, Completed)
        assert result.output == expected
        assert len(world.keys) == 2
        assert len(set(world.keys)) == 1
        assert len((await runtime.history(run_id)).envelopes) == 4


async def test_a1_a_crashed_execution_counts_for_the_extent(runtime: Runtime, world: World) -> None:
    world.trouble = [KeyboardInterrupt(), happened(False, final=True)]  # type: ignore[list-item]
    run_id = runtime.new_run_id()
    with pytest.raises(KeyboardInterrupt):
        await runtime.start(shop.notifying, run_id=run_id)

    await runtime.resume(run_id, shop.notifying)

    completion = (await runtime.history(run_id)).envelopes[2].event
    assert completion.extent == "unknown"  # type: ignore[union-attr]


async def test_an_unloadable_target_is_one_clear_error(runtime: Runtime, tmp_path: Path) -> None:
    @workflow
    async def flow(run: Run) -> bool:
        return await run.suspend("?", bool)

    parked = await runtime.run(flow)
    with pytest.raises(TargetError, match="inside functions"):
        await runtime.resume(parked.run_id)


async def test_a_damaged_run_hides_no_other_in_a_listing(make_runtime: MakeRuntime) -> None:
    class Forging(MemoryStore):
        async def read(self, run_id, *, after=-1, limit=1000):  # type: ignore[no-untyped-def]
            from dataclasses import replace

            page = await super().read(run_id, after=after, limit=limit)
            if run_id != bad:
                return page
            rows = [replace(row, envelope=row.envelope + " ") for row in page.rows]
            return replace(page, rows=rows)

    bad = ""
    runtime = make_runtime(Forging(clock=FakeClock()))
    first, second = await runtime.run(shop.looking), await runtime.run(shop.looking)
    bad = first.run_id

    statuses = {row.run_id: row.status for row in await runtime.list()}

    assert statuses == {first.run_id: "unreadable", second.run_id: "completed"}


async def test_g1_a_dangling_call_runs_again_only_while_the_run_is_ours(
    make_runtime: MakeRuntime, world: World
) -> None:
    class Stealing(MemoryStore):
        """Somebody takes the run over while its log is read for the replay."""

        stealing = False

        async def read(self, run_id: str, *, after: int = -1, limit: int = 1000) -> Any:
            page = await super().read(run_id, after=after, limit=limit)
            if self.stealing and page.head.lease is not None:
                clock.move(31)
                await self.take_over(run_id, thief._host.driver, lease=30)
                owner._host.keeper.add(_fence_of(owner), taken=clock.boot())
            return page

    def _fence_of(runtime: Runtime) -> Any:
        return next(iter(runtime._host.keeper._held))

    clock = FakeClock()
    store = Stealing(clock=clock)
    owner, thief = make_runtime(store, clock=clock), make_runtime(store, clock=clock)
    world.trouble = [KeyboardInterrupt()]  # type: ignore[list-item]
    run_id = owner.new_run_id()
    with pytest.raises(KeyboardInterrupt):
        await owner.start(shop.looking, run_id=run_id)
    store.stealing = True

    with pytest.raises(Fenced):
        await owner.resume(run_id, shop.looking)

    assert len(world.keys) == 1


async def test_a_lease_is_given_back_and_kept_no_longer(runtime: Runtime) -> None:
    result = await runtime.run(shop.looking)

    assert runtime._host.keeper._held == {}
    assert (await runtime.store.head(result.run_id)).lease is None


async def test_a_single_call_registers_its_tool(runtime: Runtime, world: World) -> None:
    result = await runtime.call_tool(function_tool(shop.look), {"claim_id": "c1"})

    assert isinstance(result, Completed)
    assert "look" in runtime.registry
