"""Signals, sleeps and deadlines of workflows (DURABILITY D3, D4)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import BaseModel

from salvor.events.vocabulary import Default, Resumed, SleepCompleted, SleepStarted
from salvor.run_errors import (
    AnswerConflict,
    AnswerRefused,
    DeadlinePassed,
    NotYet,
    RunEnded,
    SignalConflict,
    SignalRefused,
    WrongState,
)
from salvor.runtime.outcome import Completed, Failed, Parked
from salvor.runtime.run import Run
from salvor.runtime.runtime import Runtime
from salvor.runtime.workflow import workflow
from salvor.store_errors import Divergence
from salvor.testing.clock import FakeClock
from tests.runtime.conftest import MakeRuntime
from tests.support.targets import here

pytestmark = pytest.mark.anyio

NOON = datetime(2026, 7, 9, 12, 0, tzinfo=UTC)
SOON = NOON + timedelta(minutes=5)
BEYOND = datetime.max.replace(tzinfo=timezone(-timedelta(hours=1)))


class Paid(BaseModel):
    cents: int


@workflow
async def two_signals(run: Run) -> list[int]:
    first = await run.signal("paid", Paid)
    second = await run.signal("paid", Paid)
    return [first.cents, second.cents]


@workflow
async def patient(run: Run) -> int:
    paid = await run.signal("paid", Paid, deadline=SOON, default=Paid(cents=0))
    return paid.cents


@workflow
async def asking(run: Run) -> str:
    return await run.suspend("Which?", str, deadline=SOON, default="neither")


@workflow
async def forgiving(run: Run) -> int:
    while True:
        try:
            return (await run.signal("paid", Paid)).cents
        except SignalRefused:
            continue


@workflow
async def sleeping(run: Run) -> str:
    await run.sleep_until(SOON)
    return "awake"


@workflow
async def dozing(run: Run) -> str:
    await run.sleep_until(NOON - timedelta(seconds=1))
    return "awake"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOON)


@pytest.fixture
def runtime(make_runtime: MakeRuntime, clock: FakeClock) -> Runtime:
    return make_runtime(clock=clock)


async def events(runtime: Runtime, run_id: str) -> list[Any]:
    return [envelope.event for envelope in (await runtime.history(run_id)).envelopes]


async def test_d3_a_run_parks_until_its_signal_comes(runtime: Runtime) -> None:
    parked = await runtime.run(two_signals)

    assert isinstance(parked, Parked)
    assert (parked.signal, parked.park_seq, parked.schema) == (
        "paid",
        1,
        {
            "type": "object",
            "properties": {"cents": {"type": "integer"}},
            "required": ["cents"],
            "additionalProperties": False,
        },
    )
    assert await runtime.signal(parked.run_id, "paid", {"cents": 1}, by="bank") == 1
    second = await runtime.wake(parked.run_id, two_signals)
    assert isinstance(second, Parked)
    await runtime.signal(parked.run_id, "paid", {"cents": 2})
    done = await runtime.resume(parked.run_id, two_signals)

    assert isinstance(done, Completed)
    assert done.output == [1, 2]
    found = await events(runtime, parked.run_id)
    assert found[1].signal and found[1].name == "paid"
    assert found[2] == Resumed(input={"cents": 1}, answers=1, by="bank", inbox_id=1)


async def test_d3_signals_before_the_wait_are_taken_at_once_oldest_first(
    runtime: Runtime,
) -> None:
    @workflow(name="two_signals")
    async def later(run: Run) -> list[int]:
        await run.suspend("ready?", bool)
        return [(await run.signal("paid", Paid)).cents, (await run.signal("paid", Paid)).cents]

    parked = await runtime.run(later)
    for cents in (1, 2, 3):
        await runtime.signal(parked.run_id, "paid", {"cents": cents})
    await runtime.signal(parked.run_id, "other", None)
    done = await runtime.resume(parked.run_id, later, answer=True)

    assert isinstance(done, Completed)
    assert done.output == [1, 2]
    assert [one.consumed for one in await runtime.inbox(parked.run_id)] == [4, 6, None, None]
    with pytest.raises(RunEnded):
        await runtime.signal(parked.run_id, "paid", {"cents": 4})


async def test_d3_the_same_sending_is_one_signal(runtime: Runtime) -> None:
    parked = await runtime.run(two_signals)

    assert await runtime.signal(parked.run_id, "paid", {"cents": 1}, sender_id="t1") == 1
    assert await runtime.signal(parked.run_id, "paid", {"cents": 1}, sender_id="t1") == 1
    with pytest.raises(SignalConflict):
        await runtime.signal(parked.run_id, "paid", {"cents": 2}, sender_id="t1")


async def test_d3_a_payload_that_does_not_fit_the_park_is_refused(runtime: Runtime) -> None:
    parked = await runtime.run(two_signals)

    with pytest.raises(AnswerRefused, match="/cents"):
        await runtime.signal(parked.run_id, "paid", {"cents": "one"})
    assert await runtime.inbox(parked.run_id) == []


async def test_d3_a_payload_that_does_not_fit_a_later_wait_is_an_error_the_workflow_may_catch(
    runtime: Runtime,
) -> None:
    @workflow(name="forgiving")
    async def later(run: Run) -> int:
        await run.suspend("ready?", bool)
        try:
            await run.signal("paid", Paid)
        except SignalRefused as refused:
            assert refused.name == "paid"
        return (await run.signal("paid", Paid)).cents

    parked = await runtime.run(later)
    await runtime.signal(parked.run_id, "paid", "money")
    await runtime.signal(parked.run_id, "paid", {"cents": 2})
    done = await runtime.resume(parked.run_id, later, answer=True)
    again = await runtime.resume(parked.run_id, later)

    assert isinstance(done, Completed)
    assert done.output == 2
    assert again == done


async def test_d3_a_signal_nobody_catches_is_a_fault_of_the_workflow(runtime: Runtime) -> None:
    @workflow(name="two_signals")
    async def later(run: Run) -> int:
        await run.suspend("ready?", bool)
        return (await run.signal("paid", Paid)).cents

    parked = await runtime.run(later)
    await runtime.signal(parked.run_id, "paid", "money")
    failed = await runtime.resume(parked.run_id, later, answer=True)

    assert isinstance(failed, Failed)
    assert not failed.final


async def test_d3_a_person_cannot_answer_in_place_of_a_signal(runtime: Runtime) -> None:
    parked = await runtime.run(two_signals)

    with pytest.raises(WrongState, match="waits for the signal 'paid'"):
        await runtime.answer(parked.run_id, {"cents": 1}, workflow=two_signals)


@pytest.mark.parametrize("name", ["", "  ", 5])
async def test_a_signal_has_a_name(runtime: Runtime, name: Any) -> None:
    parked = await runtime.run(two_signals)

    with pytest.raises(ValueError, match="signal's name"):
        await runtime.signal(parked.run_id, name, None)


async def test_b4_another_signal_is_a_divergence(runtime: Runtime) -> None:
    @workflow(name="two_signals")
    async def changed(run: Run) -> int:
        return (await run.signal("sent", Paid)).cents

    parked = await runtime.run(two_signals)
    with pytest.raises(Divergence, match="name"):
        await runtime.resume(parked.run_id, changed)


async def test_d4_a_deadline_answers_with_its_default(runtime: Runtime, clock: FakeClock) -> None:
    parked = await runtime.run(asking)
    assert isinstance(parked, Parked)
    assert parked.deadline == SOON
    waiting = await runtime.wake(parked.run_id, asking)
    clock.move(300)
    done = await runtime.wake(parked.run_id, asking)

    assert isinstance(waiting, Parked)
    assert isinstance(done, Completed)
    assert done.output == "neither"
    _, park, end, _ = await events(runtime, parked.run_id)
    assert park.default == Default(value="neither")
    assert end == Resumed(input="neither", answers=1, by="deadline")


async def test_d4_until_its_deadline_a_park_can_be_answered_and_after_it_not(
    runtime: Runtime, clock: FakeClock
) -> None:
    first, second = await runtime.run(asking), await runtime.run(asking)
    clock.move(300)
    state = await runtime.answer(first.run_id, "this", by="desk", workflow=asking)
    clock.move(0.001)

    assert state.status == "running"
    with pytest.raises(DeadlinePassed):
        await runtime.answer(second.run_id, "that", workflow=asking)
    assert (await runtime.state(second.run_id)).status == "suspended"


async def test_d4_a_deadline_of_a_signal_gives_its_default_once(
    runtime: Runtime, clock: FakeClock
) -> None:
    parked = await runtime.run(patient)
    clock.move(301)
    await runtime.signal(parked.run_id, "paid", {"cents": 5})
    done = await runtime.wake(parked.run_id, patient)

    assert isinstance(done, Completed)
    assert done.output == 0
    assert [one.consumed for one in await runtime.inbox(parked.run_id)] == [None]


async def test_d4_answer_deadline_and_cancel_race_and_one_wins(
    runtime: Runtime, clock: FakeClock
) -> None:
    parked = await runtime.run(asking)
    clock.move(300)
    seen = await runtime._operator.look(parked.run_id)
    assert seen.state.park is not None
    await runtime._waking.answered(seen, seen.state.park, "this")

    from salvor.store_errors import Conflict

    with pytest.raises((AnswerConflict, Conflict)):
        await runtime._waking.woken(seen)
    done = await runtime.resume(parked.run_id, asking)
    assert isinstance(done, Completed)
    assert done.output == "this"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"deadline": SOON}, "needs a default"),
        ({"default": "x"}, "needs a deadline"),
        ({"deadline": datetime(2026, 1, 1), "default": "x"}, "aware"),  # noqa: DTZ001
        ({"deadline": 5, "default": "x"}, "aware"),
        ({"deadline": BEYOND, "default": "x"}, "between the years 1 and 9999"),
    ],
)
async def test_a_deadline_that_cannot_be_meant_is_a_fault_of_the_workflow(
    runtime: Runtime, options: dict[str, Any], says: str
) -> None:
    @workflow
    async def flow(run: Run) -> str:
        return await run.suspend("?", str, **options)

    result = await runtime.run(flow)

    assert isinstance(result, Failed)
    assert says in result.error
    assert len(await events(runtime, result.run_id)) == 1


@pytest.mark.parametrize("instant", [None, "tomorrow", datetime(2026, 1, 1), BEYOND])  # noqa: DTZ001
async def test_an_instant_that_cannot_be_meant_is_a_fault_of_the_workflow(
    runtime: Runtime, instant: Any
) -> None:
    @workflow
    async def flow(run: Run) -> None:
        await run.sleep_until(instant)

    result = await runtime.run(flow)

    assert isinstance(result, Failed)
    assert not result.final
    assert "the instant of sleep_until()" in result.error


async def test_a_sleep_parks_and_is_woken_in_time(runtime: Runtime, clock: FakeClock) -> None:
    parked = await runtime.run(sleeping)

    assert isinstance(parked, Parked)
    assert parked.wake_at == SOON
    with pytest.raises(NotYet, match="2026-07-09T12:05:00Z"):
        await runtime.wake(parked.run_id, sleeping)
    assert isinstance(await runtime.resume(parked.run_id, sleeping), Parked)
    clock.move(300)
    done = await runtime.wake(parked.run_id, sleeping)

    assert isinstance(done, Completed)
    assert (await events(runtime, parked.run_id))[1:3] == [
        SleepStarted(wake_at="2026-07-09T12:05:00Z"),
        SleepCompleted(),
    ]


async def test_an_instant_that_has_passed_is_gone_past(runtime: Runtime) -> None:
    done = await runtime.run(dozing)

    assert isinstance(done, Completed)
    assert len(await events(runtime, done.run_id)) == 4


async def test_one_pass_wakes_whatever_is_due(make_runtime: MakeRuntime, clock: FakeClock) -> None:
    runtime = make_runtime(clock=clock)
    flows = here(sleeping=sleeping, asking=asking, two_signals=two_signals)
    slept = await runtime.run(flows.sleeping)
    asked = await runtime.run(flows.asking)
    waits = await runtime.run(flows.two_signals)
    await runtime.signal(waits.run_id, "paid", {"cents": 1})
    first = await runtime.wake_due()
    clock.move(300)
    second = await runtime.wake_due()

    assert set(first) == {waits.run_id}
    assert isinstance(first[waits.run_id], Parked)
    assert {run_id: type(result) for run_id, result in second.items()} == {
        slept.run_id: Completed,
        asked.run_id: Completed,
    }
    assert await runtime.wake_due() == {}


async def test_a_signal_nobody_waits_for_does_not_hide_the_deadline(
    runtime: Runtime, clock: FakeClock
) -> None:
    asked = await runtime.run(asking)
    await runtime.signal(asked.run_id, "noise", None)
    first = await runtime.wake_due()
    second = await runtime.wake_due()
    clock.move(300)
    third = await runtime.wake_due()

    assert isinstance(first[asked.run_id], Parked)
    assert second == {}
    assert isinstance(third[asked.run_id], Completed)


async def test_a_run_may_be_driven_elsewhere_at_every_park(
    make_runtime: MakeRuntime, clock: FakeClock
) -> None:
    first = make_runtime(clock=clock)
    parked = await first.run(two_signals)
    for cents in (1, 2):
        other = make_runtime(first.store, clock=clock)
        await other.signal(parked.run_id, "paid", {"cents": cents})
        result = await other.wake(parked.run_id, two_signals)

    assert isinstance(result, Completed)
    assert result.output == [1, 2]
