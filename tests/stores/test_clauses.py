from __future__ import annotations

import re
from pathlib import Path

import pytest

from salvor.clock import Clock
from salvor.events.store import Store
from salvor.stores.memory import MemoryStore
from salvor.stores.sqlite import SqliteStore
from salvor.testing.store_checks import CHECKS
from salvor.testing.store_opened import Check, MakeStore


@pytest.fixture(params=["memory", "sqlite"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    def make(clock: Clock) -> Store:
        if request.param == "memory":
            return MemoryStore(clock=clock)
        return SqliteStore.open(tmp_path / "store.db", clock=clock)

    return make


@pytest.mark.anyio
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_a_store_keeps_the_clause(check: Check, make_store: MakeStore) -> None:
    await check(make_store)


def test_every_clause_has_a_check() -> None:
    clauses = set(re.findall(r"^ +S(\d+)\. ", Store.__doc__ or "", re.MULTILINE))
    checked = {check.__name__.split("_")[0].removeprefix("s") for check in CHECKS}
    assert len(clauses) > 10
    assert checked == clauses
