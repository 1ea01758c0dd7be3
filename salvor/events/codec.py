"""Envelopes to text and back.

Encoding is exact and pinned by tests: the key order of the envelope is fixed, unset
optional fields are left out. Decoding ignores fields it does not know and refuses kinds
and versions it does not know, by name.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar, cast

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
)
from salvor.store_errors import MalformedLog, UnsupportedEvent
from salvor.values import JsonObject, JsonValue, compact_json

SCHEMA_VERSION = 1

T = TypeVar("T")


def encode(envelope: Envelope) -> str:
    """The stored text of an envelope: compact JSON, non-ASCII unescaped."""
    return encode_event(
        envelope.event,
        run_id=envelope.run_id,
        seq=envelope.seq,
        recorded_at=envelope.recorded_at,
    )


def encode_event(event: Event, *, run_id: str, seq: int, recorded_at: str) -> str:
    """The stored text of an event at its place; ids and instants need no escaping."""
    payload = compact_json(_ENCODERS[type(event)](event))
    return (
        f'{{"run_id":"{run_id}","seq":{seq},"schema_version":{SCHEMA_VERSION},'
        f'"recorded_at":"{recorded_at}","event":{{"kind":"{event.kind}","payload":{payload}}}}}'
    )


def decode(text: str, *, run_id: str, seq: int) -> Envelope:
    """Read the stored text of event ``seq`` of run ``run_id``.

    Raises:
        UnsupportedEvent: the kind or the schema version is not known here.
        MalformedLog: the text is no envelope of that run and position.
    """
    fields = _Fields(_parse(text, run_id, seq), run_id, seq)
    version = fields.get("schema_version", int)
    if version != SCHEMA_VERSION:
        raise UnsupportedEvent(run_id=run_id, seq=seq, what=f"of schema version {version}")
    if fields.get("run_id", str) != run_id or fields.get("seq", int) != seq:
        raise fields.malformed("it belongs to another run or position")
    body = fields.inner("event")
    kind = body.get("kind", str)
    decoder = _DECODERS.get(kind)
    if decoder is None:
        raise UnsupportedEvent(run_id=run_id, seq=seq, what=f"of kind {kind!r}")
    return Envelope(
        run_id=run_id,
        seq=seq,
        recorded_at=fields.get("recorded_at", str),
        event=decoder(body.inner("payload")),
    )


def _parse(text: str, run_id: str, seq: int) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise MalformedLog(
            run_id=run_id, seq=seq, detail=f"its text is not JSON: {error}"
        ) from None


class _Fields:
    """Typed reading of one JSON object, with errors that name run, position and field."""

    __slots__ = ("_object", "_run_id", "_seq")

    def __init__(self, value: Any, run_id: str, seq: int) -> None:
        self._run_id = run_id
        self._seq = seq
        if not isinstance(value, dict):
            raise self.malformed("an object is missing")
        self._object: dict[str, Any] = value

    def malformed(self, detail: str) -> MalformedLog:
        return MalformedLog(run_id=self._run_id, seq=self._seq, detail=detail)

    def get(self, name: str, kind: type[T]) -> T:
        value = self._object.get(name)
        if type(value) is not kind:
            raise self.malformed(f"the field {name!r} is missing or no {kind.__name__}")
        return value

    def optional(self, name: str, kind: type[T]) -> T | None:
        return None if self._object.get(name) is None else self.get(name, kind)

    def one_of(self, name: str, allowed: tuple[str, ...]) -> Any:
        value = self.get(name, str)
        if value not in allowed:
            raise self.malformed(f"the field {name!r} holds {value!r}")
        return value

    def optional_one_of(self, name: str, allowed: tuple[str, ...]) -> Any:
        return None if self._object.get(name) is None else self.one_of(name, allowed)

    def json(self, name: str) -> JsonValue:
        if name not in self._object:
            raise self.malformed(f"the field {name!r} is missing")
        return cast("JsonValue", self._object[name])

    def inner(self, name: str) -> _Fields:
        return _Fields(self._object.get(name), self._run_id, self._seq)

    def optional_inner(self, name: str) -> _Fields | None:
        return None if self._object.get(name) is None else self.inner(name)

    def items(self, name: str) -> list[_Fields] | None:
        listed = self.optional(name, list)
        if listed is None:
            return None
        return [_Fields(item, self._run_id, self._seq) for item in listed]


def _set(payload: JsonObject, **fields: JsonValue) -> JsonObject:
    for name, value in fields.items():
        if value is not None:
            payload[name] = value
    return payload


def _started(event: RunStarted) -> JsonObject:
    payload = _set(
        {"agent_def_hash": event.agent_def_hash, "input": event.input},
        labels=dict(sorted(event.labels.items())) if event.labels else None,
    )
    if event.workflow is not None:
        payload["workflow"] = {
            "name": event.workflow.name,
            "version": event.workflow.version,
            "target": event.workflow.target,
        }
    return payload


def _read_started(fields: _Fields) -> RunStarted:
    ref = fields.optional_inner("workflow")
    return RunStarted(
        agent_def_hash=fields.get("agent_def_hash", str),
        input=fields.json("input"),
        labels=fields.optional("labels", dict),
        workflow=None if ref is None else _read_workflow(ref),
    )


def _read_workflow(fields: _Fields) -> WorkflowRef:
    return WorkflowRef(
        name=fields.get("name", str),
        version=fields.get("version", str),
        target=fields.get("target", str),
    )


def _requested(event: ToolCallRequested) -> JsonObject:
    payload: JsonObject = {
        "seq": event.seq,
        "tool": event.tool,
        "input": event.input,
        "effect": event.effect,
        "idempotency_key": event.idempotency_key,
    }
    if event.tool_digest is not None:
        payload["tool_digest"] = event.tool_digest
    if event.given is not None:
        payload["given"] = event.given
    return payload


def _read_requested(fields: _Fields) -> ToolCallRequested:
    return ToolCallRequested(
        seq=fields.get("seq", int),
        tool=fields.get("tool", str),
        input=fields.json("input"),
        effect=fields.one_of("effect", ("read", "idempotent", "write")),
        idempotency_key=fields.optional("idempotency_key", str),
        tool_digest=fields.optional("tool_digest", str),
        given=fields.optional("given", str),
    )


def _completed(event: ToolCallCompleted) -> JsonObject:
    payload: JsonObject = {"seq": event.seq, "output": event.output}
    if event.deduplicated_from is not None:
        origin = event.deduplicated_from
        payload["deduplicated_from"] = {"run_id": origin.run_id, "seq": origin.seq}
    if event.outcome is None and event.attempts is None and event.settled_by is None:
        return payload
    _set(payload, settled_by=event.settled_by, outcome=event.outcome, extent=event.extent)
    if event.attempts is not None:
        payload["attempts"] = [
            {"started": a.started, "cause": a.cause, "extent": a.extent} for a in event.attempts
        ]
    return payload


_EXTENTS = ("no", "yes", "unknown")


def _read_completed(fields: _Fields) -> ToolCallCompleted:
    origin = fields.optional_inner("deduplicated_from")
    attempts = fields.items("attempts")
    return ToolCallCompleted(
        seq=fields.get("seq", int),
        output=fields.json("output"),
        deduplicated_from=None
        if origin is None
        else Origin(run_id=origin.get("run_id", str), seq=origin.get("seq", int)),
        settled_by=fields.optional("settled_by", str),
        outcome=fields.optional_one_of("outcome", ("error", "suspend", "sleep", "not_executed")),
        extent=fields.optional_one_of("extent", _EXTENTS),
        attempts=None if attempts is None else tuple(map(_read_attempt, attempts)),
    )


def _read_attempt(fields: _Fields) -> Attempt:
    return Attempt(
        started=fields.get("started", str),
        cause=fields.get("cause", str),
        extent=fields.one_of("extent", _EXTENTS),
    )


def _resumed(event: Resumed) -> JsonObject:
    return _set({"input": event.input}, answers=event.answers)


_ENCODERS: dict[type[Any], Callable[[Any], JsonObject]] = {
    RunStarted: _started,
    ToolCallRequested: _requested,
    ToolCallCompleted: _completed,
    NowObserved: lambda event: {"now": event.now},
    RandomObserved: lambda event: {"value": event.value},
    Suspended: lambda event: {"reason": event.reason, "input_schema": event.input_schema},
    Resumed: _resumed,
    RunCompleted: lambda event: {"output": event.output},
    RunFailed: lambda event: {"error": event.error},
}

_DECODERS: dict[str, Callable[[_Fields], Event]] = {
    "RunStarted": _read_started,
    "ToolCallRequested": _read_requested,
    "ToolCallCompleted": _read_completed,
    "NowObserved": lambda fields: NowObserved(now=fields.get("now", str)),
    "RandomObserved": lambda fields: RandomObserved(value=fields.get("value", int)),
    "Suspended": lambda fields: Suspended(
        reason=fields.get("reason", str), input_schema=fields.json("input_schema")
    ),
    "Resumed": lambda fields: Resumed(
        input=fields.json("input"), answers=fields.optional("answers", int)
    ),
    "RunCompleted": lambda fields: RunCompleted(output=fields.json("output")),
    "RunFailed": lambda fields: RunFailed(error=fields.get("error", str)),
}
