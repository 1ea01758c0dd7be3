"""Checks of a store: signals, cancels, what is due, and what the clock allows (S15 to S19)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from salvor.clock import Clock
from salvor.events.records import Cancel, PutOff, Signal
from salvor.run_errors import (
    AnswerConflict,
    DeadlinePassed,
    NotYet,
    RunEnded,
    SignalConflict,
    UnknownRun,
)
from salvor.store_errors import Conflict, Fenced
from salvor.testing.store_log import KEY, THERE, raised, start_log, texts
from salvor.testing.store_opened import Check, MakeStore, checks_in, opened


def sent(clock: Clock, name: str, payload: str = "1", **facts: object) -> Signal:
    """A signal to run-1."""
    return Signal(
        run_id="run-1",
        name=name,
        payload=payload,
        sent_at=clock.now(),
        **facts,  # type: ignore[arg-type]
    )


async def s12_a_run_that_is_to_be_cancelled_is_due_although_it_waits(make: MakeStore) -> None:
    """S12, S17: a wait puts a run aside, but not the wish that it ends."""
    async with opened(make) as (store, clock):
        holder = await start_log(store, "run-1")
        await holder.append("intent", claims=(holder.take(),))
        for run_id in ("run-2", "run-3"):
            log = await start_log(store, run_id)
            await log.append_with("a", due=clock.now())
            if run_id == "run-3":
                wish = Cancel(run_id=run_id, reason=None, by=None, asked_at=clock.now())
                await store.cancel(wish)
                await log.append("b")
            assert await store.wait(log.fence, KEY, tool="pay")
            await store.release(log.fence)
        assert list(await store.due()) == ["run-3"]


async def s15_signals_are_numbered_and_kept_once_for_each_sending(make: MakeStore) -> None:
    """S15: numbers from 1, the sender's id, refusals, and the run is due."""
    async with opened(make) as (store, clock):
        await raised(UnknownRun, store.signal(sent(clock, "paid")))
        log = await start_log(store, "run-1")
        await log.append("a")
        await store.release(log.fence)
        assert await store.signal(sent(clock, "paid", sender_id="s", by="desk")) == 1
        assert await store.signal(sent(clock, "sent")) == 2
        clock.move(1)
        assert await store.signal(sent(clock, "paid", sender_id="s", by="else")) == 1
        for other in (sent(clock, "sent", sender_id="s"), sent(clock, "paid", "2", sender_id="s")):
            await raised(SignalConflict, store.signal(other))
        first, second = await store.inbox("run-1")
        assert (first.n, first.name, first.payload, first.by) == (1, "paid", "1", "desk")
        assert first.sent_at == clock.now() - timedelta(seconds=1)
        assert (first.sender_id, first.consumed) == ("s", None)
        assert (second.n, second.sender_id, second.by) == (2, None, None)
        assert await store.due() == ["run-1"]


async def s15_no_signal_reaches_a_run_that_has_ended(make: MakeStore) -> None:
    """S15: what was sent before is still known by its sender's id."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        assert await store.signal(sent(clock, "paid", sender_id="s")) == 1
        await log.append_with("end", ends=True)
        await raised(RunEnded, store.signal(sent(clock, "paid")))
        assert await store.signal(sent(clock, "paid", sender_id="s")) == 1


async def s16_a_park_is_refused_while_its_signal_is_there(make: MakeStore) -> None:
    """S16: the oldest unconsumed one of the name stands in the way; others do not."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        await store.signal(sent(clock, "other"))
        assert await log.append_with("park", unless_signal="paid") is None
        await store.signal(sent(clock, "paid", "1"))
        await store.signal(sent(clock, "paid", "2"))
        stands = await log.append_with("park", unless_signal="paid")
        assert isinstance(stands, Signal)
        assert (stands.run_id, stands.n, stands.payload) == ("run-1", 2, "1")
        assert await texts(store, "run-1") == ["park"]
        assert await log.append_with("park", "answer", consumes=2) is None
        stands = await log.append_with("park", unless_signal="paid")
        assert isinstance(stands, Signal)
        assert stands.n == 3
        assert [one.consumed for one in await store.inbox("run-1")] == [None, 2, None]


async def s16_a_signal_is_consumed_once(make: MakeStore) -> None:
    """S16: by an append or a settlement, never by both, and never one that is not there."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        await store.signal(sent(clock, "paid"))
        await raised(Conflict, log.append_with("a", consumes=2))
        assert await log.append_with("a", consumes=1) is None
        await raised(Conflict, log.append_with("b", consumes=1))
        await store.release(log.fence)
        await raised(Conflict, store.settle(log.settled("b", consumes=1)))
        assert await store.signal(sent(clock, "paid")) == 2
        await store.settle(log.settled("b", consumes=2))
        assert await texts(store, "run-1") == ["a", "b"]
        assert [one.consumed for one in await store.inbox("run-1")] == [0, 1]


async def s17_the_first_cancel_stays_and_is_heeded_where_asked(make: MakeStore) -> None:
    """S17: an append that heeds it writes nothing, one that does not goes through."""
    async with opened(make) as (store, clock):
        cancel = Cancel(run_id="run-1", reason="closed", by="desk", asked_at=clock.now())
        await raised(UnknownRun, store.cancel(cancel))
        log = await start_log(store, "run-1")
        assert await log.append_with("a", heeds_cancel=True) is None
        assert await store.cancelled("run-1") is None
        await store.cancel(cancel)
        clock.move(1)
        await store.cancel(Cancel(run_id="run-1", reason=None, by=None, asked_at=clock.now()))
        assert await store.cancelled("run-1") == cancel
        assert await log.append_with("b", heeds_cancel=True) == cancel
        assert await log.append("b") is None
        assert await texts(store, "run-1") == ["a", "b"]
        [row] = await store.runs()
        assert row.cancel == cancel
        await log.append_with("end", ends=True)
        await raised(RunEnded, store.cancel(cancel))


async def s17_a_fence_is_looked_at_before_a_cancel(make: MakeStore) -> None:
    """S17: a driver that lost its run or its place in the log is told so."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        cancel = Cancel(run_id="run-1", reason=None, by=None, asked_at=clock.now())
        await store.cancel(cancel)
        astray = replace(log.prepare("a"), length=7, heeds_cancel=True)
        await raised(Conflict, store.append(astray))
        clock.move(31)
        await store.take_over("run-1", THERE, lease=30.0)
        await raised(Fenced, log.append_with("a", heeds_cancel=True))


async def s18_runs_are_due_by_the_clock_of_the_store(make: MakeStore) -> None:
    """S18: longest due first, none that is driven or has ended; every append says it anew."""
    async with opened(make) as (store, clock):
        logs = [await start_log(store, f"run-{n}") for n in range(1, 7)]
        later, soon = clock.now() + timedelta(seconds=20), clock.now() + timedelta(seconds=10)
        await logs[0].append_with("a", due=later)
        await logs[1].append_with("a", due=soon)
        await logs[2].append_with("a", due=soon, ends=True)
        await logs[3].append_with("a", due=soon)
        await logs[3].append("b")
        await logs[4].append_with("a", due=soon)
        await logs[5].append("a")
        for log in logs[:4]:
            await store.release(log.fence)
        assert list(await store.due()) == []
        clock.move(10)
        assert list(await store.due()) == ["run-2"]
        assert (await store.head("run-1")).due_at == later
        clock.move(20)
        assert list(await store.due()) == ["run-2", "run-5", "run-1", "run-6"]
        assert list(await store.due(limit=1)) == ["run-2"]


async def s18_a_settlement_says_anew_when_its_run_is_due(make: MakeStore) -> None:
    """S18: but one without rows leaves that as it is, unless it puts the run off."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        await store.release(log.fence)
        due, soon = clock.now(), clock.now() + timedelta(seconds=5)
        await store.settle(log.settled(due=due))
        assert (await store.head("run-1")).due_at is None
        await store.settle(log.settled("a", due=due))
        log.advance("a")
        await store.settle(log.settled())
        assert list(await store.due()) == ["run-1"]
        await store.settle(log.settled(put_off=PutOff(seen=due, at=soon)))
        assert list(await store.due()) == []
        again = log.settled(put_off=PutOff(seen=due, at=None))
        await raised(Conflict, store.settle(again))
        assert (await store.head("run-1")).due_at == soon
        await store.settle(log.settled("b"))
        log.advance("b")
        head = await store.head("run-1")
        assert (head.length, head.epoch, head.lease, head.due_at) == (2, 6, None, None)
        assert await texts(store, "run-1") == ["a", "b"]


async def s18_a_run_with_a_cancel_is_due_whatever_is_written_to_it(make: MakeStore) -> None:
    """S18: until it ends, somebody has to see to it."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        await log.append("a")
        await store.cancel(Cancel(run_id="run-1", reason=None, by=None, asked_at=clock.now()))
        await log.append_with("b", due=clock.now() + timedelta(days=1))
        await store.release(log.fence)
        assert list(await store.due()) == ["run-1"]
        await store.settle(log.settled("c", due=clock.now() + timedelta(days=1)))
        log.advance("c")
        assert list(await store.due()) == ["run-1"]
        head = await store.head("run-1")
        assert head.due_at is not None
        await store.settle(log.settled(put_off=PutOff(seen=head.due_at, at=None)))
        assert list(await store.due()) == ["run-1"]
        await store.settle(log.settled("d", ends=True))
        assert list(await store.due()) == []


async def s18_a_settlement_hides_no_driver_that_died(make: MakeStore) -> None:
    """S18: a run that was due by its driver's silence stays due, unless it is put off."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        await log.append("a")
        clock.move(60)
        assert list(await store.due()) == ["run-1"]
        await store.settle(log.settled())
        assert list(await store.due()) == ["run-1"]
        assert (await store.head("run-1")).due_at == clock.now()
        other = await start_log(store, "run-2")
        await other.append("a")
        clock.move(60)
        await store.settle(other.settled(put_off=PutOff(seen=None, at=None)))
        assert list(await store.due()) == ["run-1"]


async def s18_a_run_without_an_event_is_not_due(make: MakeStore) -> None:
    """S18: its driver died before it had recorded anything, so nothing of it can go on."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        clock.move(60)
        assert list(await store.due()) == []
        await store.settle(log.settled())
        assert list(await store.due()) == []


async def s12_a_word_on_another_claim_ends_no_wait(make: MakeStore) -> None:
    """S12: a settlement without rows leaves the run where it waits."""
    async with opened(make) as (store, _):
        holder, waiting = await start_log(store, "run-1"), await start_log(store, "run-2")
        await waiting.append("a")
        await holder.append("a", claims=(holder.take(),))
        assert await store.wait(waiting.fence, KEY, tool="t")
        await store.release(waiting.fence)
        await store.settle(waiting.settled())
        (row,) = [one for one in await store.runs() if one.head.run_id == "run-2"]
        assert row.wait is not None
        await holder.append("b", claims=(holder.settle(0),))
        assert list(await store.due()) == ["run-2"]


async def s19_a_settlement_is_held_against_the_clock(make: MakeStore) -> None:
    """S19: at the very instants it is in time."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        await log.append("park")
        await store.release(log.fence)
        noon = clock.now() + timedelta(seconds=10)
        early = log.settled("woken", not_before=noon)
        await raised(NotYet, store.settle(early))
        clock.move(10)
        await store.settle(early)
        log.advance("woken")
        await store.settle(log.settled("answered", not_after=noon, answers=1))
        log.advance("answered")
        clock.move(0.001)
        await raised(DeadlinePassed, store.settle(log.settled("late", not_after=noon)))
        assert await texts(store, "run-1") == ["park", "woken", "answered"]


async def s19_an_answer_and_a_deadline_race_for_one_park(make: MakeStore) -> None:
    """S19, S9: whoever comes second is told that the park was answered."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        await log.append("park")
        await store.release(log.fence)
        answer = log.settled("answer", answers=0, not_after=clock.now())
        default = log.settled("default", answers=0, not_before=clock.now())
        await store.settle(answer)
        await raised(AnswerConflict, store.settle(default))
        assert await texts(store, "run-1") == ["park", "answer"]


CHECKS: tuple[Check, ...] = checks_in(globals())
