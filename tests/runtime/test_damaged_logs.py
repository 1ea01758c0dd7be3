"""Runs whose log is damaged: what an operator can still say, and what nobody throws away."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from salvor.events.claims import ClaimId
from salvor.run_errors import LeaseHeld, NotDoneRefused
from salvor.runtime.outcome import Completed, Failed, OpenWrite, Parked
from salvor.runtime.resolve import ResolvedFailure, ResolvedOutput
from salvor.runtime.runtime import Runtime
from salvor.store_errors import TamperEvident
from salvor.stores.sqlite import SqliteStore
from salvor.testing.clock import FakeClock
from tests.runtime.conftest import MakeRuntime
from tests.support.shop import World, fresh_world, happened, paying

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 7, 9, 12, 0, tzinfo=UTC)
SAID: Any = {"reason": "the bank says so", "by": "ada", "evidence": "ticket 7"}
PAID: Any = {"claim_id": "c1", "cents": 100}


@pytest.fixture(autouse=True)
def world() -> Iterator[World]:
    yield fresh_world()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOON)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def runtime(
    make_runtime: MakeRuntime, path: Path, clock: FakeClock
) -> AsyncIterator[Runtime]:
    store = SqliteStore.open(str(path), clock=clock)
    async with make_runtime(store, clock=clock, claim_wait=0.0) as runtime:
        yield runtime


def damage(path: Path, run_id: str, was: str = "RunStarted", now: str = "RunStarved") -> None:
    """Alter an event of a run behind the store's back."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TRIGGER events_are_never_changed")
        changed = db.execute(
            "UPDATE events SET envelope = replace(envelope, ?1, ?2)"
            " WHERE instr(envelope, ?1) AND run IN (SELECT id FROM runs WHERE run_id = ?3)",
            (was, now, run_id),
        ).rowcount
        assert changed >= 1
        db.commit()


async def held(runtime: Runtime, world: World, path: Path) -> tuple[ClaimId, Parked]:
    """The key of an open write in a damaged log, and a run that waits for it."""
    world.trouble = [happened(None)]
    opened = await runtime.run(paying, claim_id="c1")
    assert isinstance(opened, OpenWrite)
    waiting = await runtime.run(paying, claim_id="c1")
    assert isinstance(waiting, Parked)
    damage(path, opened.run_id)
    [claim] = await runtime.claims.list(state="held")
    with pytest.raises(TamperEvident):
        await runtime.state(opened.run_id)
    return claim.id, waiting


async def test_e6_a_key_that_a_damaged_log_holds_is_released_for_who_vouches(
    runtime: Runtime, world: World, path: Path
) -> None:
    key, waiting = await held(runtime, world, path)
    with pytest.raises(NotDoneRefused, match="damaged"):
        await runtime.claims.release(key, **SAID)
    with pytest.raises(NotDoneRefused, match="damaged"):
        await runtime.claims.settle(key, ResolvedFailure("no"), **SAID)
    released = await runtime.claims.release(key, **SAID, worker_dead=True)
    found = await runtime.wake_due()

    assert released.state == "released"
    assert isinstance(found[waiting.run_id], Completed)
    assert world.log == ["pay c1"]
    [row] = await runtime.claims.log()
    assert (row.state_before, row.state_after, row.entry.by) == ("held", "released", "ada")


async def test_e6_a_key_that_a_damaged_log_holds_is_settled_with_what_became_of_it(
    runtime: Runtime, world: World, path: Path
) -> None:
    key, waiting = await held(runtime, world, path)
    settled = await runtime.claims.settle(key, ResolvedOutput(PAID), **SAID)
    found = await runtime.wake_due()

    assert settled.state == "committed"
    done = found[waiting.run_id]
    assert isinstance(done, Completed)
    assert done.recorded == PAID
    assert world.log == []


async def test_e6_a_key_that_a_damaged_log_holds_may_be_said_to_have_failed(
    runtime: Runtime, world: World, path: Path
) -> None:
    key, _ = await held(runtime, world, path)
    failed = await runtime.claims.settle(key, ResolvedFailure("yes"), **SAID)
    again = await runtime.run(paying, claim_id="c1")

    assert (failed.state, failed.extent) == ("failed", "yes")
    assert isinstance(again, Failed | Parked)
    assert world.log == []


async def test_f2_the_key_of_an_abandoned_call_in_a_damaged_log_needs_the_word_too(
    runtime: Runtime, world: World, path: Path
) -> None:
    world.trouble = [happened(None)]
    opened = await runtime.run(paying, claim_id="c1")
    await runtime.abandon(opened.run_id, happened="unknown")
    damage(path, opened.run_id)
    [claim] = await runtime.claims.list(state="failed")

    with pytest.raises(NotDoneRefused, match="damaged"):
        await runtime.claims.release(claim.id, **SAID)
    assert (await runtime.claims.release(claim.id, **SAID, worker_dead=True)).state == "released"


async def test_e6_no_word_on_a_key_while_its_damaged_run_is_being_driven(
    runtime: Runtime, make_runtime: MakeRuntime, world: World, path: Path
) -> None:
    key, _ = await held(runtime, world, path)
    claim = await runtime.claims.show(key)
    host = runtime._host
    await runtime.store.take_over(claim.run_id, host.driver, lease=30.0)

    with pytest.raises(LeaseHeld):
        await runtime.claims.release(key, **SAID, worker_dead=True)
    with pytest.raises(LeaseHeld):
        await runtime.claims.settle(key, ResolvedOutput(PAID), **SAID)
    assert (await runtime.claims.show(key)).state == "held"
    assert list(await runtime.claims.log()) == []


async def test_a_run_whose_output_is_damaged_is_kept_and_keeps_no_other(
    runtime: Runtime, path: Path, clock: FakeClock
) -> None:
    runs = [await runtime.run(paying, claim_id=one) for one in ("c1", "c2", "c3")]
    damage(path, runs[1].run_id, was='"cents":100', now='"cents":999')
    clock.move(3600)
    gone = await runtime.upkeep.forget(ended_before=clock.now())

    assert set(gone) == {runs[0].run_id, runs[2].run_id}
    with pytest.raises(TamperEvident):
        await runtime.state(runs[1].run_id)
    again = await runtime.run(paying, claim_id="c3")
    assert isinstance(again, Completed)
    assert again.recorded == {"claim_id": "c3", "cents": 100}


async def test_a_run_whose_claim_failed_is_kept_until_somebody_said_what_became_of_it(
    runtime: Runtime, world: World, clock: FakeClock
) -> None:
    world.trouble = [happened(True, final=True)]
    failed = await runtime.run(paying, claim_id="c1")
    assert isinstance(failed, Failed)
    clock.move(3600)
    assert await runtime.upkeep.forget(ended_before=clock.now()) == []
    [claim] = await runtime.claims.list(state="failed")
    await runtime.claims.settle(claim.id, ResolvedOutput(PAID), **SAID)

    assert await runtime.upkeep.forget(ended_before=clock.now()) == [failed.run_id]
    again = await runtime.run(paying, claim_id="c1")
    assert isinstance(again, Completed)
    assert again.recorded == PAID
    assert world.log == []
