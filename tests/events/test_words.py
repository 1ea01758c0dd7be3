"""A log is given no word that its readers do not know."""

from __future__ import annotations

from typing import Any

import pytest

from salvor.errors import JsonRefused
from salvor.events.codec import encode_event
from salvor.events.vocabulary import (
    Attempt,
    Budget,
    BudgetExceeded,
    Event,
    ParkedCall,
    SleepStarted,
    ToolCallCompleted,
    ToolCallRequested,
)

ODD: Any = "maybe"
AT = "2026-07-09T12:00:00Z"
CALL: Any = {"tool": "pay", "input": {}, "idempotency_key": None}


@pytest.mark.parametrize(
    "event",
    [
        ToolCallRequested(seq=1, effect=ODD, **CALL),
        ToolCallCompleted(seq=1, output=None, outcome=ODD),
        ToolCallCompleted(seq=1, output=None, outcome="error", extent=ODD),
        ToolCallCompleted(
            seq=1, output=None, attempts=(Attempt(started=AT, cause="x", extent=ODD),)
        ),
        SleepStarted(wake_at=AT, call=ParkedCall(effect=ODD, **CALL)),
        BudgetExceeded(budget=Budget(kind=ODD, limit=1.0), observed=2.0),
    ],
)
def test_a1_a_word_outside_the_known_ones_is_not_written(event: Event) -> None:
    with pytest.raises(JsonRefused, match=r"has to be one of .*, got 'maybe'"):
        encode_event(event, run_id="r", seq=1, recorded_at=AT)
