import pytest

from salvor.events.cursor import Answered, Cursor, Dangling, Fresh, Recorded, Waiting
from salvor.events.vocabulary import (
    Event,
    NowObserved,
    Resumed,
    RunCompleted,
    RunFailed,
    Suspended,
    ToolCallRequested,
)
from salvor.store_errors import Divergence, MalformedLog
from salvor.values import JsonObject
from tests.support.logs import AT, FULL, RUN, STARTED, done, intent, log

SCHEMA: JsonObject = {"type": "boolean"}


def _at(*events: Event) -> Cursor:
    cursor = Cursor(RUN, log(STARTED, *events))
    cursor.begin("sha256:aa")
    return cursor


def test_a_whole_log_is_replayed_step_by_step() -> None:
    cursor = Cursor(RUN, FULL)

    assert cursor.begin("sha256:aa") == STARTED
    assert cursor.now() == AT
    seen = cursor.call("look", {})
    assert isinstance(seen, Recorded)
    assert seen.completion.output == "seen"
    assert cursor.suspend("ok?", SCHEMA) == Answered(
        seq=4, park=Suspended(reason="ok?", input_schema=SCHEMA), input=True
    )
    paid = cursor.call("pay", {})
    assert isinstance(paid, Recorded)
    assert paid.intent.seq == 8
    assert cursor.random() == 7
    assert not cursor.live
    assert cursor.complete("end")
    assert cursor.live


@pytest.mark.parametrize("length", range(len(FULL) + 1))
def test_every_prefix_of_a_log_can_be_replayed(length: int) -> None:
    Cursor(RUN, FULL[:length])


def test_past_the_end_every_step_is_live() -> None:
    cursor = _at()

    assert cursor.now() is None
    assert cursor.random() is None
    assert cursor.call("look", {}) == Fresh()
    assert cursor.suspend("?", {}) is None
    assert not cursor.complete(1)
    assert not cursor.fail("x")


def test_an_intent_at_the_end_dangles() -> None:
    assert _at(intent(1)).call("look", {}) == Dangling(intent=intent(1))


def test_a_call_recorded_as_not_executed_goes_on_fresh_under_its_first_intent() -> None:
    step = _at(
        intent(1), done(1, None, "not_executed"), intent(3), done(3, None, "not_executed")
    ).call("look", {})

    assert step == Fresh(first=intent(1))


def test_a_fresh_intent_after_not_executed_can_dangle() -> None:
    step = _at(intent(1), done(1, None, "not_executed"), intent(3)).call("look", {})

    assert step == Dangling(intent=intent(3))


def test_a_park_at_the_end_waits() -> None:
    park = Suspended(reason="?", input_schema=SCHEMA)

    assert _at(park).suspend("?", SCHEMA) == Waiting(seq=1, park=park)


@pytest.mark.parametrize(
    ("recorded", "ask", "field"),
    [
        (intent(1), lambda c: c.call("other", {}), "tool"),
        (intent(1, n=1), lambda c: c.call("look", {"n": 1.0}), "input/n"),
        (intent(1, n=1), lambda c: c.call("look", {"n": True}), "input/n"),
        (intent(1), lambda c: c.now(), "kind"),
        (NowObserved(now=AT), lambda c: c.random(), "kind"),
        (NowObserved(now=AT), lambda c: c.complete(1), "kind"),
        (Suspended(reason="a", input_schema={}), lambda c: c.suspend("b", {}), "reason"),
        (
            Suspended(reason="a", input_schema={}),
            lambda c: c.suspend("a", {"type": "null"}),
            "input_schema/type",
        ),
        (RunCompleted(output=1), lambda c: c.complete(True), "output"),
        (RunFailed(error="a"), lambda c: c.fail("b"), "error"),
    ],
)
def test_a_divergence_names_position_field_and_both_sides(
    recorded: Event, ask: object, field: str
) -> None:
    with pytest.raises(Divergence) as caught:
        ask(_at(recorded))  # type: ignore[operator]

    assert (caught.value.position, caught.value.field) == (1, field)
    assert caught.value.recorded != caught.value.requested


def test_another_identity_diverges_at_the_head() -> None:
    with pytest.raises(Divergence, match="agent_def_hash"):
        Cursor(RUN, log(STARTED)).begin("sha256:bb")


def test_a_log_without_digests_compares_the_input() -> None:
    old = ToolCallRequested(seq=1, tool="look", input={"n": 1}, effect="read", idempotency_key=None)

    assert isinstance(_at(old).call("look", {"n": 1}), Dangling)
    with pytest.raises(Divergence, match="input"):
        _at(old).call("look", {"n": 2})


@pytest.mark.parametrize(
    ("events", "position"),
    [
        ((done(0),), 0),
        ((STARTED, STARTED), 1),
        ((STARTED, intent(1), NowObserved(now=AT)), 2),
        ((STARTED, intent(1), intent(2)), 2),
        ((STARTED, intent(1), done(0)), 2),
        ((STARTED, done(0)), 1),
        ((STARTED, intent(2)), 1),
        ((STARTED, RunCompleted(output=1), Resumed(input=1)), 2),
    ],
)
def test_events_that_form_no_log_are_malformed(events: tuple[Event, ...], position: int) -> None:
    with pytest.raises(MalformedLog) as caught:
        Cursor(RUN, log(*events))

    assert caught.value.seq == position


def test_gaps_and_foreign_events_are_malformed() -> None:
    envelopes = log(STARTED, NowObserved(now=AT), NowObserved(now=AT))
    with pytest.raises(MalformedLog):
        Cursor(RUN, [envelopes[0], envelopes[2]])
    with pytest.raises(MalformedLog):
        Cursor("another", envelopes)
