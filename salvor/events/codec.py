"""Envelopes to text and back.

Encoding is exact and pinned by tests: the key order of the envelope is fixed, unset
optional fields are left out. Decoding ignores fields it does not know and refuses kinds
and versions it does not know, by name.
"""

from __future__ import annotations

import json
from typing import Any

from salvor.events.decoding import DECODERS
from salvor.events.encoding import ENCODERS
from salvor.events.fields import Fields
from salvor.events.vocabulary import Envelope, Event
from salvor.store_errors import MalformedLog, UnsupportedEvent
from salvor.values import compact_json

SCHEMA_VERSION = 1


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
    payload = compact_json(ENCODERS[type(event)](event))
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
    fields = Fields(_parse(text, run_id, seq), run_id, seq)
    version = fields.get("schema_version", int)
    if version != SCHEMA_VERSION:
        raise UnsupportedEvent(run_id=run_id, seq=seq, what=f"of schema version {version}")
    if fields.get("run_id", str) != run_id or fields.get("seq", int) != seq:
        raise fields.malformed("it belongs to another run or position")
    body = fields.inner("event")
    kind = body.get("kind", str)
    decoder = DECODERS.get(kind)
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
