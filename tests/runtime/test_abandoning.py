"""Ending a run by force, and what its key becomes then (DURABILITY F2, F4)."""

from __future__ import annotations

from typing import Any

import pytest

from salvor.events.records import Driver, Settlement
from salvor.run_errors import LeaseHeld, NotDoneRefused
from salvor.runtime.outcome import Completed, OpenWrite
from salvor.runtime.resolve import ResolvedFailure
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.store_errors import Fenced
from salvor.stores.memory import MemoryStore
from salvor.testing.clock import FakeClock
from salvor.tools.context import Context
from salvor.tools.decorator import tool
from tests.runtime.conftest import MakeRuntime, MakeStore
from tests.support.shop import happened

pytestmark = pytest.mark.anyio

LIMIT = 60.0
PASSED = LIMIT + 1


class Abandoned:
    """What became of the attempts to abandon a run from inside its call."""

    wishes: tuple[dict[str, Any], ...] = ()
    operator: Runtime
    clock: FakeClock
    refused: list[type[Exception]]
    charged: int


SCENE = Abandoned()


@tool(effect="write", idempotency_key="claim_id", timeout=LIMIT)
async def charge(ctx: Context, claim_id: str) -> str:
    """Charge, while somebody abandons the run after the tool's time limit."""
    SCENE.clock.move(PASSED)
    for wish in SCENE.wishes:
        try:
            await SCENE.operator.abandon(ctx.run_id, happened="no", **wish)
        except (NotDoneRefused, LeaseHeld) as error:
            SCENE.refused.append(type(error))
    SCENE.charged += 1
    return "charged"


@tool(effect="write", idempotency_key="claim_id", timeout=LIMIT)
async def unsure(claim_id: str) -> str:
    """Charge, and do not know whether it worked."""
    raise happened(None)


@workflow
async def charging(run: Run) -> str:
    return await run.call(charge, claim_id="c1")


@workflow
async def doubting(run: Run) -> str:
    return await run.call(unsure, claim_id="c1")


def staged(
    make_runtime: MakeRuntime, store: Any, clock: FakeClock, *wishes: dict[str, Any]
) -> Runtime:
    SCENE.wishes, SCENE.refused, SCENE.charged, SCENE.clock = wishes, [], 0, clock
    SCENE.operator = make_runtime(store, clock=clock)
    return make_runtime(store, clock=clock, lease=3600.0)


async def test_f2_force_does_not_say_that_a_body_under_a_live_lease_never_happened(
    make_runtime: MakeRuntime, make_store: MakeStore
) -> None:
    clock = FakeClock()
    store = make_store(clock)

    async with staged(make_runtime, store, clock, {"force": True}, {}) as driver:
        done = await driver.run(charging)
        [claim] = await driver.claims.list()

    assert isinstance(done, Completed)
    assert SCENE.refused == [NotDoneRefused, LeaseHeld]
    assert claim.state == "committed"
    assert SCENE.charged == 1


async def test_f2_the_word_that_the_worker_is_dead_lets_force_release_the_key(
    make_runtime: MakeRuntime, make_store: MakeStore
) -> None:
    clock = FakeClock()
    store = make_store(clock)

    wish = {"force": True, "worker_dead": True}
    async with staged(make_runtime, store, clock, wish) as driver:
        with pytest.raises(Fenced):
            await driver.run(charging)
        [claim] = await driver.claims.list()

    assert SCENE.refused == []
    assert claim.state == "released"


@pytest.mark.parametrize("force", [False, True])
async def test_f2_nobody_drives_the_run_and_its_time_limit_has_passed(
    make_runtime: MakeRuntime, make_store: MakeStore, force: bool
) -> None:
    clock = FakeClock()
    async with make_runtime(make_store(clock), clock=clock) as runtime:
        opened = await runtime.run(doubting)
        assert isinstance(opened, OpenWrite)
        with pytest.raises(NotDoneRefused, match="no time limit"):
            await runtime.abandon(opened.run_id, happened="no", force=force)
        clock.move(PASSED)
        await runtime.abandon(opened.run_id, happened="no", force=force)
        [claim] = await runtime.claims.list()

    assert claim.state == "released"


async def test_f2_a_key_failed_by_force_is_released_only_by_the_word_that_nobody_is_at_it(
    make_runtime: MakeRuntime, make_store: MakeStore
) -> None:
    clock = FakeClock()
    async with make_runtime(make_store(clock), clock=clock) as runtime:
        opened = await runtime.run(doubting)
        await runtime.abandon(opened.run_id, happened="unknown", force=True)
        clock.move(PASSED)
        [claim] = await runtime.claims.list()
        said: Any = {"reason": "the bank says no", "by": "ada"}
        with pytest.raises(NotDoneRefused, match="ended with the call open"):
            await runtime.claims.release(claim.id, **said)
        with pytest.raises(NotDoneRefused, match="ended with the call open"):
            await runtime.claims.settle(claim.id, ResolvedFailure("no"), **said)
        assert (await runtime.claims.show(claim.id)).state == "failed"
        released = await runtime.claims.release(claim.id, worker_dead=True, **said)

    assert released.state == "released"


class TakenOver(MemoryStore):
    """Somebody takes a run over just before an operator's word is written."""

    async def settle(self, settlement: Settlement) -> None:
        await self.take_over(settlement.run_id, Driver(id="d", pid=1, host="h"), lease=30.0)
        await super().settle(settlement)


async def test_f2_force_releases_no_key_of_a_run_that_was_taken_over_meanwhile(
    make_runtime: MakeRuntime,
) -> None:
    clock = FakeClock()
    async with make_runtime(TakenOver(clock=clock), clock=clock) as runtime:
        opened = await runtime.run(doubting)
        clock.move(PASSED)
        with pytest.raises(LeaseHeld):
            await runtime.abandon(opened.run_id, happened="no", force=True)
        [claim] = await runtime.claims.list()

    assert claim.state == "held"
