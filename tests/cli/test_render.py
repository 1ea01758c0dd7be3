from __future__ import annotations

import pytest

from salvor.cli import render, render_history
from salvor.events.claims import ClaimId
from salvor.events.records import LateResult, Wait
from salvor.events.vocabulary import (
    Attempt,
    Envelope,
    Event,
    NowObserved,
    RandomObserved,
    Resumed,
    RunFailed,
    Suspended,
    ToolCallCompleted,
    failure_output,
)
from salvor.runtime.outcome import OpenWrite, Parked
from salvor.values import JsonValue, parse_instant

RUN = "0a0a0a0a-0000-4000-8000-000000000001"
OTHER = "0a0a0a0a-0000-4000-8000-000000000002"


def test_a_command_names_the_store_only_where_it_is_not_the_default() -> None:
    assert render.command("list", store="./salvor.db") == "salvor list"
    assert render.command("list", store="my runs.db") == "salvor --store 'my runs.db' list"


@pytest.mark.parametrize(
    ("schema", "form"),
    [
        (
            {"properties": {"yes": {"type": "boolean"}, "note": {}}, "required": ["yes", "note"]},
            '{"yes": <boolean>, "note": <JSON>}',
        ),
        ({"properties": {"note": {"type": "string"}}}, '{"note": <string>}'),
        ({"type": "boolean"}, "<boolean>"),
        (True, "JSON"),
    ],
)
def test_the_form_of_an_answer_says_what_belongs_where(schema: JsonValue, form: str) -> None:
    assert render.answer_form(schema) == form


def test_prose_wraps_at_80_columns_and_commands_never_do() -> None:
    store = "/a/rather/long/directory/name/that/is/not/going/to/fit/into/a/line/runs.db"
    parked = Parked(run_id=RUN, reason="Is this right? " * 12, schema={"type": "boolean"})
    write = OpenWrite(
        run_id=RUN, seq=3, tool="pay", arguments={}, idempotency_key=None, cause="it died"
    )
    for text in (render.parked(parked, store), render.open_write(write, store)):
        long = [line for line in text.splitlines() if len(line) > 80]
        assert long
        assert all(line.startswith(f"  salvor --store {store} ") for line in long)


def test_a_run_that_waits_for_a_claim_names_its_holder() -> None:
    wait = Wait(
        run_id=RUN,
        claim=ClaimId(namespace="default", scope="native/pay", key='{"order":"A-1"}'),
        tool="pay",
        holder_run=OTHER,
        since=parse_instant("2026-01-31T12:00:00Z"),
    )
    text = render.parked(Parked(run_id=RUN, reason="held", waiting_for=wait), "./salvor.db")

    assert f"waits for run {OTHER}" in text.replace("\n", " ")
    assert f"  salvor history {OTHER}\n" in text
    assert text.endswith(f"  salvor resume {RUN}")


def test_what_steers_a_terminal_is_shown_and_not_obeyed() -> None:
    assert render.printable("a\x1b[2Jb\u202ec\nd") == "a\\x1b[2Jb\\u202ec\nd"
    assert render.printable("Grüße 🎉") == "Grüße 🎉"


@pytest.mark.parametrize(
    ("event", "detail"),
    [
        (NowObserved(now="2026-01-31T12:00:00Z"), "2026-01-31T12:00:00Z"),
        (RandomObserved(value=7), "7"),
        (Suspended(reason="Pay?\nReally?", input_schema=True), "Pay?\\nReally?"),
        (Resumed(input={"yes": True}, answers=3), '{"yes":true}'),
        (RunFailed(error="no"), "no"),
        (ToolCallCompleted(seq=1, output=5), "(call 1) 5"),
        (
            ToolCallCompleted(
                seq=1,
                output=failure_output(kind="not_executed", message="it did not", attempts=1),
                outcome="not_executed",
                extent="no",
                attempts=(Attempt(started="2026-01-31T12:00:00Z", cause="x", extent="no"),),
            ),
            "(call 1, never happened, 1 failed attempt) it did not",
        ),
        (
            ToolCallCompleted(seq=1, output=failure_output(kind="x", message="m", attempts=1)),
            '(call 1) {"__salvor_error":{"attempts":1,"is_error":true,"kind":"x","message":"m"}}',
        ),
    ],
)
def test_an_event_is_one_line(event: Event, detail: str) -> None:
    envelope = Envelope(run_id=RUN, seq=4, recorded_at="2026-01-31T12:00:00.25Z", event=event)

    line = render_history.event_line(envelope)

    assert line == f"    4  2026-01-31 12:00:00Z  {event.kind:<17}  {detail}"


def test_a_long_detail_is_cut() -> None:
    assert render_history.short("x" * 500) == "x" * 159 + "…"


def test_a_late_result_is_told_beside_the_log() -> None:
    late = LateResult(
        run_id=RUN,
        intent_seq=3,
        epoch=2,
        outcome="output",
        value='"paid"',
        kept_at=parse_instant("2026-01-31T12:00:00Z"),
    )

    [line] = render_history.late_lines([late])

    assert line.startswith('late: the call at event 3 (epoch 2) ended with output "paid"')
