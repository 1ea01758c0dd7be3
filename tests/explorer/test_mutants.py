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
LONG = {("Leaseless", "two_loops")}  # it takes many schedules to be seen
TABLE = [
    pytest.param(
        mutant,
        world,
        id=f"{mutant.__name__}-{world}",
        marks=[pytest.mark.slow] if (mutant.__name__, world) in LONG else [],
    )
    for mutant, found in MUTANTS.items()
    for world in found
]


@pytest.mark.parametrize(("mutant", "world"), TABLE)
def test_a_guard_that_is_switched_off_is_caught(mutant: type[MemoryStore], world: str) -> None:
    async def play(schedule: Sequence[str]) -> Played:
        played: Played = await BY_NAME[world](lambda clock: mutant(clock=clock), schedule)
        return played

    with pytest.raises((AssertionError, SalvorError)):
        explore(play, preemptions=2, limit=2000)
