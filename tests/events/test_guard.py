from dataclasses import replace

import pytest

from salvor.events.graph import GraphRunStarted, NodeEntered
from salvor.events.guard import check_append, misplaced
from salvor.events.vocabulary import (
    Envelope,
    Event,
    ModelCallCompleted,
    ModelCallRequested,
    NowObserved,
    Resumed,
    RunAbandoned,
    RunCompleted,
    RunFailed,
    SleepCompleted,
    SleepStarted,
    Suspended,
    Usage,
)
from salvor.store_errors import AppendRefused
from tests.support.logs import AT, FULL, RUN, STARTED, done, intent


def _check(last: Event | None, event: Event, *, seq: int = 5, **fields: object) -> None:
    envelope = replace(
        Envelope(run_id=RUN, seq=seq, recorded_at=AT, event=event),
        **fields,  # type: ignore[arg-type]
    )
    check_append(run_id=RUN, next_seq=5, last=last, envelope=envelope)


def test_a_whole_log_passes_event_by_event() -> None:
    last: Event | None = None
    for envelope in FULL:
        check_append(run_id=RUN, next_seq=envelope.seq, last=last, envelope=envelope)
        last = envelope.event


@pytest.mark.parametrize(
    ("last", "event", "says"),
    [
        (None, intent(5), "begins with RunStarted"),
        (done(3), STARTED, "one head"),
        (RunCompleted(output=1), done(3), "has ended with RunCompleted"),
        (RunFailed(error=""), Resumed(input=1), "has ended with RunFailed"),
        (intent(4), intent(5), "only its completion"),
        (intent(4), done(3), "only its completion"),
        (intent(4), RunCompleted(output=1), "only its completion"),
        (done(3), done(4), "no call at event 4 is open"),
        (done(3), intent(4), "instead of its own"),
    ],
)
def test_an_event_that_may_not_follow_is_refused(last: Event, event: Event, says: str) -> None:
    with pytest.raises(AppendRefused, match=says):
        _check(last, event)


def test_another_position_run_or_version_is_refused() -> None:
    with pytest.raises(AppendRefused, match="next position is 5"):
        _check(done(3), intent(6), seq=6)
    with pytest.raises(AppendRefused, match="belongs to run"):
        _check(done(3), intent(5), run_id="another")
    with pytest.raises(AppendRefused, match="schema version"):
        _check(done(3), intent(5), schema_version=2)


def test_an_answer_without_a_park_is_accepted() -> None:
    _check(done(3), Resumed(input=1))


MODEL = ModelCallRequested(seq=4, request_hash="sha256:aa")
ANSWER = ModelCallCompleted(seq=4, response=1, usage=Usage(input_tokens=1, output_tokens=1))


@pytest.mark.parametrize(
    ("last", "event"),
    [
        (None, GraphRunStarted(graph_hash="sha256:aa", input=1)),
        (MODEL, ANSWER),
        (intent(4), RunAbandoned()),
        (MODEL, RunAbandoned()),
        (SleepStarted(wake_at=AT), SleepCompleted()),
        (NowObserved(now=AT), SleepCompleted()),
        (STARTED, NodeEntered(node="a")),
        (Suspended(reason="?", input_schema={}), RunAbandoned()),
    ],
)
def test_an_event_that_may_follow_passes(last: Event | None, event: Event) -> None:
    assert misplaced(last, event, 5) is None


@pytest.mark.parametrize(
    ("last", "event", "says"),
    [
        (STARTED, GraphRunStarted(graph_hash="sha256:aa", input=1), "one head"),
        (RunAbandoned(), STARTED, "one head"),
        (RunAbandoned(), done(3), "has ended with RunAbandoned"),
        (MODEL, done(4), "only its completion"),
        (intent(4), ANSWER, "only its completion"),
        (STARTED, ANSWER, "no call at event 4 is open"),
        (STARTED, MODEL, "instead of its own"),
        (STARTED, SleepCompleted(), "does not sleep"),
    ],
)
def test_the_other_kinds_have_their_places_too(last: Event, event: Event, says: str) -> None:
    assert says in str(misplaced(last, event, 5))
