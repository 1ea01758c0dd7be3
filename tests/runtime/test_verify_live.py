"""A store is verified while runs go on in it (DURABILITY E2)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from salvor.events.claims import Claim
from salvor.runtime.outcome import Completed
from salvor.runtime.resolve import ResolvedOutput
from salvor.runtime.runtime import Runtime
from salvor.stores.memory import MemoryStore
from salvor.stores.sqlite import SqliteStore
from salvor.testing.clock import FakeClock
from salvor.values import JsonObject
from tests.runtime.conftest import MakeRuntime
from tests.support.shop import World, fresh_world, happened, paying

pytestmark = pytest.mark.anyio

PAID: JsonObject = {"claim_id": "c1", "cents": 100}


class Moving:
    """Something happens when the logs were read and the claims are not."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    async def claims(self, **page: Any) -> Any:
        act, self.meanwhile = self.meanwhile, None
        if act is not None:
            await act()
        return await super().claims(**page)  # type: ignore[misc]


class MovingMemory(Moving, MemoryStore):
    pass


class MovingSqlite(Moving, SqliteStore):
    pass


class Forged(MovingMemory):
    """A claim of a run that never made the call."""

    async def claim(self, claim_id: Any) -> Claim | None:
        found = await super().claim(claim_id)
        return None if found is None else _forged(found)

    async def claims(self, **page: Any) -> Any:
        return [_forged(claim) for claim in await super().claims(**page)]


def _forged(claim: Claim) -> Claim:
    return replace(claim, intent_seq=0)


@pytest.fixture(autouse=True)
def world() -> World:
    return fresh_world()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Any:
    if request.param == "memory":
        return MovingMemory(clock=clock)
    return MovingSqlite.open(tmp_path / "store.db", clock=clock)


def begins(runtime: Runtime, run_id: str) -> Awaitable[object]:
    return runtime.run(paying, claim_id="c2")


def resolves(runtime: Runtime, run_id: str) -> Awaitable[object]:
    return runtime.resolve(run_id, ResolvedOutput(PAID))


@pytest.mark.parametrize("act", [begins, resolves])
async def test_e2_what_happens_meanwhile_is_no_fault(
    make_runtime: MakeRuntime, store: Any, clock: FakeClock, world: World, act: Any
) -> None:
    async with make_runtime(store, clock=clock) as runtime:
        world.trouble = [happened(None)]
        opened = await runtime.run(paying, claim_id="c1")
        store.meanwhile = lambda: act(runtime, opened.run_id)
        found = await runtime.upkeep.verify()

    assert found.faults == ()
    assert store.meanwhile is None


async def test_e2_a_claim_of_a_call_that_was_never_made_is_one(
    make_runtime: MakeRuntime, clock: FakeClock
) -> None:
    async with make_runtime(Forged(clock=clock), clock=clock) as runtime:
        assert isinstance(await runtime.run(paying, claim_id="c1"), Completed)
        found = await runtime.upkeep.verify()

    assert [fault.detail.partition(" of run")[0] for fault in found.faults] == ["event 0"]
