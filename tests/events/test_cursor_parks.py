"""Replaying parks: of workflows, of tools, for approval, and by the clock."""

from __future__ import annotations

from typing import Any

import pytest

from salvor.events.cursor import (
    Answered,
    Cursor,
    Dangling,
    Fresh,
    Recorded,
    RecordedModel,
    Waiting,
)
from salvor.events.graph import BranchTaken, MapIterationStarted, NodeEntered
from salvor.events.vocabulary import (
    Budget,
    BudgetExceeded,
    Default,
    Event,
    ModelCallCompleted,
    ModelCallRequested,
    NowObserved,
    ParkedCall,
    Resumed,
    RunAbandoned,
    RunCompleted,
    RunFailed,
    SleepCompleted,
    SleepStarted,
    Suspended,
    Usage,
)
from salvor.store_errors import Divergence
from tests.support.logs import AT, RUN, STARTED, done, intent, log

LATER = "2026-07-10T12:00:00Z"
PAY = ParkedCall(tool="pay", effect="write", input={}, idempotency_key=None)
ASKED = Suspended(reason="Approve pay?", input_schema={}, call=PAY)
SIGNAL = Suspended(reason="paid?", input_schema={}, signal=True, name="paid")
MODEL = ModelCallRequested(seq=1, request_hash="sha256:aa")
ANSWER = ModelCallCompleted(seq=1, response="hi", usage=Usage(input_tokens=1, output_tokens=2))


def at(*events: Event) -> Cursor:
    cursor = Cursor(RUN, log(STARTED, *events))
    cursor.begin("sha256:aa")
    return cursor


def test_a_sleep_is_over_or_it_waits() -> None:
    slept = SleepStarted(wake_at=AT)

    assert at().sleep(AT) is None
    assert at(slept).sleep(AT) == Waiting(seq=1, park=slept)
    assert at(slept, SleepCompleted()).sleep(AT) == Answered(seq=1, park=slept, input=None)


def test_a_signal_waits_until_it_came() -> None:
    step = at(SIGNAL, Resumed(input=5, inbox_id=1, by="desk")).suspend("paid?", {}, signal="paid")

    assert at(SIGNAL).suspend("paid?", {}, signal="paid") == Waiting(seq=1, park=SIGNAL)
    assert step == Answered(seq=1, park=SIGNAL, input=5, by="desk", inbox_id=1)


def test_deadline_and_default_are_those_of_the_record() -> None:
    park = Suspended(reason="?", input_schema={}, deadline=AT, default=Default(value=None))

    assert at(park).suspend("?", {}) == Waiting(seq=1, park=park)


def test_an_approval_stands_before_its_call() -> None:
    cursor = at(ASKED, Resumed(input={"approved": True}), intent(3, "write", tool="pay"))

    answered = cursor.approval("pay")
    assert isinstance(answered, Answered)
    assert answered.input == {"approved": True}
    assert cursor.approval("pay") is None
    assert isinstance(cursor.call("pay", {}), Dangling)


def test_an_approval_that_nobody_gave_waits() -> None:
    assert at(ASKED).approval("pay") == Waiting(seq=1, park=ASKED)


def test_a_park_of_the_workflow_is_no_approval() -> None:
    assert at(Suspended(reason="?", input_schema={})).approval("pay") is None
    assert at().approval("pay") is None


def test_b2_an_approval_is_asked_anew_after_a_call_that_was_not_executed() -> None:
    cursor = at(
        intent(1, "write", tool="pay"),
        done(1, None, "not_executed"),
        ASKED,
        Resumed(input={}),
        intent(5, "write", tool="pay"),
        done(5, "paid"),
    )

    assert cursor.call("pay", {}) == Fresh(first=intent(1, "write", tool="pay"))
    assert not cursor.live
    assert isinstance(cursor.approval("pay"), Answered)
    assert isinstance(cursor.call("pay", {}), Recorded)


def test_a_tool_that_parked_is_answered_after_its_completion() -> None:
    call = ParkedCall(tool="look", effect="read", input={}, idempotency_key=None, seq=1)
    park = Suspended(reason="which?", input_schema={}, call=call)
    cursor = at(intent(1), done(1, {}, "suspend"), park, Resumed(input="this"))

    recorded = cursor.call("look", {})
    assert isinstance(recorded, Recorded)
    assert cursor.parked_call(recorded.intent) == Answered(seq=3, park=park, input="this")
    waiting = at(intent(1), done(1, {}, "suspend"), park)
    waiting.call("look", {})
    assert waiting.parked_call(intent(1)) == Waiting(seq=3, park=park)


def test_a_tool_that_sleeps_is_woken_after_its_completion() -> None:
    sleep = SleepStarted(wake_at=AT)
    cursor = at(intent(1), done(1, {}, "sleep"), sleep, SleepCompleted())

    cursor.call("look", {})
    assert cursor.parked_call(intent(1)) == Answered(seq=3, park=sleep, input=None)


def test_a_model_call_is_recorded_open_or_live() -> None:
    assert at().model_call("sha256:aa") is None
    assert at(MODEL).model_call("sha256:aa") == MODEL
    assert at(MODEL, ANSWER).model_call("sha256:aa") == RecordedModel(
        intent=MODEL, completion=ANSWER
    )


def test_markers_are_compared_field_by_field_except_the_child_of_a_map() -> None:
    recorded = MapIterationStarted(node="n", index=1, child_run="sha256:aa")

    assert at(NodeEntered(node="n")).marker(NodeEntered(node="n"))
    assert at(recorded).marker(MapIterationStarted(node="n", index=1, child_run="sha256:bb"))
    assert not at().marker(NodeEntered(node="n"))


def budget(limit: float, observed: float) -> BudgetExceeded:
    return BudgetExceeded(budget=Budget(kind="steps", limit=limit), observed=observed)


@pytest.mark.parametrize(
    ("recorded", "ask", "field"),
    [
        (SleepStarted(wake_at=AT), lambda c: c.sleep(LATER), "wake_at"),
        (SleepStarted(wake_at=AT, call=PAY), lambda c: c.sleep(AT), "call"),
        (SleepStarted(wake_at=AT), lambda c: c.suspend("?", {}), "kind"),
        (SIGNAL, lambda c: c.suspend("paid?", {}), "name"),
        (SIGNAL, lambda c: c.suspend("paid?", {}, signal="sent"), "name"),
        (SIGNAL, lambda c: c.sleep(AT), "kind"),
        (ASKED, lambda c: c.suspend("Approve pay?", {}), "call"),
        (ASKED, lambda c: c.approval("send"), "tool"),
        (MODEL, lambda c: c.model_call("sha256:bb"), "request_hash"),
        (NodeEntered(node="a"), lambda c: c.marker(NodeEntered(node="b")), "/node"),
        (
            BranchTaken(node="a", case="x"),
            lambda c: c.marker(BranchTaken(node="a", case="y")),
            "/case",
        ),
        (budget(3, 4), lambda c: c.marker(budget(3, 4.5)), "/observed"),
        (budget(3, 4), lambda c: c.marker(budget(5, 4)), "/budget/limit"),
        (RunAbandoned(reason="x"), lambda c: c.call("look", {}), "kind"),
        (RunAbandoned(reason="x"), lambda c: c.complete(1), "kind"),
    ],
)
def test_a_divergence_names_position_field_and_both_sides(
    recorded: Event, ask: Any, field: str
) -> None:
    with pytest.raises(Divergence) as caught:
        ask(at(recorded))

    assert (caught.value.position, caught.value.field) == (1, field)
    assert caught.value.recorded != caught.value.requested


def test_the_next_event_can_be_looked_at() -> None:
    cursor = at(SIGNAL)

    assert cursor.upcoming == SIGNAL
    cursor.suspend("paid?", {}, signal="paid")
    assert cursor.upcoming is None


def test_a_spent_budget_waits_until_there_is_more() -> None:
    spent = budget(3, 4)

    assert at().budget(spent) is None
    assert at(spent).budget(spent) == spent
    assert at(spent, Resumed(input={"limit": 9})).budget(spent) == Resumed(input={"limit": 9})
    with pytest.raises(Divergence, match="/observed"):
        at(spent).budget(budget(3, 5))


@pytest.mark.parametrize("end", [RunCompleted(output=1), RunFailed(error="x"), RunAbandoned()])
def test_nothing_can_be_asked_of_a_run_that_has_ended(end: Event) -> None:
    with pytest.raises(Divergence, match=f"{end.kind}.*the run has ended.*a call of look"):
        at(end).call("look", {})


def test_nothing_can_be_asked_after_the_end_was_replayed() -> None:
    cursor = at(RunCompleted(output=1))
    cursor.complete(1)

    with pytest.raises(Divergence, match=r"at event 1 .*the run has ended.*random bits"):
        cursor.random()


@pytest.mark.parametrize(
    ("recorded", "says"),
    [
        (intent(1, tool="pay"), "ToolCallRequested (a call of pay)"),
        (SleepStarted(wake_at=AT), f"SleepStarted (until {AT})"),
        (SIGNAL, "Suspended (for 'paid?')"),
        (ASKED, "Suspended (for 'Approve pay?', about pay)"),
        (NodeEntered(node="n"), "NodeEntered (at node n)"),
        (NowObserved(now=AT), "NowObserved"),
    ],
)
def test_an_event_of_another_kind_is_described(recorded: Event, says: str) -> None:
    with pytest.raises(Divergence) as caught:
        at(recorded).random()

    assert (caught.value.recorded, caught.value.requested) == (says, "random bits")
