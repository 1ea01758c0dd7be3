"""Building logs for tests, event by event."""

from salvor.events.vocabulary import (
    Envelope,
    Event,
    NowObserved,
    RandomObserved,
    Resumed,
    RunCompleted,
    RunStarted,
    Suspended,
    ToolCallCompleted,
    ToolCallRequested,
)
from salvor.values import content_hash

RUN = "00000000-0000-4000-8000-000000000001"
AT = "2026-07-09T12:00:00Z"
STARTED = RunStarted(agent_def_hash="sha256:aa", input={})


def log(*events: Event, run_id: str = RUN) -> list[Envelope]:
    return [
        Envelope(run_id=run_id, seq=seq, recorded_at=AT, event=event)
        for seq, event in enumerate(events)
    ]


def intent(
    seq: int, effect: str = "read", *, tool: str = "look", **given: object
) -> ToolCallRequested:
    return ToolCallRequested(
        seq=seq,
        tool=tool,
        input=dict(given),  # type: ignore[arg-type]
        effect=effect,  # type: ignore[arg-type]
        idempotency_key=None,
        given=content_hash(given),  # type: ignore[arg-type]
    )


def done(seq: int, output: object = None, outcome: str | None = None) -> ToolCallCompleted:
    return ToolCallCompleted(seq=seq, output=output, outcome=outcome)  # type: ignore[arg-type]


FULL = log(
    STARTED,
    NowObserved(now=AT),
    intent(2),
    done(2, "seen"),
    Suspended(reason="ok?", input_schema={"type": "boolean"}),
    Resumed(input=True, answers=4),
    intent(6, "write", tool="pay"),
    done(6, None, "not_executed"),
    intent(8, "write", tool="pay"),
    done(8, "paid"),
    RandomObserved(value=7),
    RunCompleted(output="end"),
)
