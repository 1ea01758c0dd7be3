"""The page on events names every kind and every field as it is on the wire."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from salvor.events.codec import encode
from salvor.events.vocabulary import Envelope, Event
from tests.events.test_codec import PINNED as PLAIN
from tests.events.test_codec_kinds import PINNED as OTHERS

PAGE = (Path(__file__).parents[2] / "docs/reference/events.md").read_text()
EVENTS = [event for event, _ in (*PLAIN, *OTHERS)]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_the_row_of_a_kind_has_its_fields(event: Event) -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("|")]
    [row] = [line for line in rows if f"`{event.kind}`" in line.split("|")[1]]
    text = encode(Envelope(run_id="r", seq=0, recorded_at="t", event=event))
    payload = json.loads(text)["event"]["payload"]

    assert [name for name in payload if not re.search(rf"`{name}\??`", row)] == []
