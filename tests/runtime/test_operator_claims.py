"""What operators say of claims (DURABILITY E6)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from salvor.errors import UnknownToolError
from salvor.events.claim_log import check_claim_log
from salvor.events.claims import ClaimId
from salvor.registry.registry import Registry
from salvor.run_errors import ClaimRefused, LeaseHeld, NotDoneRefused, OutputMisfit, UnknownClaim
from salvor.runtime.outcome import Completed, Failed, OpenWrite, Parked
from salvor.runtime.resolve import ResolvedFailure, ResolvedOutput
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.testing.clock import FakeClock, FakeIds
from salvor.tools.context import Context
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool
from salvor.tools.parking import suspend
from salvor.values import JsonObject, JsonValue
from tests.runtime.conftest import MakeRuntime, MakeStore
from tests.support.shop import WORLD, World, fresh_world, happened, paying

pytestmark = pytest.mark.anyio

PAID: JsonObject = {"claim_id": "c1", "cents": 100}
SAID: Any = {"reason": "the bank says so", "by": "ada", "evidence": "ticket 7"}


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


@pytest.fixture
def runtime(make_runtime: MakeRuntime) -> Runtime:
    return make_runtime(clock=FakeClock(datetime(2026, 7, 9, tzinfo=UTC)), claim_wait=0.0)


async def held(runtime: Runtime, world: World) -> tuple[OpenWrite, ClaimId]:
    world.trouble = [happened(None)]
    opened = await runtime.run(paying, claim_id="c1")
    assert isinstance(opened, OpenWrite)
    [claim] = await runtime.claims.list(state="held")
    return opened, claim.id


async def failed(runtime: Runtime, world: World, extent: Any) -> ClaimId:
    opened, claim_id = await held(runtime, world)
    await runtime.resolve(opened.run_id, ResolvedFailure(extent))
    assert (await runtime.claims.show(claim_id)).state == "failed"
    return claim_id


async def test_e6_a_held_claim_is_settled_with_the_log_of_its_holder(
    runtime: Runtime, world: World
) -> None:
    opened, claim_id = await held(runtime, world)
    waiting = await runtime.run(paying, claim_id="c1")
    settled = await runtime.claims.settle(claim_id, ResolvedOutput(PAID), **SAID)
    done = await runtime.resume(opened.run_id, paying)
    woken = await runtime.wake(waiting.run_id, paying)

    assert settled.state == "committed"
    assert isinstance(done, Completed)
    assert isinstance(woken, Completed)
    assert done.recorded == woken.recorded == PAID
    assert world.log == []
    [row] = await runtime.claims.log()
    assert (row.state_before, row.state_after) == ("held", "committed")
    assert (row.entry.verb, row.entry.by, row.entry.reason, row.entry.evidence) == (
        "settle",
        "ada",
        "the bank says so",
        "ticket 7",
    )


async def test_e6_an_output_that_does_not_fit_settles_nothing(
    runtime: Runtime, world: World
) -> None:
    _, claim_id = await held(runtime, world)

    with pytest.raises(OutputMisfit):
        await runtime.claims.settle(claim_id, ResolvedOutput("paid"), **SAID)
    assert await runtime.claims.log() == []


async def test_e6_a_held_claim_is_released_only_by_the_word_that_nobody_is_at_it(
    runtime: Runtime, world: World
) -> None:
    opened, claim_id = await held(runtime, world)
    with pytest.raises(NotDoneRefused):
        await runtime.claims.release(claim_id, **SAID)
    released = await runtime.claims.release(claim_id, worker_dead=True, **SAID)
    done = await runtime.run(paying, claim_id="c1")

    assert released.state == "released"
    assert isinstance(done, Completed)
    assert world.log == ["pay c1"]
    copied = await runtime.resume(opened.run_id, paying)
    assert isinstance(copied, Completed)
    assert world.log == ["pay c1"]


@pytest.mark.parametrize("extent", ["unknown"])
async def test_e6_a_failed_claim_may_be_released_unless_it_happened(
    runtime: Runtime, world: World, extent: str
) -> None:
    claim_id = await failed(runtime, world, extent)
    refused = await runtime.run(paying, claim_id="c1")
    released = await runtime.claims.release(claim_id, **SAID)
    done = await runtime.run(paying, claim_id="c1")

    assert isinstance(refused, Failed)
    assert released.state == "released"
    assert isinstance(done, Completed)


async def test_e3_what_happened_can_be_settled_never_released(
    runtime: Runtime, world: World
) -> None:
    claim_id = await failed(runtime, world, "yes")
    with pytest.raises(ClaimRefused, match="cannot be made undone"):
        await runtime.claims.release(claim_id, **SAID)
    settled = await runtime.claims.settle(claim_id, ResolvedOutput(PAID), **SAID)
    copied = await runtime.run(paying, claim_id="c1")

    assert (settled.state, settled.completion_seq) == ("committed", None)
    assert isinstance(copied, Completed)
    assert copied.recorded == PAID
    assert world.log == []


@pytest.mark.parametrize("extent", ["yes", "unknown"])
async def test_e6_an_output_that_does_not_fit_settles_no_failed_claim(
    make_runtime: MakeRuntime, make_store: MakeStore, world: World, extent: str
) -> None:
    clock = FakeClock()
    async with make_runtime(make_store(clock), clock=clock) as runtime:
        claim_id = await failed(runtime, world, extent)
        odds: list[JsonValue] = ["paid", {"claim_id": "c1"}, None]
        for odd in odds:
            with pytest.raises(OutputMisfit, match="what pay gives"):
                await runtime.claims.settle(claim_id, ResolvedOutput(odd), **SAID)
        assert (await runtime.claims.show(claim_id)).state == "failed"
        assert await runtime.claims.log() == []
        await runtime.claims.settle(claim_id, ResolvedOutput(PAID), **SAID)
        copied = await runtime.run(paying, claim_id="c1")

    assert isinstance(copied, Completed)
    assert copied.recorded == PAID


async def test_e6_a_failed_claim_is_given_no_output_where_its_tool_is_not_known(
    runtime: Runtime, world: World
) -> None:
    @tool(effect="write", idempotency_key="key")
    async def local(key: str) -> str:
        """Be known in one process only."""
        raise happened(True)

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(local, key="a")

    await runtime.run(flow)
    (claim,) = await runtime.claims.list()
    other = Runtime(
        store=runtime.store, registry=Registry(), clock=FakeClock(), ids=FakeIds(9), lease=30.0
    )

    with pytest.raises(UnknownToolError, match="'local'"):
        await other.claims.settle(claim.id, ResolvedOutput("x"), **SAID)
    assert (await other.claims.settle(claim.id, ResolvedFailure("yes"), **SAID)).state == "failed"


async def test_e6_a_failed_claim_may_be_said_to_have_done_something_else(
    runtime: Runtime, world: World
) -> None:
    claim_id = await failed(runtime, world, "unknown")
    settled = await runtime.claims.settle(claim_id, ResolvedFailure("yes"), **SAID)

    assert (settled.state, settled.extent) == ("failed", "yes")
    rows = await runtime.claims.log()
    assert check_claim_log(rows) == rows[-1].row_hash


async def test_e6_a_committed_claim_is_neither_released_nor_settled(
    runtime: Runtime, world: World
) -> None:
    await runtime.run(paying, claim_id="c1")
    [claim] = await runtime.claims.list()

    with pytest.raises(ClaimRefused):
        await runtime.claims.release(claim.id, **SAID)
    with pytest.raises(ClaimRefused):
        await runtime.claims.settle(claim.id, ResolvedOutput(PAID), **SAID)


async def test_e6_nothing_is_said_while_the_holder_is_driven(
    make_runtime: MakeRuntime, runtime: Runtime
) -> None:
    errors: list[Exception] = []

    @tool(effect="write", idempotency_key="claim_id", retry=Retry(attempts=1))
    async def charge(ctx: Context, claim_id: str) -> str:
        """Charge, while an operator releases."""
        [claim] = await runtime.claims.list()
        try:
            await runtime.claims.release(claim.id, worker_dead=True, **SAID)
        except LeaseHeld as error:
            errors.append(error)
        return "charged"

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(charge, claim_id="c1")

    done = await runtime.run(flow)

    assert isinstance(done, Completed)
    assert len(errors) == 1
    assert [claim.state for claim in await runtime.claims.list()] == ["committed"]


async def test_e6_the_key_of_a_tool_that_parked_is_settled_by_its_answer_alone(
    runtime: Runtime,
) -> None:
    @tool(effect="write", idempotency_key="flight")
    async def book(flight: str) -> str:
        """Book."""
        return suspend("which seat?", str)

    @workflow
    async def flow(run: Run) -> str:
        return await run.call(book, flight="f1")

    parked = await runtime.run(flow)
    assert isinstance(parked, Parked)
    [claim] = await runtime.claims.list()
    for verb in (
        runtime.claims.release(claim.id, worker_dead=True, **SAID),
        runtime.claims.settle(claim.id, ResolvedOutput("1A"), **SAID),
    ):
        with pytest.raises(ClaimRefused, match="answer or abandon"):
            await verb


async def test_a_key_that_nobody_claimed_is_unknown(runtime: Runtime) -> None:
    with pytest.raises(UnknownClaim, match="salvor claims list"):
        await runtime.claims.show(runtime.claims.id("native/pay", '{"claim_id":"c9"}'))


@pytest.mark.parametrize("said", [{"reason": " ", "by": "ada"}, {"reason": "x", "by": ""}])
async def test_a_reason_and_a_name_are_needed(
    runtime: Runtime, world: World, said: dict[str, str]
) -> None:
    _, claim_id = await held(runtime, world)

    with pytest.raises(ValueError, match="claim log"):
        await runtime.claims.release(claim_id, worker_dead=True, **said)
    assert WORLD.log == []


async def test_e4_the_output_of_a_run_that_was_let_go_is_still_copied(runtime: Runtime) -> None:
    first = await runtime.run(paying, claim_id="c1")
    ended_before = datetime(2030, 1, 1, tzinfo=UTC)
    assert await runtime.store.forget(first.run_id, ended_before=ended_before)
    copied = await runtime.run(paying, claim_id="c1")

    assert isinstance(copied, Completed)
    assert copied.recorded == PAID
    assert WORLD.log == ["pay c1"]
