from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import anyio
import pytest

from salvor.clock import SystemIds
from salvor.events.claims import Claim, ClaimId
from salvor.events.records import Fence
from salvor.events.vocabulary import Origin, ToolCallCompleted
from salvor.registry.registry import Registry
from salvor.runtime.outcome import Completed, Failed, OpenWrite, Parked
from salvor.runtime.resolve import NotDone, ResolvedFailure, ResolvedOutput
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.store_errors import MalformedLog, TamperEvident
from salvor.stores.memory import MemoryStore
from salvor.testing.clock import FakeClock
from salvor.tools.decorator import tool
from tests.runtime.conftest import MakeRuntime
from tests.support import shop
from tests.support.shop import Receipt, World, fresh_world, happened

pytestmark = pytest.mark.anyio

PAY = ClaimId(namespace="default", scope="native/pay", key='{"claim_id":"c1"}')


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


async def _last_call(runtime: Runtime, run_id: str) -> ToolCallCompleted:
    events = [e.event for e in (await runtime.history(run_id)).envelopes]
    return [e for e in events if isinstance(e, ToolCallCompleted)][-1]


async def test_e4_a_second_run_gets_the_recorded_output(runtime: Runtime, world: World) -> None:
    first = await runtime.run(shop.paying, claim_id="c1", cents=5)
    second = await runtime.run(shop.paying, claim_id="c1", cents=5)

    assert isinstance(second, Completed)
    assert second.output == Receipt(claim_id="c1", cents=5)
    assert world.log == ["pay c1"]
    copy = await _last_call(runtime, second.run_id)
    assert copy.deduplicated_from == Origin(run_id=first.run_id, seq=1)


async def test_e4_the_same_call_twice_in_one_run_executes_once(
    runtime: Runtime, world: World
) -> None:
    @workflow
    async def twice(run: Run) -> list[str]:
        return [await run.call(shop.mark, "c1"), await run.call(shop.mark, "c1")]

    result = await runtime.run(twice)

    assert isinstance(result, Completed)
    assert result.output == ["marked c1", "marked c1"]
    assert world.log == ["mark c1"]


async def test_e4_a_third_run_copies_from_the_one_that_executed(runtime: Runtime) -> None:
    first, _, third = [await runtime.run(shop.paying, claim_id="c1") for _ in range(3)]

    copy = await _last_call(runtime, third.run_id)
    assert copy.deduplicated_from == Origin(run_id=first.run_id, seq=1)


async def test_e4_another_input_under_the_same_key_collides(runtime: Runtime, world: World) -> None:
    await runtime.run(shop.paying, claim_id="c1", cents=5)
    result = await runtime.run(shop.paying, claim_id="c1", cents=6)

    assert isinstance(result, Failed)
    assert "other arguments" in result.error
    assert world.log == ["pay c1"]
    assert (await _last_call(runtime, result.run_id)).extent == "no"


async def test_e4_an_integral_float_is_the_same_input(runtime: Runtime) -> None:
    @tool(effect="idempotent", idempotency_key="name")
    def scale(name: str, factor: Any) -> float:
        """Scale."""
        return float(factor)

    @workflow
    async def scaling(run: Run, factor: Any) -> float:
        return float(await run.call_named("scale", {"name": "a", "factor": factor}))

    runtime.registry.add(scale)
    await runtime.start(scaling, {"factor": 10})
    result = await runtime.start(scaling, {"factor": 10.0})

    assert isinstance(result, Completed)


async def test_e3_a_write_that_did_not_happen_releases_its_key(
    runtime: Runtime, world: World
) -> None:
    world.trouble = [happened(False, final=True)]
    failed = await runtime.run(shop.paying, claim_id="c1")
    result = await runtime.run(shop.paying, claim_id="c1")

    assert isinstance(failed, Failed)
    assert isinstance(result, Completed)
    assert world.log == ["pay c1"]


async def test_e3_a_failure_that_happened_keeps_its_key_from_everybody(
    runtime: Runtime, world: World
) -> None:
    world.trouble = [happened(True)]
    failed = await runtime.run(shop.paying, claim_id="c1")
    second = await runtime.run(shop.paying, claim_id="c1")

    assert isinstance(failed, Failed)
    assert isinstance(second, Failed)
    assert failed.run_id in second.error
    assert world.log == []
    assert len(world.keys) == 1
    assert (await _last_call(runtime, second.run_id)).extent == "yes"


async def test_e3_an_idempotent_call_that_may_have_happened_can_be_claimed_again(
    runtime: Runtime, world: World
) -> None:
    world.trouble = [ValueError("x")] * 3
    failed = await runtime.run(shop.marking)
    other = await runtime.run(shop.marking, note="else")
    result = await runtime.run(shop.marking)

    assert isinstance(failed, Failed)
    assert isinstance(other, Failed)
    assert isinstance(result, Completed)
    assert world.log == ["mark c1"]


async def test_e3_a_retried_write_keeps_its_claim(runtime: Runtime, world: World) -> None:
    world.trouble = [happened(False), happened(False), None]
    result = await runtime.run(shop.paying, claim_id="c1")

    claim = await runtime.store.claim(PAY)
    assert isinstance(result, Completed)
    assert claim is not None
    assert (claim.state, claim.intent_seq, claim.generation) == ("committed", 5, 3)


@pytest.mark.parametrize(
    ("resolution", "state", "extent"),
    [
        (ResolvedOutput({"claim_id": "c1", "cents": 100}), "committed", None),
        (ResolvedFailure("yes"), "failed", "yes"),
        (ResolvedFailure("unknown"), "failed", "unknown"),
        (ResolvedFailure("no"), "released", None),
        (NotDone(worker_dead=True), "released", None),
    ],
)
async def test_e3_a_resolution_settles_the_claim(
    runtime: Runtime, world: World, resolution: Any, state: str, extent: str | None
) -> None:
    world.trouble = [happened(None)]
    opened = await runtime.run(shop.paying, claim_id="c1")
    assert isinstance(opened, OpenWrite)
    held = await runtime.store.claim(PAY)
    assert held is not None
    assert held.state == "held"

    await runtime.resolve(opened.run_id, resolution)

    claim = await runtime.store.claim(PAY)
    assert claim is not None
    assert (claim.state, claim.extent) == (state, extent)


async def test_e5_a_held_key_parks_the_run_and_resuming_tries_again(
    make_runtime: MakeRuntime, world: World
) -> None:
    runtime = make_runtime(claim_wait=0.0)
    world.trouble = [happened(None)]
    opened = await runtime.run(shop.paying, claim_id="c1")
    waiting = await runtime.run(shop.paying, claim_id="c1")

    assert isinstance(waiting, Parked)
    assert waiting.waiting_for is not None
    assert waiting.waiting_for.holder_run == opened.run_id
    listed = {row.run_id: row for row in await runtime.list()}
    assert listed[waiting.run_id].waiting is not None
    assert listed[waiting.run_id].status == "running"
    assert len((await runtime.history(waiting.run_id)).envelopes) == 1

    still = await runtime.resume(waiting.run_id, shop.paying)
    assert isinstance(still, Parked)

    await runtime.resolve(opened.run_id, ResolvedOutput({"claim_id": "c1", "cents": 100}))
    listed = {row.run_id: row for row in await runtime.list()}
    assert listed[waiting.run_id].waiting is None
    done = await runtime.resume(waiting.run_id, shop.paying)

    assert isinstance(done, Completed)
    assert world.log == []


async def test_e5_a_run_waits_for_a_holder_that_is_still_at_it(
    make_runtime: MakeRuntime, world: World
) -> None:
    store = MemoryStore(clock=make_runtime()._host.clock)
    first, second = make_runtime(store), make_runtime(store)
    started, let_go = anyio.Event(), anyio.Event()

    @tool(effect="write", idempotency_key="n")
    async def slow(n: int) -> int:
        """Slow."""
        world.log.append("slow")
        started.set()
        await let_go.wait()
        return n

    @workflow
    async def flow(run: Run) -> int:
        return await run.call(slow, 1)

    results: list[Any] = []

    async def drive(runtime: Runtime) -> None:
        results.append(await runtime.run(flow))

    async with anyio.create_task_group() as group:
        group.start_soon(drive, first)
        await started.wait()
        group.start_soon(drive, second)
        while await store.claim(_slow_id()) is None:
            await anyio.sleep(0)
        let_go.set()

    assert [r.output for r in results] == [1, 1]
    assert world.log == ["slow"]


def _slow_id() -> ClaimId:
    return ClaimId(namespace="default", scope="native/slow", key='{"n":1}')


async def test_e4_a_copy_is_checked_against_the_hash_in_the_claims_row(
    make_runtime: MakeRuntime,
) -> None:
    class Forging(MemoryStore):
        async def claim(self, claim_id: ClaimId) -> Any:
            return await super().claim(claim_id)

        async def append(self, append: Any) -> Any:
            from dataclasses import replace

            seen = await super().append(append)
            assert seen is None or isinstance(seen, Claim)
            return seen and replace(seen, output_hash="sha256:forged")

    runtime = make_runtime()
    forging = make_runtime(Forging(clock=runtime._host.clock))
    await forging.run(shop.paying, claim_id="c1")

    with pytest.raises(TamperEvident):
        await forging.run(shop.paying, claim_id="c1")


async def test_e1_keys_5_and_text_5_differ_and_5_and_5_point_0_do_not(
    runtime: Runtime, world: World
) -> None:
    @tool(effect="write", idempotency_key="n")
    def put(n: int | str | float) -> str:
        """Put."""
        world.log.append(repr(n))
        return "put"

    @workflow
    async def flow(run: Run, n: int | str | float) -> str:
        return str(await run.call_named("put", {"n": n}))

    runtime.registry.add(put)
    for n in (5, "5", 5.0):
        await runtime.start(flow, {"n": n})

    assert world.log == ["5", "'5'"]


async def test_an_undeclared_key_claims_nothing(runtime: Runtime, world: World) -> None:
    await runtime.run(shop.sending)
    await runtime.run(shop.sending)

    assert world.log == ["send c1", "send c1"]
    assert len(set(world.keys)) == 2


async def test_e4_a_copy_that_todays_type_refuses_is_not_recorded(
    make_runtime: MakeRuntime,
) -> None:
    from salvor.store_errors import Divergence

    def flow_of(fn: Any) -> Any:
        @workflow(name="flow")
        async def flow(run: Run) -> str:
            return str(await run.call(fn, n=1))

        return flow

    @tool(effect="write", idempotency_key="n", name="make")
    def text(n: int) -> str:
        """Text."""
        return "abc"

    @tool(effect="write", idempotency_key="n", name="make")
    def number(n: int) -> int:
        """Number."""
        return 3

    first = make_runtime()
    await first.run(flow_of(text))
    second = make_runtime(first.store)
    run_id = second.new_run_id()
    with pytest.raises(Divergence, match="output"):
        await second.start(flow_of(number), run_id=run_id)

    assert len((await second.history(run_id)).envelopes) == 1
    third = make_runtime(first.store)
    assert isinstance(await third.resume(run_id, flow_of(text)), Completed)


async def test_e1_a_claim_is_the_operators_of_whose_namespace_it_is(world: World) -> None:
    store, clock = MemoryStore(clock=FakeClock()), FakeClock()
    for name in ("one", "other", "one"):
        runtime = Runtime(
            store=store, registry=Registry(), clock=clock, ids=SystemIds(), namespace=name
        )
        assert isinstance(await runtime.run(shop.paying, claim_id="c1"), Completed)
        runtime._host.keeper.stop()

    assert [claim.id.namespace for claim in await store.claims()] == ["one", "other"]
    assert world.log == ["pay c1", "pay c1"]


async def test_e5_a_run_does_not_wait_for_a_key_that_it_holds_itself(
    make_runtime: MakeRuntime, world: World
) -> None:
    class Patient(MemoryStore):
        async def wait(self, fence: Fence, claim_id: ClaimId, *, tool: str) -> bool:
            raise AssertionError("it waits for itself")

    store = Patient(clock=FakeClock())
    runtime = make_runtime(store, claim_wait=0.0)

    @workflow
    async def twice(run: Run) -> str:
        await run.call(shop.mark, "c1")
        [claim] = await store.claims()
        store._claims[claim.id] = replace(claim, state="held")  # somebody altered the table
        return await run.call(shop.mark, "c1")

    with pytest.raises(MalformedLog, match="its key is held"):
        await runtime.run(twice)
    assert world.log == ["mark c1"]
