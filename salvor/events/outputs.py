"""What a call gave in the end, read off the event that committed its claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from salvor.events.vocabulary import (
    Event,
    Resumed,
    SleepCompleted,
    SleepStarted,
    ToolCallCompleted,
)
from salvor.values import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class Given:
    """A value; a type of its own, since ``null`` is one."""

    value: JsonValue


def output_at(events: Mapping[int, Event], seq: int) -> Given | None:
    """What the event at ``seq`` gives as the output of its call; ``None``: nothing.

    Args:
        events: By position, at least that event and the one before it.
        seq: The completion, or what ended the park that the call's tool asked for.
    """
    event = events.get(seq)
    if isinstance(event, ToolCallCompleted):
        return Given(event.output) if event.outcome is None else None
    if isinstance(event, Resumed):
        return Given(event.input)
    before = events.get(seq - 1)
    if isinstance(event, SleepCompleted) and isinstance(before, SleepStarted):
        return Given(slept(before.wake_at))
    return None


def slept(wake_at: str) -> JsonObject:
    """What a call gives that slept."""
    return {"slept_until": wake_at}
