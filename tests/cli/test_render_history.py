"""Every kind of event has a line of its own in a history."""

from __future__ import annotations

from typing import get_args

import pytest

from salvor.cli.render_history import entry_line, event_line
from salvor.events.graph import (
    BranchTaken,
    FoldConverged,
    FoldIterationJoined,
    FoldIterationStarted,
    ForkedFrom,
    GraphRunStarted,
    MapFannedOut,
    MapIterationJoined,
    MapIterationStarted,
    NodeEntered,
    NodeExited,
    NodeSkipped,
)
from salvor.events.skim import Unknown
from salvor.events.vocabulary import (
    Budget,
    BudgetExceeded,
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
    UnresolvedWrite,
    Usage,
)
from tests.support.logs import AT, RUN, log

HASH = "sha256:aa"
FORK = ForkedFrom(run_id=RUN, through_seq=3, from_node="pay", graph_hash=HASH)
LINES: list[tuple[Event, str]] = [
    (RunStarted(agent_def_hash=HASH, input={"a": 1}), '{"a":1}'),
    (GraphRunStarted(graph_hash=HASH, input=1), "1"),
    (
        GraphRunStarted(graph_hash=HASH, input=1, forked_from=FORK),
        f"(forked from run {RUN} at pay) 1",
    ),
    (
        ToolCallRequested(seq=0, tool="pay", input={}, effect="write", idempotency_key=None),
        "pay [write] {}",
    ),
    (ToolCallCompleted(seq=0, output="paid"), '(call 0) "paid"'),
    (ModelCallRequested(seq=0, request_hash=HASH), HASH),
    (
        ModelCallCompleted(seq=0, response="hi", usage=Usage(input_tokens=3, output_tokens=4)),
        '(call 0, 3 + 4 tokens) "hi"',
    ),
    (NowObserved(now=AT), AT),
    (RandomObserved(value=2**64 - 1), "18446744073709551615"),
    (Suspended(reason="sure?", input_schema={}), "sure?"),
    (
        Suspended(reason="paid?", input_schema={}, signal=True, name="paid", deadline=AT),
        f"(signal paid, until {AT}) paid?",
    ),
    (Resumed(input=True, by="desk", inbox_id=2), "(by desk, signal 2) true"),
    (SleepStarted(wake_at=AT), f"until {AT}"),
    (SleepCompleted(), ""),
    (
        BudgetExceeded(budget=Budget(kind="cost_usd", limit=1.5), observed=2.0),
        "cost_usd: 2 of 1.5",
    ),
    (RunCompleted(output=[1]), "[1]"),
    (RunFailed(error="broke"), "broke"),
    (
        RunAbandoned(
            reason="closed", caller="desk", unresolved_write=UnresolvedWrite(seq=3, tool="pay")
        ),
        "(by desk, pay at event 3 left open) closed",
    ),
    (NodeEntered(node="n"), "n"),
    (NodeExited(node="n"), "n"),
    (NodeSkipped(node="n", reason="no way there"), "n: no way there"),
    (BranchTaken(node="n", case="yes"), "n: yes"),
    (MapFannedOut(node="n", items=(1, None)), "n over [1,null]"),
    (MapIterationStarted(node="n", index=2, child_run=HASH), "n: item 2"),
    (MapIterationJoined(node="n", index=2), "n: item 2"),
    (FoldIterationStarted(node="n", index=2), "n: pass 2"),
    (FoldIterationJoined(node="n", index=2), "n: pass 2"),
    (FoldConverged(node="n", winner_index=1, reason="best"), "n: pass 1, best"),
]


@pytest.mark.parametrize(("event", "detail"), LINES, ids=lambda one: getattr(one, "kind", ""))
def test_the_line_of_an_event(event: Event, detail: str) -> None:
    [envelope] = log(event)

    line = event_line(envelope)

    assert line == f"    0  2026-07-09 12:00:00Z  {event.kind:<17}  {detail}".rstrip()


def test_no_kind_is_left_out() -> None:
    assert {type(event) for event, _ in LINES} == set(get_args(Event))


def test_an_event_of_a_newer_version_is_named() -> None:
    line = entry_line(Unknown(seq=7, what="of kind 'RunDreamt'"))

    assert line == "    7  an event of kind 'RunDreamt', which this version does not know"
