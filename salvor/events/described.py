"""What an event is, in the words of a message."""

from __future__ import annotations

from salvor.events.vocabulary import (
    TERMINAL,
    Event,
    ModelCallCompleted,
    SleepStarted,
    Suspended,
    ToolCallCompleted,
    ToolCallRequested,
)


def described(event: Event) -> str:
    """Its kind, and what tells it from others of that kind."""
    detail = _detail(event)
    return f"{event.kind} ({detail})" if detail else event.kind


def _detail(event: Event) -> str:
    if isinstance(event, ToolCallRequested):
        return f"a call of {event.tool}"
    if isinstance(event, ToolCallCompleted | ModelCallCompleted):
        return f"of the call at event {event.seq}"
    if isinstance(event, Suspended):
        asked = f"for {event.reason!r}"
        return asked if event.call is None else f"{asked}, about {event.call.tool}"
    if isinstance(event, SleepStarted):
        return f"until {event.wake_at}"
    if isinstance(event, TERMINAL):
        return "the run has ended"
    node = getattr(event, "node", None)
    return "" if node is None else f"at node {node}"
