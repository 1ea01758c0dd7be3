from collections.abc import Iterator

import pytest

from salvor.errors import ToolFailed, UnknownToolError
from salvor.events.vocabulary import ToolCallCompleted
from salvor.registry.registry import Registry
from salvor.run_errors import LeaseHeld, NotDoneRefused, OutputMisfit, WrongState
from salvor.runtime.outcome import Completed, Failed, OpenWrite
from salvor.runtime.resolve import NotDone, ResolvedFailure, ResolvedOutput
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.stores.memory import MemoryStore
from salvor.testing.clock import FakeClock, FakeIds
from salvor.tools.context import Context
from salvor.tools.decorator import tool
from tests.runtime.conftest import MakeRuntime
from tests.support import shop
from tests.support.shop import Receipt, World, fresh_world, happened

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


async def _opened(runtime: Runtime, world: World) -> str:
    world.trouble = [happened(None)]
    result = await runtime.run(shop.paying, claim_id="c1")
    assert isinstance(result, OpenWrite)
    return result.run_id


async def test_f1_an_output_becomes_the_completion_and_the_run_goes_on(
    runtime: Runtime, world: World
) -> None:
    run_id = await _opened(runtime, world)

    state = await runtime.resolve(run_id, ResolvedOutput({"claim_id": "c1", "cents": 7}))

    assert state.status == "running"
    event = (await runtime.history(run_id)).envelopes[2].event
    assert isinstance(event, ToolCallCompleted)
    assert (event.seq, event.settled_by, event.outcome) == (1, "operator", None)
    result = await runtime.resume(run_id, shop.paying)
    assert isinstance(result, Completed)
    assert result.output == Receipt(claim_id="c1", cents=7)
    assert len(world.keys) == 1


@pytest.mark.parametrize("output", [{}, {"claim_id": "c1"}, {"claim_id": 1, "cents": True}, None])
async def test_f1_an_output_is_checked_against_the_tool_before_it_is_recorded(
    runtime: Runtime, world: World, output: object
) -> None:
    run_id = await _opened(runtime, world)

    with pytest.raises(OutputMisfit, match="what pay gives"):
        await runtime.resolve(run_id, ResolvedOutput(output))  # type: ignore[arg-type]

    assert (await runtime.state(run_id)).status == "needs-reconciliation"


@pytest.mark.parametrize("extent", ["no", "yes", "unknown"])
async def test_f1_a_failure_is_raised_with_what_it_may_have_done(
    runtime: Runtime, world: World, extent: str
) -> None:
    caught: list[ToolFailed] = []

    @workflow
    async def flow(run: Run) -> str:
        try:
            await run.call(shop.send, "c1")
        except ToolFailed as error:
            caught.append(error)
        return "went on"

    world.trouble = [happened(None)]
    opened = await runtime.run(flow)
    await runtime.resolve(opened.run_id, ResolvedFailure(extent, "the bank said no"))  # type: ignore[arg-type]
    result = await runtime.resume(opened.run_id, flow)

    assert isinstance(result, Completed)
    assert (caught[0].extent, caught[0].reason) == (extent, "the bank said no")
    assert len(world.keys) == 1


async def test_b2_not_done_consumes_the_intent_and_the_call_goes_on_from_a_fresh_one(
    runtime: Runtime, world: World
) -> None:
    run_id = await _opened(runtime, world)
    await runtime.resolve(run_id, NotDone(worker_dead=True))

    result = await runtime.resume(run_id, shop.paying)

    assert isinstance(result, Completed)
    assert world.log == ["pay c1"]
    kinds = [e.event.kind for e in (await runtime.history(run_id)).envelopes]
    assert kinds == [
        "RunStarted",
        *["ToolCallRequested", "ToolCallCompleted"] * 2,
        "RunCompleted",
    ]
    assert len(set(world.keys)) == 1


async def test_b2_an_intent_said_not_done_that_dangles_again_stops_again(
    runtime: Runtime, world: World
) -> None:
    run_id = await _opened(runtime, world)
    await runtime.resolve(run_id, NotDone(worker_dead=True))
    world.trouble = [happened(None)]

    again = await runtime.resume(run_id, shop.paying)

    assert isinstance(again, OpenWrite)
    assert again.seq == 3


async def test_f2_not_done_needs_the_word_that_the_worker_is_dead(
    runtime: Runtime, world: World
) -> None:
    run_id = await _opened(runtime, world)

    with pytest.raises(NotDoneRefused, match="--worker-dead"):
        await runtime.resolve(run_id, NotDone(worker_dead=False))
    assert (await runtime.state(run_id)).status == "needs-reconciliation"


async def test_a_second_resolve_is_refused(runtime: Runtime, world: World) -> None:
    run_id = await _opened(runtime, world)
    await runtime.resolve(run_id, ResolvedFailure("yes"))

    with pytest.raises(WrongState, match="no open write"):
        await runtime.resolve(run_id, ResolvedFailure("no"))


async def test_a_run_without_an_open_write_cannot_be_resolved(runtime: Runtime) -> None:
    done = await runtime.run(shop.looking)

    with pytest.raises(WrongState, match="completed"):
        await runtime.resolve(done.run_id, ResolvedFailure("no"))


async def test_f1_resolving_is_refused_under_a_live_lease(
    make_runtime: MakeRuntime, world: World
) -> None:
    clock = FakeClock()
    store = MemoryStore(clock=clock)
    driver, operator = make_runtime(store, clock=clock), make_runtime(store, clock=clock)
    refused: list[LeaseHeld] = []

    @tool(effect="write")
    async def resolve_me() -> str:
        """Be resolved from outside while running."""
        try:
            await operator.resolve(run_id, ResolvedFailure("no"))
        except LeaseHeld as error:
            refused.append(error)
        return "done"

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(resolve_me)

    run_id = driver.new_run_id()
    result = await driver.start(flow, run_id=run_id)

    assert isinstance(result, Completed)
    assert len(refused) == 1


async def test_an_output_cannot_be_checked_without_its_tool(
    make_runtime: MakeRuntime, world: World
) -> None:
    runtime = make_runtime()
    opened = await runtime.run(shop.paying, claim_id="c1")
    assert isinstance(opened, Completed)

    @tool(effect="write")
    async def local() -> str:
        """Local."""
        raise happened(None)

    @workflow(name="local_flow")
    async def flow(run: Run) -> str:
        return await run.call(local)

    stopped = await runtime.run(flow)
    other = Runtime(
        store=runtime.store,
        registry=Registry(),
        clock=FakeClock(),
        ids=FakeIds(99),
    )
    with pytest.raises(UnknownToolError, match="'local'"):
        await other.resolve(stopped.run_id, ResolvedOutput("x"))
    await other.resolve(stopped.run_id, ResolvedFailure("no"))


async def test_a_failed_run_keeps_the_resolution(runtime: Runtime, world: World) -> None:
    run_id = await _opened(runtime, world)
    await runtime.resolve(run_id, ResolvedFailure("yes", "paid by hand"))

    result = await runtime.resume(run_id, shop.paying)

    assert isinstance(result, Failed)
    assert result.error == "pay: paid by hand"


async def test_f2_not_done_may_be_said_once_the_tools_time_limit_has_passed(
    make_runtime: MakeRuntime,
) -> None:
    clock = FakeClock()
    runtime = make_runtime(clock=clock)

    @tool(effect="write", timeout=60)
    async def limited() -> str:
        """Limited."""
        raise happened(None)

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(limited)

    opened = await runtime.run(flow)
    with pytest.raises(NotDoneRefused, match="limited"):
        await runtime.resolve(opened.run_id, NotDone(worker_dead=False))
    clock.move(61)

    assert (await runtime.resolve(opened.run_id, NotDone(worker_dead=False))).status == "running"


async def test_f2_the_time_limit_is_the_one_the_call_was_made_with(
    make_runtime: MakeRuntime, world: World
) -> None:
    clock = FakeClock()
    runtime = make_runtime(clock=clock)

    @tool(effect="write", timeout=1)
    async def wire(ctx: Context) -> str:
        """Wire money."""
        world.act("wire", ctx)
        return "wired"

    @workflow
    async def flow(run: Run) -> str:
        return await run.options(timeout=3600).call(wire)

    world.trouble = [happened(None)]
    opened = await runtime.run(flow)
    clock.move(3599)
    with pytest.raises(NotDoneRefused):
        await runtime.resolve(opened.run_id, NotDone(worker_dead=False))
    with pytest.raises(NotDoneRefused):
        await runtime.abandon(opened.run_id, happened="no")
    clock.move(1)
    await runtime.resolve(opened.run_id, NotDone(worker_dead=False))

    assert isinstance(await runtime.resume(opened.run_id, flow), Completed)


async def test_f1_a_call_that_is_made_again_by_itself_is_nobodys_to_resolve(
    runtime: Runtime, world: World
) -> None:
    def cut_off(ctx: Context) -> None:
        raise KeyboardInterrupt

    world.inside = cut_off
    run_id = runtime.new_run_id()
    with pytest.raises(KeyboardInterrupt):
        await runtime.start(shop.marking, {}, run_id=run_id)
    world.inside = None
    assert (await runtime.state(run_id)).status == "awaiting-tool"

    for word in (ResolvedOutput("marked"), ResolvedFailure("yes"), NotDone(worker_dead=True)):
        with pytest.raises(WrongState, match="has no open write"):
            await runtime.resolve(run_id, word)
    assert isinstance(await runtime.resume(run_id, shop.marking), Completed)
