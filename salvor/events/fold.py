"""The state of a run, derived from its log and never stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from salvor.events.vocabulary import (
    Envelope,
    Event,
    NowObserved,
    RandomObserved,
    RunCompleted,
    RunFailed,
    RunStarted,
    Suspended,
    ToolCallCompleted,
    ToolCallRequested,
    WorkflowRef,
)
from salvor.values import JsonValue

Status = Literal[
    "not-started",
    "running",
    "awaiting-tool",
    "needs-reconciliation",
    "suspended",
    "completed",
    "failed",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Park:
    """The question a suspended run waits for; ``seq`` is its position."""

    seq: int
    reason: str
    input_schema: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """Where a run stands.

    ``pending`` is the open intent, kept through a terminal event; ``park`` is set while the
    run is suspended; ``output`` and ``error`` once it has ended.
    """

    status: Status = "not-started"
    next_seq: int = 0
    workflow: WorkflowRef | None = None
    input: JsonValue = None
    pending: ToolCallRequested | None = None
    pending_since: str | None = None
    park: Park | None = None
    output: JsonValue = None
    error: str | None = None


def fold(envelopes: Iterable[Envelope]) -> RunState:
    """The state after these events; total over every prefix of a log."""
    state = RunState()
    for envelope in envelopes:
        state = after(state, envelope)
    return state


def after(state: RunState, envelope: Envelope) -> RunState:
    """The state one event later."""
    event = envelope.event
    state = replace(state, next_seq=envelope.seq + 1)
    if isinstance(event, NowObserved | RandomObserved):
        return state
    if isinstance(event, ToolCallRequested):
        return replace(
            state,
            status="needs-reconciliation" if event.effect == "write" else "awaiting-tool",
            pending=event,
            pending_since=envelope.recorded_at,
        )
    if isinstance(event, Suspended):
        park = Park(seq=envelope.seq, reason=event.reason, input_schema=event.input_schema)
        return replace(state, status="suspended", park=park)
    return _moved(state, event)


def _moved(state: RunState, event: Event) -> RunState:
    if isinstance(event, RunStarted):
        return replace(state, status="running", workflow=event.workflow, input=event.input)
    if isinstance(event, RunCompleted):
        return replace(state, status="completed", park=None, output=event.output)
    if isinstance(event, RunFailed):
        return replace(state, status="failed", park=None, error=event.error)
    if isinstance(event, ToolCallCompleted):
        return replace(state, status="running", pending=None, pending_since=None)
    return replace(state, status="running", park=None)
