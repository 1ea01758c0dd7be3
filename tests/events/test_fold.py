import pytest

from salvor.events.fold import RunState, after, fold
from salvor.events.graph import GraphRunStarted, NodeEntered, NodeExited
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
    RunFailed,
    SleepCompleted,
    SleepStarted,
    Suspended,
    UnresolvedWrite,
    Usage,
)
from tests.support.logs import AT, FULL, STARTED, done, intent, log

STATUS_AFTER_EACH_EVENT = [
    "not-started",
    "running",
    "running",
    "awaiting-tool",
    "running",
    "suspended",
    "running",
    "needs-reconciliation",
    "running",
    "needs-reconciliation",
    "running",
    "running",
    "completed",
]


@pytest.mark.parametrize("length", range(len(FULL) + 1))
def test_every_prefix_of_a_log_has_a_status(length: int) -> None:
    state = fold(FULL[:length])

    assert state.status == STATUS_AFTER_EACH_EVENT[length]
    assert state.next_seq == length


@pytest.mark.parametrize("length", range(len(FULL) + 1))
def test_a_log_folds_as_one_event_after_the_other(length: int) -> None:
    state = RunState()
    for envelope in FULL[:length]:
        state = after(state, envelope)

    assert fold(FULL[:length]) == state


@pytest.mark.parametrize("length", range(len(FULL) + 1))
def test_a_fold_goes_on_from_where_another_ended(length: int) -> None:
    assert fold(FULL[length:], fold(FULL[:length])) == fold(FULL)


def test_a_park_is_shown_while_the_run_is_suspended_and_gone_afterwards() -> None:
    parked = fold(FULL[:5]).park

    assert parked is not None
    assert (parked.seq, parked.reason, parked.input_schema) == (4, "ok?", {"type": "boolean"})
    assert fold(FULL[:6]).park is None


def test_the_open_intent_is_pending_until_its_completion() -> None:
    pending = fold(FULL[:7]).open_call

    assert pending is not None
    assert pending.tool == "pay"
    assert fold(FULL[:8]).open_call is None


def test_an_open_idempotent_call_awaits_its_tool() -> None:
    assert fold(log(STARTED, intent(1, "idempotent"))).status == "awaiting-tool"


def test_the_ends_carry_output_and_error() -> None:
    assert fold(FULL).output == "end"
    failed = fold(log(STARTED, intent(1), done(1), RunFailed(error="broke")))
    assert (failed.status, failed.error) == ("failed", "broke")


def test_a_run_that_fails_at_a_park_is_not_suspended_any_more() -> None:
    parked = Suspended(reason="?", input_schema={})
    assert fold(log(STARTED, parked, RunFailed(error="x"))).park is None


MODEL = ModelCallRequested(seq=1, request_hash="sha256:aa")
ANSWER = ModelCallCompleted(seq=1, response=1, usage=Usage(input_tokens=3, output_tokens=4))
SPENT = BudgetExceeded(budget=Budget(kind="steps", limit=1.0), observed=2.0)
CALL = ParkedCall(tool="pay", effect="write", input={}, idempotency_key=None)


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ((MODEL,), "awaiting-model"),
        ((MODEL, ANSWER), "running"),
        ((SleepStarted(wake_at=AT),), "sleeping"),
        ((SleepStarted(wake_at=AT), NowObserved(now=AT)), "sleeping"),
        ((SleepStarted(wake_at=AT), SleepCompleted()), "running"),
        (
            (BudgetExceeded(budget=Budget(kind="steps", limit=1.0), observed=2.0),),
            "budget-exceeded",
        ),
        (
            (
                BudgetExceeded(budget=Budget(kind="steps", limit=1.0), observed=2.0),
                Resumed(input={}),
            ),
            "running",
        ),
        ((RunAbandoned(),), "abandoned"),
        ((intent(1, "write"), RunAbandoned()), "abandoned"),
        ((NodeEntered(node="a"), NodeExited(node="a")), "running"),
    ],
)
def test_every_kind_has_its_status(events: tuple[Event, ...], status: str) -> None:
    assert fold(log(STARTED, *events)).status == status


def test_a_sleep_is_shown_while_the_run_sleeps() -> None:
    sleep = fold(log(STARTED, SleepStarted(wake_at=AT, call=CALL))).sleep

    assert sleep is not None
    assert (sleep.seq, sleep.wake_at, sleep.call) == (1, AT, CALL)
    assert fold(log(STARTED, SleepStarted(wake_at=AT), SleepCompleted())).sleep is None


def test_a_park_shows_its_signal_its_call_and_its_deadline() -> None:
    default = Default(value=None)
    signal = Suspended(reason="?", input_schema={}, signal=True, name="paid")
    asked = Suspended(reason="?", input_schema={}, call=CALL, deadline=AT, default=default)

    waits, wants = fold(log(STARTED, signal)).park, fold(log(STARTED, asked)).park
    assert waits is not None and wants is not None
    assert (waits.signal, waits.wants_approval) == ("paid", False)
    assert (wants.wants_approval, wants.deadline, wants.default) == (True, AT, default)


def test_an_abandoned_run_still_shows_its_open_write() -> None:
    write = UnresolvedWrite(seq=1, tool="look")
    state = fold(log(STARTED, intent(1, "write"), RunAbandoned(reason="x", unresolved_write=write)))

    assert (state.ended, state.reason, state.unresolved_write) == (True, "x", write)
    assert state.open_call == intent(1, "write")


def test_tokens_and_steps_are_counted() -> None:
    state = fold(log(STARTED, MODEL, ANSWER))

    assert (state.steps, state.input_tokens, state.output_tokens) == (1, 3, 4)
    assert fold(log(STARTED, MODEL)).open_call is None


def test_a_graph_run_begins_too() -> None:
    state = fold(log(GraphRunStarted(graph_hash="sha256:aa", input=5, labels={"a": "b"})))

    assert (state.status, state.input, state.labels) == ("running", 5, {"a": "b"})


def test_a_spent_budget_is_shown_with_what_was_observed_until_there_is_more() -> None:
    spent = fold(log(STARTED, SPENT))
    more = fold(log(STARTED, SPENT, Resumed(input={})))

    assert (spent.budget, spent.observed) == (SPENT.budget, 2.0)
    assert (more.budget, more.observed) == (None, None)


def test_a_signal_without_a_name_goes_by_its_reason_and_is_no_question_to_a_person() -> None:
    park = fold(log(STARTED, Suspended(reason="paid", input_schema={}, signal=True))).park

    assert park is not None
    assert park.signal == "paid"
