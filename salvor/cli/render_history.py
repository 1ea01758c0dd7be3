"""How a run's events look: one line each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, assert_never

from salvor.cli.render import printable, when
from salvor.events.graph import (
    BranchTaken,
    FoldConverged,
    FoldIterationJoined,
    FoldIterationStarted,
    GraphRunStarted,
    MapFannedOut,
    MapIterationJoined,
    MapIterationStarted,
    NodeEntered,
    NodeExited,
    NodeSkipped,
)
from salvor.events.records import LateResult
from salvor.events.skim import Entry
from salvor.events.vocabulary import (
    ERROR_SENTINEL,
    BudgetExceeded,
    Envelope,
    Event,
    ModelCallCompleted,
    ModelCallRequested,
    NowObserved,
    RandomObserved,
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

Marker: TypeAlias = (
    NodeEntered
    | NodeExited
    | NodeSkipped
    | BranchTaken
    | MapFannedOut
    | MapIterationStarted
    | MapIterationJoined
    | FoldIterationStarted
    | FoldIterationJoined
    | FoldConverged
)


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
    if isinstance(event, RunStarted | GraphRunStarted):
        return _started(event)
    if isinstance(event, Suspended | SleepStarted | Resumed | SleepCompleted | BudgetExceeded):
        return _rest(event)
    if isinstance(event, RunCompleted):
        return canonical_json(event.output)
    if isinstance(event, RunFailed):
        return event.error
    if isinstance(event, RunAbandoned):
        return _abandoned(event)
    if isinstance(event, NowObserved | RandomObserved):
        return event.now if isinstance(event, NowObserved) else str(event.value)
    if isinstance(event, ModelCallRequested | ModelCallCompleted):
        return _model_call(event)
    return _marker(event)


def _started(event: RunStarted | GraphRunStarted) -> str:
    if isinstance(event, RunStarted):
        workflow = f"{event.workflow.name} " if event.workflow else ""
        return f"{workflow}{canonical_json(event.input)}"
    fork = event.forked_from
    origin = f"(forked from run {fork.run_id} at {fork.from_node}) " if fork else ""
    return f"{origin}{canonical_json(event.input)}"


def _model_call(event: ModelCallRequested | ModelCallCompleted) -> str:
    if isinstance(event, ModelCallRequested):
        return event.request_hash
    usage = event.usage
    tokens = f"{usage.input_tokens} + {usage.output_tokens} tokens"
    return f"(call {event.seq}, {tokens}) {canonical_json(event.response)}"


def _rest(event: Suspended | SleepStarted | Resumed | SleepCompleted | BudgetExceeded) -> str:
    if isinstance(event, Suspended):
        marks = [f"signal {event.awaited}"] if event.signal else []
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


def _marker(event: Marker) -> str:
    if isinstance(event, NodeEntered | NodeExited):
        return event.node
    if isinstance(event, NodeSkipped):
        return f"{event.node}: {event.reason}"
    if isinstance(event, BranchTaken):
        return f"{event.node}: {event.case}"
    if isinstance(event, MapFannedOut):
        return f"{event.node} over {canonical_json(list(event.items))}"
    if isinstance(event, FoldConverged):
        return f"{event.node}: pass {event.winner_index}, {event.reason}"
    if isinstance(event, MapIterationStarted | MapIterationJoined):
        return f"{event.node}: item {event.index}"
    if isinstance(event, FoldIterationStarted | FoldIterationJoined):
        return f"{event.node}: pass {event.index}"
    assert_never(event)


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
