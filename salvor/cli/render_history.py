"""How a run's events look: one line each."""

from __future__ import annotations

from collections.abc import Iterable

from salvor.cli.render import printable, when
from salvor.events.records import LateResult
from salvor.events.vocabulary import (
    ERROR_SENTINEL,
    Envelope,
    Event,
    NowObserved,
    RandomObserved,
    Resumed,
    RunCompleted,
    RunFailed,
    RunStarted,
    Suspended,
    ToolCallCompleted,
    ToolCallRequested,
)
from salvor.values import JsonValue, canonical_json

DETAIL_WIDTH = 160


def event_line(envelope: Envelope) -> str:
    """``seq  time  Kind  detail``."""
    event = envelope.event
    detail = short(_detail(event))
    return f"{envelope.seq:>5}  {when(envelope.recorded_at)}  {event.kind:<17}  {detail}".rstrip()


def late_lines(late: Iterable[LateResult]) -> Iterable[str]:
    """What became known too late for the log, one line each."""
    for result in late:
        yield short(
            f"late: the call at event {result.intent_seq} (epoch {result.epoch}) ended with "
            f"{result.outcome} {result.value}; nobody was waiting for it any more"
        )


def short(text: str) -> str:
    """One line, cut where it gets long."""
    line = printable(text).replace("\n", "\\n").replace("\t", " ")
    return line if len(line) <= DETAIL_WIDTH else line[: DETAIL_WIDTH - 1] + "…"


def _detail(event: Event) -> str:
    if isinstance(event, RunStarted):
        workflow = f"{event.workflow.name} " if event.workflow else ""
        return f"{workflow}{canonical_json(event.input)}"
    if isinstance(event, ToolCallRequested):
        return f"{event.tool} [{event.effect}] {canonical_json(event.input)}"
    if isinstance(event, ToolCallCompleted):
        return _completion(event)
    if isinstance(event, NowObserved):
        return event.now
    if isinstance(event, RandomObserved):
        return str(event.value)
    if isinstance(event, Suspended):
        return event.reason
    if isinstance(event, Resumed):
        return canonical_json(event.input)
    if isinstance(event, RunCompleted):
        return canonical_json(event.output)
    if isinstance(event, RunFailed):
        return event.error
    return ""


def _completion(event: ToolCallCompleted) -> str:
    marks = [f"call {event.seq}"]
    if event.outcome is not None:
        marks.append("never happened" if event.outcome == "not_executed" else event.outcome)
    if event.extent is not None and event.outcome == "error":
        marks.append(f"happened: {event.extent}")
    if event.settled_by is not None:
        marks.append(f"settled by {event.settled_by}")
    if event.deduplicated_from is not None:
        marks.append(
            f"deduplicated from event {event.deduplicated_from.seq} of run "
            f"{event.deduplicated_from.run_id}"
        )
    if event.attempts:
        count = len(event.attempts)
        marks.append(f"{count} failed attempt{'' if count == 1 else 's'}")
    return f"({', '.join(marks)}) {_result(event)}"


def _result(event: ToolCallCompleted) -> str:
    output: JsonValue = event.output
    if event.outcome is not None and isinstance(output, dict):
        failure = output.get(ERROR_SENTINEL)
        if isinstance(failure, dict):
            return str(failure.get("message"))
    return canonical_json(output)
