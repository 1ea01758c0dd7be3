"""A proof that a call did something is not talked away (DURABILITY E7, F2)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from salvor.errors import Extent
from salvor.events.records import LateResult
from salvor.run_errors import Proved
from salvor.runtime.outcome import Completed, OpenWrite
from salvor.runtime.resolve import NotDone, ResolvedFailure, ResolvedOutput
from salvor.runtime.runtime import Runtime
from tests.support.shop import World, fresh_world, happened, paying

pytestmark = pytest.mark.anyio

SAID: Any = {"reason": "the bank says so", "by": "ada"}
PAID: Any = {"claim_id": "c1", "cents": 100}
NOTHING = [NotDone(worker_dead=True), ResolvedFailure("no")]


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


async def opened(runtime: Runtime, world: World) -> str:
    """A run whose payment may have happened."""
    world.trouble = [happened(None)]
    result = await runtime.run(paying, claim_id="c1")
    assert isinstance(result, OpenWrite)
    return result.run_id


async def late(
    runtime: Runtime,
    run_id: str,
    outcome: str = "output",
    extent: Extent | None = None,
    seq: int = 1,
) -> None:
    value = '{"cents":100,"claim_id":"c1"}' if outcome == "output" else '"declined"'
    await runtime.store.keep_late(
        LateResult(
            run_id=run_id,
            intent_seq=seq,
            epoch=1,
            outcome=outcome,
            value=value,
            extent=extent,
            kept_at=datetime(2026, 7, 9, tzinfo=UTC),
        )
    )


@pytest.mark.parametrize("word", NOTHING)
@pytest.mark.parametrize(("outcome", "extent"), [("output", None), ("error", "yes")])
async def test_f2_nothing_happened_is_refused_of_a_call_whose_body_came_back(
    runtime: Runtime, world: World, word: Any, outcome: str, extent: Extent | None
) -> None:
    run_id = await opened(runtime, world)
    await late(runtime, run_id, outcome, extent)
    [claim] = await runtime.claims.list(state="held")

    with pytest.raises(Proved, match="pay did something after all: at 2026-07-09"):
        await runtime.resolve(run_id, word)
    with pytest.raises(Proved):
        await runtime.claims.settle(claim.id, ResolvedFailure("no"), **SAID)
    with pytest.raises(Proved):
        await runtime.claims.release(claim.id, worker_dead=True, **SAID)
    with pytest.raises(Proved):
        await runtime.abandon(run_id, happened="no", worker_dead=True)
    assert (await runtime.state(run_id)).status == "needs-reconciliation"
    assert (await runtime.claims.show(claim.id)).state == "held"

    await runtime.resolve(run_id, ResolvedOutput(PAID))
    done = await runtime.resume(run_id, paying)
    assert isinstance(done, Completed)
    assert done.recorded == PAID
    assert world.log == []


async def test_f2_the_key_of_an_abandoned_call_whose_body_came_back_is_not_released(
    runtime: Runtime, world: World
) -> None:
    run_id = await opened(runtime, world)
    await runtime.abandon(run_id, happened="unknown")
    await late(runtime, run_id)
    [claim] = await runtime.claims.list(state="failed")

    for forbidden in (
        runtime.claims.release(claim.id, worker_dead=True, **SAID),
        runtime.claims.settle(claim.id, ResolvedFailure("no"), **SAID),
    ):
        with pytest.raises(Proved):
            await forbidden
    assert [one.outcome for one in await runtime.claims.late(claim)] == ["output"]
    await runtime.claims.settle(claim.id, ResolvedOutput(PAID), **SAID)
    assert isinstance(await runtime.run(paying, claim_id="c1"), Completed)
    assert world.log == []


@pytest.mark.parametrize(
    ("outcome", "extent", "seq"),
    [("error", "unknown", 1), ("error", "no", 1), ("not_executed", "no", 1), ("output", None, 0)],
)
async def test_what_proves_nothing_of_this_call_stands_in_nobodys_way(
    runtime: Runtime, world: World, outcome: str, extent: Extent | None, seq: int
) -> None:
    run_id = await opened(runtime, world)
    await late(runtime, run_id, outcome, extent, seq)

    await runtime.resolve(run_id, NotDone(worker_dead=True))
    assert isinstance(await runtime.resume(run_id, paying), Completed)
    assert world.log == ["pay c1"]
