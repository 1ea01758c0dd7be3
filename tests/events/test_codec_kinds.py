"""The text of the kinds that a plain workflow does not write, and a round trip of all of them."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields, replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salvor.events.codec import decode, encode
from salvor.events.decoding import DECODERS
from salvor.events.encoding import ENCODERS
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
from salvor.events.vocabulary import (
    Budget,
    BudgetExceeded,
    Default,
    Envelope,
    Event,
    ModelCallCompleted,
    ModelCallRequested,
    ParkedCall,
    Resumed,
    RunAbandoned,
    RunStarted,
    SleepCompleted,
    SleepStarted,
    Suspended,
    ToolCallCompleted,
    ToolCallRequested,
    UnresolvedWrite,
    Usage,
)
from salvor.store_errors import MalformedLog
from tests.events.test_codec import PINNED as PLAIN

RUN = "00000000-0000-4000-8000-000000000001"
AT = "2026-07-09T12:00:00Z"
CALL = ParkedCall(tool="pay", effect="write", input={"cents": 1}, idempotency_key=None)
HASH = "sha256:aa"

PINNED: list[tuple[Event, str]] = [
    (
        RunStarted(agent_def_hash=HASH, input={}, driven_by="client", caller="desk"),
        '{"agent_def_hash":"sha256:aa","input":{},"driven_by":"client","caller":"desk"}',
    ),
    (GraphRunStarted(graph_hash=HASH, input=1), '{"graph_hash":"sha256:aa","input":1}'),
    (
        GraphRunStarted(
            graph_hash=HASH,
            input=None,
            labels={"b": "1", "a": "2"},
            forked_from=ForkedFrom(
                run_id=RUN,
                through_seq=3,
                from_node="n",
                graph_hash=HASH,
                acknowledged_writes=(1, 2),
            ),
        ),
        '{"graph_hash":"sha256:aa","input":null,"labels":{"a":"2","b":"1"},"forked_from":'
        f'{{"run_id":"{RUN}","through_seq":3,"from_node":"n","graph_hash":"sha256:aa",'
        '"acknowledged_writes":[1,2]}}',
    ),
    (ModelCallRequested(seq=3, request_hash=HASH), '{"seq":3,"request_hash":"sha256:aa"}'),
    (
        ModelCallRequested(
            seq=3, request_hash=HASH, request_body={"model": "m"}, performed_by="client"
        ),
        '{"seq":3,"request_hash":"sha256:aa","request_body":{"model":"m"},"performed_by":"client"}',
    ),
    (
        ModelCallCompleted(seq=3, response=[], usage=Usage(input_tokens=1, output_tokens=2)),
        '{"seq":3,"response":[],"usage":{"input_tokens":1,"output_tokens":2}}',
    ),
    (
        ToolCallRequested(
            seq=3,
            tool="pay",
            input={},
            effect="write",
            idempotency_key=None,
            performed_by="client",
            tool_digest=HASH,
            given=HASH,
            call_id="c1",
            limit=1.5,
        ),
        '{"seq":3,"tool":"pay","input":{},"effect":"write","idempotency_key":null,'
        '"performed_by":"client","tool_digest":"sha256:aa","given":"sha256:aa","call_id":"c1",'
        '"limit":1.5}',
    ),
    (
        ToolCallCompleted(
            seq=3, output=1, settled_by="operator", settled_caller="desk", tool_digest=HASH
        ),
        '{"seq":3,"output":1,"settled_by":"operator","settled_caller":"desk",'
        '"tool_digest":"sha256:aa"}',
    ),
    (
        Suspended(
            reason="paid?",
            input_schema=True,
            signal=True,
            name="paid",
            deadline=AT,
            default=Default(value=None),
        ),
        '{"reason":"paid?","input_schema":true,"kind":"signal","name":"paid",'
        f'"deadline":"{AT}","default":null}}',
    ),
    (
        Suspended(reason="sure?", input_schema={}, call=CALL),
        '{"reason":"sure?","input_schema":{},"call":{"tool":"pay","effect":"write",'
        '"input":{"cents":1},"idempotency_key":null}}',
    ),
    (
        Resumed(input=1, answers=4, by="deadline", inbox_id=2, caller="desk"),
        '{"input":1,"answers":4,"by":"deadline","inbox_id":2,"caller":"desk"}',
    ),
    (SleepStarted(wake_at=AT), f'{{"wake_at":"{AT}"}}'),
    (
        SleepStarted(
            wake_at=AT,
            call=ParkedCall(
                tool="pay",
                effect="idempotent",
                input={},
                idempotency_key="k",
                tool_digest=HASH,
                seq=3,
            ),
        ),
        f'{{"wake_at":"{AT}","call":{{"tool":"pay","effect":"idempotent","input":{{}},'
        '"idempotency_key":"k","tool_digest":"sha256:aa","seq":3}}',
    ),
    (SleepCompleted(), "{}"),
    (
        BudgetExceeded(budget=Budget(kind="cost_usd", limit=1.5), observed=2.0),
        '{"budget":{"kind":"cost_usd","limit":1.5},"observed":2.0}',
    ),
    (RunAbandoned(), "{}"),
    (
        RunAbandoned(
            reason="closed", unresolved_write=UnresolvedWrite(seq=3, tool="pay"), caller="desk"
        ),
        '{"reason":"closed","unresolved_write":{"seq":3,"tool":"pay"},"caller":"desk"}',
    ),
    (NodeEntered(node="n"), '{"node":"n"}'),
    (NodeExited(node="n"), '{"node":"n"}'),
    (NodeSkipped(node="n", reason="r"), '{"node":"n","reason":"r"}'),
    (BranchTaken(node="n", case="c"), '{"node":"n","case":"c"}'),
    (MapFannedOut(node="n", items=(1, None, {})), '{"node":"n","items":[1,null,{}]}'),
    (
        MapIterationStarted(node="n", index=0, child_run=HASH),
        '{"node":"n","index":0,"child_run":"sha256:aa"}',
    ),
    (MapIterationJoined(node="n", index=0), '{"node":"n","index":0}'),
    (FoldIterationStarted(node="n", index=0), '{"node":"n","index":0}'),
    (FoldIterationJoined(node="n", index=0), '{"node":"n","index":0}'),
    (
        FoldConverged(node="n", winner_index=1, reason="r"),
        '{"node":"n","winner_index":1,"reason":"r"}',
    ),
]


@pytest.mark.parametrize(("event", "payload"), PINNED)
def test_the_text_is_pinned_and_reads_back_the_same(event: Event, payload: str) -> None:
    text = encode(Envelope(run_id=RUN, seq=3, recorded_at=AT, event=event))

    assert text == (
        f'{{"run_id":"{RUN}","seq":3,"schema_version":1,"recorded_at":"{AT}",'
        f'"event":{{"kind":"{event.kind}","payload":{payload}}}}}'
    )
    assert decode(text, run_id=RUN, seq=3).event == event


def test_there_are_26_kinds_and_each_has_an_encoder_and_a_decoder() -> None:
    kinds = get_args(Event)

    assert len(kinds) == 26
    assert set(ENCODERS) == set(kinds)
    assert set(DECODERS) == {kind.kind for kind in kinds}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
TEXT = st.text(st.characters(codec="utf-8"), max_size=8)


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON_FIELDS = ("input", "response", "request_body", "output", "input_schema")
OTHERS: dict[str, st.SearchStrategy[Any]] = {
    "call": st.none() | st.builds(ParkedCall, input=JSON, tool_digest=..., seq=...),
    "default": st.none() | st.builds(Default, value=JSON),
    "items": st.lists(JSON, max_size=3).map(tuple),
    "labels": st.none() | st.dictionaries(TEXT, TEXT, min_size=1, max_size=2),
    "forked_from": st.none() | st.builds(ForkedFrom, acknowledged_writes=...),
    "observed": FLOATS,
    "budget": st.builds(Budget, limit=FLOATS),
}


def events() -> st.SearchStrategy[Event]:
    st.register_type_strategy(str, TEXT)
    built: list[st.SearchStrategy[Any]] = [
        st.builds(kind, **{field.name: _values(field.name) for field in fields(kind)})
        for kind in get_args(Event)
    ]
    return st.one_of(built)


def _values(field: str) -> Any:
    """Values of a field, the optional ones included: by default none of those is given."""
    return JSON if field in JSON_FIELDS else OTHERS.get(field, ...)


@given(events())
def test_every_event_reads_back_the_same(event: Event) -> None:
    text = encode(Envelope(run_id=RUN, seq=3, recorded_at=AT, event=event))
    found = decode(text, run_id=RUN, seq=3)

    assert encode(found) == text
    assert found.event == event


def alone() -> list[Event]:
    """Every pinned event with one of its optional fields, and no other."""
    found: list[Event] = []
    for event, _ in (*PLAIN, *PINNED):
        optional = {f.name: f.default for f in fields(event) if f.default is not MISSING}
        given = [name for name, default in optional.items() if getattr(event, name) != default]
        found += [replace(event, **{**optional, name: getattr(event, name)}) for name in given]
    return found


@pytest.mark.parametrize("event", alone())
def test_each_optional_field_is_written_without_the_others(event: Event) -> None:
    text = encode(Envelope(run_id=RUN, seq=3, recorded_at=AT, event=event))

    assert decode(text, run_id=RUN, seq=3).event == event


def test_the_barest_and_the_fullest_form_of_every_kind_is_pinned() -> None:
    pinned = [event for event, _ in (*PLAIN, *PINNED)]
    for kind in get_args(Event):
        optional = {f.name: f.default for f in fields(kind) if f.default is not MISSING}
        given = [
            {name for name, default in optional.items() if getattr(event, name) != default}
            for event in pinned
            if type(event) is kind
        ]
        assert set() in given, f"{kind.kind} with required fields alone"
        assert set().union(*given) == set(optional), kind.kind


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("RunStarted", {"agent_def_hash": "a", "input": 1, "labels": {"a": 1}}),
        ("RunStarted", {"agent_def_hash": "a", "input": 1, "driven_by": "nobody"}),
        ("GraphRunStarted", {"input": 1}),
        ("ModelCallCompleted", {"seq": 1, "response": 1, "usage": {"input_tokens": 1}}),
        ("Suspended", {"reason": "r", "input_schema": 1, "kind": "person"}),
        ("Suspended", {"reason": "r", "input_schema": 1, "call": {"tool": "t"}}),
        ("BudgetExceeded", {"budget": {"kind": "steps", "limit": True}, "observed": 1}),
        ("BudgetExceeded", {"budget": {"kind": "patience", "limit": 1}, "observed": 1}),
        ("RunAbandoned", {"unresolved_write": {"seq": "1", "tool": "t"}}),
        ("MapFannedOut", {"node": "n", "items": {}}),
        ("FoldConverged", {"node": "n", "winner_index": 1.0, "reason": "r"}),
    ],
)
def test_a_payload_that_is_none_of_its_kind_is_malformed(kind: str, payload: Any) -> None:
    text = json.dumps(
        {
            "run_id": RUN,
            "seq": 3,
            "schema_version": 1,
            "recorded_at": AT,
            "event": {"kind": kind, "payload": payload},
        }
    )
    with pytest.raises(MalformedLog, match="at event 3"):
        decode(text, run_id=RUN, seq=3)


def test_a_whole_number_is_a_number_too() -> None:
    text = (
        f'{{"run_id":"{RUN}","seq":3,"schema_version":1,"recorded_at":"{AT}","event":'
        '{"kind":"BudgetExceeded","payload":{"budget":{"kind":"steps","limit":3},"observed":4}}}'
    )

    event = decode(text, run_id=RUN, seq=3).event
    assert event == BudgetExceeded(budget=Budget(kind="steps", limit=3.0), observed=4.0)
