"""Runs small worlds under every schedule of their actors, up to a number of preemptions.

An actor stops at each call of the store and around each effect of a tool, and goes on when
the schedule lets it. So every interleaving of these steps can be played, and played again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import anyio
import trio

ACTOR: ContextVar[str | None] = ContextVar("ACTOR", default=None)


class Gate:
    """Where actors stop, and who may go on."""

    def __init__(self) -> None:
        self.waiting: dict[str, tuple[str, anyio.Event]] = {}
        self.trace: list[str] = []
        self.changed = anyio.Event()

    async def __call__(self, step: str) -> None:
        """Stop here until the schedule lets this actor go on."""
        actor = ACTOR.get()
        if actor is None:
            return  # what comes before and after the race is not part of it
        event = anyio.Event()
        self.waiting[actor] = (step, event)
        self.changed.set()
        try:
            await event.wait()
        except BaseException:  # cancelled: it goes on without a turn of its own
            self.waiting.pop(actor, None)
            raise

    def let(self, actor: str) -> None:
        """Let one actor take its next step."""
        step, event = self.waiting.pop(actor)
        self.trace.append(f"{actor}: {step}")
        event.set()


class Stepped:
    """A store whose every call is a step."""

    def __init__(self, store: Any, gate: Gate) -> None:
        self._store = store
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name in ("renew", "close"):
            return found

        async def stepped(*args: Any, **kwargs: Any) -> Any:
            await self._gate(name)
            return await found(*args, **kwargs)

        return stepped


Actor = Callable[[], Awaitable[object]]


@dataclass(slots=True)
class Played:
    """One schedule: who could go on at each step, and who did."""

    enabled: list[tuple[str, ...]] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)


async def play(actors: dict[str, Actor], gate: Gate, schedule: Sequence[str]) -> Played:
    """Let the actors run, by the schedule as far as it goes, then each to its end."""
    played = Played()
    alive = set(actors)

    async def act(name: str, actor: Actor) -> None:
        ACTOR.set(name)
        try:
            await gate("begin")
            await actor()
        finally:
            alive.discard(name)
            gate.changed.set()

    async with anyio.create_task_group() as group:
        for name, actor in actors.items():
            group.start_soon(act, name, actor)
        while alive:
            if len(gate.waiting) < len(alive):  # somebody is on the way to a next step
                await gate.changed.wait()
                gate.changed = anyio.Event()
                continue
            enabled = tuple(sorted(gate.waiting))
            step = len(played.chosen)
            last = played.chosen[-1] if played.chosen else None
            choice = last if last in enabled else enabled[0]
            if step < len(schedule):
                choice = schedule[step]
            assert choice is not None
            played.enabled.append(enabled)
            played.chosen.append(choice)
            gate.let(choice)
    played.trace = gate.trace
    return played


World = Callable[[Sequence[str]], Awaitable[Played]]


def explore(world: World, *, preemptions: int, limit: int = 20_000) -> int:
    """Play every schedule with at most so many preemptions; how many there were.

    Args:
        world: Builds everything afresh, plays one schedule and checks what came of it.
        preemptions: How often an actor that could go on is made to wait.
        limit: More schedules than this are a fault of the world: it is too large.
    """
    pending: list[tuple[str, ...]] = [()]
    count = 0
    while pending:
        prefix = pending.pop()
        played: Played = trio.run(world, prefix)
        count += 1
        if count > limit:
            raise AssertionError(f"more than {limit} schedules")
        pending.extend(_others(played, len(prefix), preemptions))
    return count


def _others(played: Played, begin: int, preemptions: int) -> Iterator[tuple[str, ...]]:
    """The schedules that part from this one at a later step."""
    for step in range(begin, len(played.chosen)):
        for other in played.enabled[step]:
            if other == played.chosen[step]:
                continue
            schedule = (*played.chosen[:step], other)
            if _preempted(played, schedule) <= preemptions:
                yield schedule


def _preempted(played: Played, schedule: Sequence[str]) -> int:
    return sum(
        before != now and before in played.enabled[step]
        for step, (before, now) in enumerate(pairwise(schedule), 1)
    )


class Violated(AssertionError):
    """What must not happen happened; the schedule is in the message."""


@contextmanager
def told(gate: Gate) -> Iterator[None]:
    """Say by which steps a check came to fail."""
    try:
        yield
    except AssertionError as error:
        raise Violated(f"{error}\nafter:\n  " + "\n  ".join(gate.trace)) from error
