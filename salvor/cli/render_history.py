"""How a run's events look: one line each."""

from __future__ import annotations

from collections.abc import Iterable

from salvor.cli.render import printable, when
from salvor.events.encoding import ENCODERS
from salvor.events.records import LateResult
from salvor.events.skim import Entry
from salvor.events.vocabulary import (
    ERROR_SENTINEL,
    BudgetExceeded,
    Envelope,
    Event,
    Resumed,
    RunAbandoned,
    RunCompleted,
    RunFailed,
    RunStarted,
    SleepCompleted,
    SleepStarted,
    Suspended,
    ToolCallCompleted,
    ToolCallRequested,
)
from salvor.values import JsonValue, canonical_json

DETAIL_WIDTH = 160


def entry_line(entry: Entry) -> str:
    """The line of an event, known here or only to a newer salvor."""
    if isinstance(entry, Envelope):
        return event_line(entry)
    return short(f"{entry.seq:>5}  an event {entry.what}, which this version does not know")


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
    if isinstance(event, ToolCallRequested):
        return f"{event.tool} [{event.effect}] {canonical_json(event.input)}"
    if isinstance(event, ToolCallCompleted):
        return _completion(event)
    if isinstance(event, RunStarted):
        workflow = f"{event.workflow.name} " if event.workflow else ""
        return f"{workflow}{canonical_json(event.input)}"
    if isinstance(event, Suspended | SleepStarted | Resumed | SleepCompleted | BudgetExceeded):
        return _rest(event)
    if isinstance(event, RunCompleted):
        return canonical_json(event.output)
    if isinstance(event, RunFailed):
        return event.error
    if isinstance(event, RunAbandoned):
        return _abandoned(event)
    return _plain(event)


def _rest(event: Suspended | SleepStarted | Resumed | SleepCompleted | BudgetExceeded) -> str:
    if isinstance(event, Suspended):
        marks = [f"signal {event.name}"] if event.signal else []
        marks += [f"until {event.deadline}"] if event.deadline else []
        return f"({', '.join(marks)}) {event.reason}" if marks else event.reason
    if isinstance(event, Resumed):
        marks = [f"by {event.by}"] if event.by else []
        marks += [f"signal {event.inbox_id}"] if event.inbox_id is not None else []
        answer = canonical_json(event.input)
        return f"({', '.join(marks)}) {answer}" if marks else answer
    if isinstance(event, SleepStarted):
        return f"until {event.wake_at}"
    if isinstance(event, BudgetExceeded):
        return f"{event.budget.kind}: {event.observed:g} of {event.budget.limit:g}"
    return ""


def _abandoned(event: RunAbandoned) -> str:
    marks = [f"by {event.caller}"] if event.caller else []
    write = event.unresolved_write
    marks += [f"{write.tool} at event {write.seq} left open"] if write else []
    reason = event.reason or ""
    return f"({', '.join(marks)}) {reason}" if marks else reason


def _plain(event: Event) -> str:
    """What is left of a kind's fields, without their names."""
    payload = ENCODERS[type(event)](event)
    return " ".join(
        value if isinstance(value, str) else canonical_json(value) for value in payload.values()
    )


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
