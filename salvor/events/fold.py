"""The state of a run, derived from its log and never stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from salvor.events.graph import GraphRunStarted
from salvor.events.vocabulary import (
    Budget,
    BudgetExceeded,
    Default,
    Envelope,
    Event,
    ModelCallCompleted,
    ModelCallRequested,
    NowObserved,
    ParkedCall,
    RandomObserved,
    RunAbandoned,
    RunCompleted,
    RunFailed,
    RunStarted,
    SleepStarted,
    Suspended,
    ToolCallCompleted,
    ToolCallRequested,
    UnresolvedWrite,
    WorkflowRef,
)
from salvor.values import JsonValue

Status = Literal[
    "not-started",
    "running",
    "awaiting-model",
    "awaiting-tool",
    "needs-reconciliation",
    "suspended",
    "sleeping",
    "budget-exceeded",
    "completed",
    "failed",
    "abandoned",
]
_RESTING: tuple[Status, ...] = ("suspended", "sleeping", "budget-exceeded")
ENDED: tuple[Status, ...] = ("completed", "failed", "abandoned")


@dataclass(frozen=True, slots=True, kw_only=True)
class Park:
    """What a suspended run waits for; ``seq`` is its position, the rest as in `Suspended`."""

    seq: int
    reason: str
    input_schema: JsonValue
    signal: str | None = None
    call: ParkedCall | None = None
    deadline: str | None = None
    default: Default | None = None

    @property
    def wants_approval(self) -> bool:
        """Whether it asks for a yes or no to a call that has not been made."""
        return self.call is not None and self.call.seq is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sleep:
    """Until when a run sleeps (RFC 3339); ``call`` is the one whose tool asked for it."""

    seq: int
    wake_at: str
    call: ParkedCall | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """Where a run stands.

    ``pending`` is the open intent, kept through a terminal event; ``park``, ``sleep``, and
    ``budget`` with what was ``observed``, are set while the run rests there; ``output``,
    ``error``, ``reason`` and ``by`` (who abandoned it) once it has ended. Tokens and ``steps``
    are those of model calls.
    """

    status: Status = "not-started"
    next_seq: int = 0
    workflow: WorkflowRef | None = None
    labels: dict[str, str] | None = None
    caller: str | None = None
    input: JsonValue = None
    pending: ToolCallRequested | ModelCallRequested | None = None
    pending_since: str | None = None
    park: Park | None = None
    sleep: Sleep | None = None
    budget: Budget | None = None
    observed: float | None = None
    output: JsonValue = None
    error: str | None = None
    reason: str | None = None
    by: str | None = None
    unresolved_write: UnresolvedWrite | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    steps: int = 0

    @property
    def ended(self) -> bool:
        """Whether nothing may follow."""
        return self.status in ENDED

    @property
    def open_call(self) -> ToolCallRequested | None:
        """The open intent of a tool call."""
        return self.pending if isinstance(self.pending, ToolCallRequested) else None


_NOTHING = RunState()


def fold(envelopes: Iterable[Envelope], state: RunState = _NOTHING) -> RunState:
    """The state after these events; total over every prefix of a log.

    Args:
        envelopes: The events, in order.
        state: The state before them.
    """
    last, called = None, None
    for last in envelopes:
        event = last.event
        if called is not None:
            # Most of a log is calls, and one that ended leaves the state as it was before.
            opened, called = called, None
            if isinstance(event, ToolCallCompleted):
                continue
            state = _moved(state, opened)
        if isinstance(event, ToolCallRequested) and _between_calls(state):
            called = last
        else:
            state = _moved(state, last)
    if called is not None:
        state = _moved(state, called)
    return state if last is None else replace(state, next_seq=last.seq + 1)


def _between_calls(state: RunState) -> bool:
    return state.status == "running" and state.pending is None


def after(state: RunState, envelope: Envelope) -> RunState:
    """The state one event later."""
    return replace(_moved(state, envelope), next_seq=envelope.seq + 1)


def _moved(state: RunState, envelope: Envelope) -> RunState:
    event = envelope.event
    if isinstance(event, NowObserved | RandomObserved):
        return state
    if isinstance(event, ToolCallRequested | ModelCallRequested):
        return _asked(state, event, envelope.recorded_at)
    if isinstance(event, RunStarted | GraphRunStarted):
        return _begun(state, event)
    if state.status in _RESTING:
        state = replace(state, park=None, sleep=None, budget=None, observed=None)
    if isinstance(event, RunCompleted | RunFailed | RunAbandoned):
        return _over(state, event)
    return _rested(state, event, envelope.seq)


def _asked(
    state: RunState, event: ToolCallRequested | ModelCallRequested, recorded_at: str
) -> RunState:
    if isinstance(event, ToolCallRequested):
        write = event.effect == "write"
        status: Status = "needs-reconciliation" if write else "awaiting-tool"
        return replace(state, status=status, pending=event, pending_since=recorded_at)
    return replace(
        state,
        status="awaiting-model",
        steps=state.steps + 1,
        pending=event,
        pending_since=recorded_at,
    )


def _begun(state: RunState, event: RunStarted | GraphRunStarted) -> RunState:
    state = replace(state, status="running", input=event.input, labels=event.labels)
    if isinstance(event, RunStarted):
        return replace(state, workflow=event.workflow, caller=event.caller)
    return state


def _over(state: RunState, event: RunCompleted | RunFailed | RunAbandoned) -> RunState:
    if isinstance(event, RunCompleted):
        return replace(state, status="completed", output=event.output)
    if isinstance(event, RunFailed):
        return replace(state, status="failed", error=event.error)
    return replace(
        state,
        status="abandoned",
        reason=event.reason,
        by=event.caller,
        unresolved_write=event.unresolved_write,
    )


def _rested(state: RunState, event: Event, seq: int) -> RunState:
    """The state after a park; anything else lets the run go on."""
    if isinstance(event, Suspended):
        return replace(state, status="suspended", park=park_at(seq, event))
    if isinstance(event, SleepStarted):
        sleep = Sleep(seq=seq, wake_at=event.wake_at, call=event.call)
        return replace(state, status="sleeping", sleep=sleep)
    if isinstance(event, BudgetExceeded):
        return replace(
            state, status="budget-exceeded", budget=event.budget, observed=event.observed
        )
    if isinstance(event, ModelCallCompleted):
        state = replace(
            state,
            input_tokens=state.input_tokens + event.usage.input_tokens,
            output_tokens=state.output_tokens + event.usage.output_tokens,
        )
    return replace(state, status="running", pending=None, pending_since=None)


def park_at(seq: int, event: Suspended) -> Park:
    """The park that is event ``seq``."""
    return Park(
        seq=seq,
        reason=event.reason,
        input_schema=event.input_schema,
        signal=event.awaited,
        call=event.call,
        deadline=event.deadline,
        default=event.default,
    )
