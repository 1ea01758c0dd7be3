"""Every schedule of the small worlds: nothing happens twice, nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from salvor.clock import Clock
from salvor.stores.memory import MemoryStore
from tests.explorer.explorer import Played, explore
from tests.explorer.worlds import WORLDS


def sound(clock: Clock) -> MemoryStore:
    return MemoryStore(clock=clock)


def schedules(world: Any, preemptions: int) -> int:
    async def play(schedule: Sequence[str]) -> Played:
        played: Played = await world(sound, schedule)
        return played

    return explore(play, preemptions=preemptions)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.__name__)
def test_no_schedule_with_one_preemption_breaks_the_rules(world: Any) -> None:
    assert schedules(world, 1) > 5


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.__name__)
def test_no_schedule_with_two_preemptions_breaks_the_rules(world: Any) -> None:
    assert schedules(world, 2) > 20
