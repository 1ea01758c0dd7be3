"""Checks of a store: stuck runs, and an operator's word on claims (S20, S21)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import anyio

from salvor.events.claim_log import check_claim_log
from salvor.events.claims import ClaimChange, OverruleClaim
from salvor.events.records import STUCK_AFTER, ClaimEntry
from salvor.run_errors import RunStuck
from salvor.store_errors import Conflict
from salvor.testing.store_log import HERE, KEY, THERE, raised, start_log, texts
from salvor.testing.store_opened import Check, MakeStore, checks_in, opened


async def s20_a_run_that_gets_nowhere_is_stuck_for_all_but_an_operator(make: MakeStore) -> None:
    """S20: five take-overs without an event, each with its cause."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        await log.append("a")
        clock.move(31)
        for n in range(STUCK_AFTER):
            fence, head = await store.take_over("run-1", HERE, lease=30.0, operator=False)
            assert (head.takeovers, head.stuck) == (n + 1, n + 1 == STUCK_AFTER)
            if n % 2:
                await store.release(fence, cause=f"cause {n}")
            else:
                clock.move(31)
        stuck = await raised(RunStuck, store.take_over("run-1", HERE, lease=30.0, operator=False))
        silent = "process 101 on here.example ended without a word"
        assert list(stuck.causes) == [silent, "cause 1", silent, "cause 3", silent]
        before = await store.head("run-1")
        await raised(RunStuck, store.take_over("run-1", HERE, lease=30.0, operator=False))
        assert await store.head("run-1") == before
        _, head = await store.take_over("run-1", THERE, lease=30.0)
        assert (head.takeovers, head.causes, head.stuck) == (1, (), False)


async def s20_an_event_begins_the_count_anew(make: MakeStore) -> None:
    """S20: of whoever writes it."""
    async with opened(make) as (store, _):
        log = await start_log(store, "run-1")
        await log.append("a")
        for _ in range(STUCK_AFTER - 1):
            await store.release(log.fence, cause="broke")
            log.fence, _head = await store.take_over("run-1", HERE, lease=30.0, operator=False)
        assert (await store.head("run-1")).takeovers == STUCK_AFTER - 1
        await log.append("b")
        head = await store.head("run-1")
        assert (head.takeovers, head.causes) == (0, ())


async def s20_a_take_over_that_was_not_the_runs_fault_is_taken_back(make: MakeStore) -> None:
    """S20: it counts for nothing, and the run is due at once."""
    async with opened(make) as (store, _):
        log = await start_log(store, "run-1")
        await log.append("a")
        await store.release(log.fence)
        for _ in range(STUCK_AFTER + 2):
            fence, head = await store.take_over("run-1", HERE, lease=30.0, operator=False)
            assert head.takeovers == 1
            await store.release(fence, cause="never told", blameless=True)
            assert list(await store.due()) == ["run-1"]
        head = await store.head("run-1")
        assert (head.takeovers, head.causes) == (0, ())
        await store.release(fence, blameless=True)
        assert (await store.head("run-1")).takeovers == 0


async def s8_a_lease_is_released_once(make: MakeStore) -> None:
    """S8: whoever lets go of it again says nothing of the run any more."""
    async with opened(make) as (store, _):
        log = await start_log(store, "run-1")
        await log.append("a")
        await store.release(log.fence)
        fence, _ = await store.take_over("run-1", HERE, lease=30.0, operator=False)
        await store.release(fence, cause="broke")
        await store.release(fence, cause="broke again")
        await store.release(fence, blameless=True)
        head = await store.head("run-1")
        assert (head.takeovers, head.causes, head.due_at) == (1, ("broke",), None)


async def s20_a_stuck_run_is_not_due(make: MakeStore) -> None:
    """S20, S18: neither by the clock nor because its driver died; an operator begins anew."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        await log.append_with("a", due=clock.now())
        await store.release(log.fence)
        for _ in range(STUCK_AFTER):
            assert list(await store.due()) == ["run-1"]
            await store.take_over("run-1", HERE, lease=1.0, operator=False)
            clock.move(2)
        assert list(await store.due()) == []
        fence, _ = await store.take_over("run-1", HERE, lease=1.0)
        await store.release(fence)
        assert list(await store.due()) == ["run-1"]


async def s21_a_claim_held_by_a_log_that_cannot_be_read_is_overruled(make: MakeStore) -> None:
    """S21: only where that is said; who waits for it is due."""
    async with opened(make) as (store, _):
        holder, waiting = await start_log(store, "run-1"), await start_log(store, "run-2")
        await waiting.append("a")
        await holder.append("a", claims=(holder.take(),))
        assert await store.wait(waiting.fence, KEY, tool="t")
        for log in (holder, waiting):
            await store.release(log.fence)
        released = OverruleClaim(id=KEY, generation=1, to="released")
        await raised(Conflict, store.settle(holder.settled(claims=(released,))))
        unreadable = replace(released, unreadable=True)
        await store.settle(holder.settled(claims=(unreadable,)))
        claim = await store.claim(KEY)
        assert claim is not None
        assert claim.state == "released"
        assert list(await store.due()) == ["run-2"]


async def s21_an_operator_overrules_a_claim_that_nobody_holds(make: MakeStore) -> None:
    """S21: only the generation that was looked at; the output is kept; the log is a chain."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        await log.append("intent", claims=(log.take(),))
        entry = said(clock.now())
        released = OverruleClaim(id=KEY, generation=1, to="released")
        await store.release(log.fence)
        await raised(Conflict, store.settle(log.settled(claims=(released,), entry=entry)))
        await store.settle(
            log.settled("end", claims=(log.settle(0, "failed", extent="unknown"),), entry=entry)
        )
        log.advance("end")
        wrong = replace(released, generation=2)
        await raised(Conflict, store.settle(log.settled(claims=(wrong,), entry=entry)))
        paid = OverruleClaim(
            id=KEY, generation=1, to="committed", output='{"paid":1}', output_hash="h"
        )
        await store.settle(log.settled(claims=(paid,), entry=replace(entry, verb="settle")))
        claim = await store.claim(KEY)
        assert claim is not None
        assert (claim.state, claim.output_hash, claim.completion_seq) == ("committed", "h", None)
        assert await store.settled_output(claim) == '{"paid":1}'
        assert await texts(store, "run-1") == ["intent", "end"]
        rows = await store.claim_log()
        assert [(row.n, row.state_before, row.state_after) for row in rows] == [
            (1, "held", "failed"),
            (2, "failed", "committed"),
        ]
        assert [row.entry.verb for row in rows] == ["release", "settle"]
        assert rows[0].entry == entry
        assert check_claim_log(rows) == rows[-1].row_hash
        assert list(await store.claim_log(after=1)) == list(rows[1:])


async def s21_an_output_goes_with_the_word_that_gave_it(make: MakeStore) -> None:
    """S21: what is overruled again, or taken and committed again, is not what it was."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        await log.append("intent", claims=(log.take(effect="idempotent"),))
        await log.append("end", claims=(log.settle(0, "failed", extent="unknown"),))
        await store.release(log.fence)
        paid = OverruleClaim(id=KEY, generation=1, to="committed", output="1", output_hash="h")
        unknown = OverruleClaim(id=KEY, generation=1, to="failed", extent="unknown")
        for word, kept in ((paid, "1"), (unknown, None)):
            entry = said(clock.now())
            await store.settle(log.settled(claims=(word,), entry=entry))
            claim = await store.claim(KEY)
            assert claim is not None
            assert await store.settled_output(claim) == kept


async def s21_an_append_that_overrules_stops_no_other(make: MakeStore) -> None:
    """S21, S6: among others that arrive with it."""
    async with opened(make) as (store, _):
        logs = [await start_log(store, f"run-{number}") for number in range(5)]
        await logs[0].append("intent", claims=(logs[0].take(),))
        await logs[0].append("end", claims=(logs[0].settle(0, "failed", extent="no"),))
        released = OverruleClaim(id=KEY, generation=1, to="released")
        outcomes: list[object] = []

        async def add(number: int, claims: tuple[ClaimChange, ...]) -> None:
            try:
                outcomes.append(await logs[number].append("more", claims=claims))
            except Conflict:
                outcomes.append(number)

        async with anyio.create_task_group() as group:
            group.start_soon(add, 0, (released,))
            group.start_soon(add, 1, (replace(released, generation=2),))
            for number in (2, 3, 4):
                group.start_soon(add, number, ())
        assert sorted(outcomes, key=str) == [1, None, None, None, None]
        claim = await store.claim(KEY)
        assert claim is not None
        assert claim.state == "released"


def said(at: datetime) -> ClaimEntry:
    """What an operator says of `KEY`."""
    return ClaimEntry(
        id=KEY,
        generation=1,
        verb="release",
        reason="the bank says no",
        evidence="ticket 7",
        by="desk",
        at=at,
    )


CHECKS: tuple[Check, ...] = checks_in(globals())
