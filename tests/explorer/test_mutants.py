"""Every guard that is switched off is caught: a guard nobody would miss is not guarded."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from salvor.errors import SalvorError
from salvor.stores.memory import MemoryStore
from tests.explorer.explorer import Played, explore
from tests.explorer.mutants import MUTANTS
from tests.explorer.worlds import WORLDS

BY_NAME = {world.__name__: world for world in WORLDS}
TABLE = [(mutant, world) for mutant, found in MUTANTS.items() for world in found]


@pytest.mark.parametrize(
    ("mutant", "world"), TABLE, ids=[f"{mutant.__name__}-{world}" for mutant, world in TABLE]
)
def test_a_guard_that_is_switched_off_is_caught(mutant: type[MemoryStore], world: str) -> None:
    async def play(schedule: Sequence[str]) -> Played:
        played: Played = await BY_NAME[world](lambda clock: mutant(clock=clock), schedule)
        return played

    with pytest.raises((AssertionError, SalvorError)):
        explore(play, preemptions=2, limit=2000)
