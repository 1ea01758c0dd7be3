"""The append guard: which event may follow which.

Checked by whoever writes, before anything is submitted. Deliberately lenient where a later
reader loses nothing by it: a `Resumed` without a park is accepted. A `SleepCompleted` needs
its `SleepStarted`, and a client may read the clock in between to see that it is time.
"""

from __future__ import annotations

from salvor.events.vocabulary import (
    COMPLETIONS,
    HEADS,
    INTENTS,
    TERMINAL,
    Envelope,
    Event,
    ModelCallCompleted,
    ModelCallRequested,
    NowObserved,
    RandomObserved,
    RunAbandoned,
    SleepCompleted,
    SleepStarted,
    ToolCallCompleted,
    ToolCallRequested,
)
from salvor.store_errors import AppendRefused


def check_append(*, run_id: str, next_seq: int, last: Event | None, envelope: Envelope) -> None:
    """Check one event against the log it is to follow; the first rule that fails is named.

    Args:
        run_id: The log's run.
        next_seq: The log's length.
        last: The log's last event, ``None`` when it is empty.
        envelope: What is to be appended.

    Raises:
        AppendRefused: saying which rule does not hold.
    """
    detail = _violation(run_id, next_seq, last, envelope)
    if detail is not None:
        raise AppendRefused(run_id=run_id, seq=envelope.seq, detail=detail)


def _violation(run_id: str, next_seq: int, last: Event | None, envelope: Envelope) -> str | None:
    if envelope.schema_version != 1:
        return f"its schema version is {envelope.schema_version}, only 1 is written"
    if envelope.seq != next_seq:
        return f"the next position is {next_seq}"
    if envelope.run_id != run_id:
        return f"it belongs to run {envelope.run_id}"
    return misplaced(last, envelope.event, next_seq)


def misplaced(last: Event | None, event: Event, seq: int) -> str | None:
    """Why ``event`` may not stand at position ``seq``, right after ``last``."""
    if last is None:
        return None if isinstance(event, HEADS) else "a log begins with RunStarted"
    if isinstance(event, HEADS):
        return "a log has one head"
    if isinstance(last, TERMINAL):
        return f"the run has ended with {last.kind}"
    if isinstance(last, INTENTS):
        if completes(last, event) or isinstance(event, RunAbandoned):
            return None
        return f"the call at event {last.seq} is open, so only its completion may follow"
    if isinstance(event, COMPLETIONS):
        return f"no call at event {event.seq} is open"
    if isinstance(event, INTENTS) and event.seq != seq:
        return f"the intent names position {event.seq} instead of its own"
    if isinstance(event, SleepCompleted) and not isinstance(last, _MAY_WAKE):
        return "the run does not sleep"
    return None


_MAY_WAKE = (SleepStarted, NowObserved, RandomObserved)


def completes(intent: ModelCallRequested | ToolCallRequested, event: Event) -> bool:
    """Whether an event is the completion of that intent."""
    kind = ToolCallCompleted if isinstance(intent, ToolCallRequested) else ModelCallCompleted
    return isinstance(event, kind) and event.seq == intent.seq
