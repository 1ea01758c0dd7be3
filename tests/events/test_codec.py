import json

import pytest

from salvor.events.codec import decode, encode
from salvor.events.vocabulary import (
    Attempt,
    Envelope,
    Event,
    NowObserved,
    Origin,
    RandomObserved,
    Resumed,
    RunCompleted,
    RunFailed,
    RunStarted,
    Suspended,
    ToolCallCompleted,
    ToolCallRequested,
    WorkflowRef,
    failure_output,
)
from salvor.store_errors import MalformedLog, UnsupportedEvent

RUN = "00000000-0000-4000-8000-000000000001"
AT = "2026-07-09T12:00:00Z"

PINNED: list[tuple[Event, str]] = [
    (
        RunStarted(agent_def_hash="sha256:aa", input={"b": 1, "a": "é"}),
        '{"kind":"RunStarted","payload":{"agent_def_hash":"sha256:aa","input":{"b":1,"a":"é"}}}',
    ),
    (
        RunStarted(
            agent_def_hash="sha256:aa",
            input=None,
            labels={"z": "1", "a": "2"},
            workflow=WorkflowRef(name="settle", version="2", target="billing:settle"),
        ),
        '{"kind":"RunStarted","payload":{"agent_def_hash":"sha256:aa","input":null,'
        '"labels":{"a":"2","z":"1"},'
        '"workflow":{"name":"settle","version":"2","target":"billing:settle"}}}',
    ),
    (
        ToolCallRequested(seq=3, tool="pay", input={}, effect="read", idempotency_key=None),
        '{"kind":"ToolCallRequested","payload":{"seq":3,"tool":"pay","input":{},'
        '"effect":"read","idempotency_key":null}}',
    ),
    (
        ToolCallRequested(
            seq=3,
            tool="pay",
            input={"id": 2**70},
            effect="write",
            idempotency_key='{"id":1}',
            tool_digest="sha256:bb",
            given="sha256:cc",
        ),
        '{"kind":"ToolCallRequested","payload":{"seq":3,"tool":"pay",'
        '"input":{"id":1180591620717411303424},"effect":"write",'
        '"idempotency_key":"{\\"id\\":1}","tool_digest":"sha256:bb","given":"sha256:cc"}}',
    ),
    (
        ToolCallCompleted(seq=3, output=[1, 1.5, True, None]),
        '{"kind":"ToolCallCompleted","payload":{"seq":3,"output":[1,1.5,true,null]}}',
    ),
    (
        ToolCallCompleted(seq=3, output="x", deduplicated_from=Origin(run_id=RUN, seq=7)),
        '{"kind":"ToolCallCompleted","payload":{"seq":3,"output":"x","deduplicated_from":'
        f'{{"run_id":"{RUN}","seq":7}}}}}}',
    ),
    (
        ToolCallCompleted(
            seq=3,
            output=failure_output(kind="handler", message="no", attempts=2),
            settled_by="operator",
            outcome="error",
            extent="unknown",
            attempts=(Attempt(started=AT, cause="no", extent="no"),),
        ),
        '{"kind":"ToolCallCompleted","payload":{"seq":3,"output":{"__salvor_error":'
        '{"is_error":true,"kind":"handler","message":"no","attempts":2}},'
        '"settled_by":"operator","outcome":"error","extent":"unknown",'
        f'"attempts":[{{"started":"{AT}","cause":"no","extent":"no"}}]}}}}',
    ),
    (NowObserved(now=AT), f'{{"kind":"NowObserved","payload":{{"now":"{AT}"}}}}'),
    (
        RandomObserved(value=2**64 - 1),
        '{"kind":"RandomObserved","payload":{"value":18446744073709551615}}',
    ),
    (
        Suspended(reason="ok?", input_schema={"type": "string"}),
        '{"kind":"Suspended","payload":{"reason":"ok?","input_schema":{"type":"string"}}}',
    ),
    (Resumed(input=None), '{"kind":"Resumed","payload":{"input":null}}'),
    (Resumed(input=1, answers=4), '{"kind":"Resumed","payload":{"input":1,"answers":4}}'),
    (RunCompleted(output=None), '{"kind":"RunCompleted","payload":{"output":null}}'),
    (RunFailed(error="x\u0000y"), '{"kind":"RunFailed","payload":{"error":"x\\u0000y"}}'),
]


@pytest.mark.parametrize(("event", "text"), PINNED)
def test_the_text_of_every_kind_is_pinned_and_reads_back_the_same(event: Event, text: str) -> None:
    envelope = Envelope(run_id=RUN, seq=3, recorded_at=AT, event=event)

    encoded = encode(envelope)

    assert encoded == (
        f'{{"run_id":"{RUN}","seq":3,"schema_version":1,"recorded_at":"{AT}","event":{text}}}'
    )
    assert encode(decode(encoded, run_id=RUN, seq=3)) == encoded


def _text(event: object, **fields: object) -> str:
    envelope = {"run_id": RUN, "seq": 0, "schema_version": 1, "recorded_at": AT, "event": event}
    return json.dumps({**envelope, **fields})


def test_an_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedEvent, match="'NodeLeft'"):
        decode(_text({"kind": "NodeLeft", "payload": {}}), run_id=RUN, seq=0)


def test_a_newer_schema_version_is_refused_by_number() -> None:
    with pytest.raises(UnsupportedEvent, match="schema version 2"):
        decode(_text({"kind": "What", "payload": {}}, schema_version=2), run_id=RUN, seq=0)


def test_unknown_fields_are_ignored() -> None:
    text = _text({"kind": "RandomObserved", "payload": {"value": 1, "new": []}}, newer=1)

    assert decode(text, run_id=RUN, seq=0).event == RandomObserved(value=1)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        _text({"kind": "RandomObserved", "payload": {}}),
        _text({"kind": "RandomObserved", "payload": {"value": True}}),
        _text({"kind": "RandomObserved", "payload": []}),
        _text({"kind": 5, "payload": {}}),
        _text({"kind": "RunCompleted", "payload": {}}),
        _text({"kind": "RandomObserved", "payload": {"value": 1}}, seq=1),
        _text({"kind": "RandomObserved", "payload": {"value": 1}}, run_id="another"),
        _text({"kind": "ToolCallCompleted", "payload": {"seq": 1, "output": 1, "outcome": "?"}}),
    ],
)
def test_a_text_that_is_no_envelope_of_that_place_is_malformed(text: str) -> None:
    with pytest.raises(MalformedLog, match="at event 0"):
        decode(text, run_id=RUN, seq=0)
