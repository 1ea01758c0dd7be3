"""Proves a store: one check for each clause of `salvor.events.store.Store`.

For the author of a store:

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    async def test_my_store(check: Check) -> None:
        await check(lambda clock: MyStore(clock=clock))

What only shows between processes (who is dead, who waits for whom) is not in here.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import anyio
import anyio.to_thread

from salvor.errors import SalvorError
from salvor.events.chain import GENESIS
from salvor.events.claims import Claim, MoveClaim
from salvor.events.records import LateResult
from salvor.run_errors import AnswerConflict, LeaseHeld, UnknownRun
from salvor.store_errors import Conflict, Fenced
from salvor.testing import store_checks_operators, store_checks_parks, store_checks_upkeep
from salvor.testing.store_log import HERE, KEY, THERE, Log, raised, start_log, texts
from salvor.testing.store_opened import Check, MakeStore, checks_in, opened


async def s1_a_take_over_voids_every_earlier_fence(make: MakeStore) -> None:
    """S1: epochs count up, tokens differ, unknown runs are made only if asked to."""
    async with opened(make) as (store, clock):
        await raised(UnknownRun, store.take_over("run-1", HERE, lease=30.0))
        first, head = await store.take_over("run-1", HERE, lease=30.0, create=True)
        assert (first.run_id, first.epoch, head.length, head.head_hash) == ("run-1", 1, 0, GENESIS)
        assert head.lease is not None
        assert head.lease.driver == HERE
        assert head.lease.expires_at == clock.now() + timedelta(seconds=30)
        log = Log(store, first)
        await log.append("a")
        await store.release(first)
        second, head = await store.take_over("run-1", THERE, lease=30.0)
        assert (second.epoch, head.epoch, head.length) == (2, 2, 1)
        assert second.token != first.token
        assert head == await store.head("run-1")
        await raised(Fenced, log.append("b"))
        await raised(Fenced, store.confirm(first))
        assert await texts(store, "run-1") == ["a"]


async def s2_a_live_lease_keeps_others_out(make: MakeStore) -> None:
    """S2: refused until the lease expires or is released, naming who holds it."""
    async with opened(make) as (store, clock):
        fence, _ = await store.take_over("run-1", HERE, lease=30.0, create=True)
        held = await raised(LeaseHeld, store.take_over("run-1", THERE, lease=30.0))
        assert (held.pid, held.host) == (HERE.pid, HERE.host)
        await raised(LeaseHeld, store.take_over("run-1", HERE, lease=30.0, create=True))
        clock.move(29.0)
        await raised(LeaseHeld, store.take_over("run-1", THERE, lease=30.0))
        await store.release(fence)
        assert (await store.head("run-1")).lease is None
        await store.take_over("run-1", THERE, lease=30.0)
        clock.move(31.0)
        assert (await store.head("run-1")).lease is None
        fence, _ = await store.take_over("run-1", HERE, lease=30.0)
        assert fence.epoch == 3


async def s3_an_append_must_fit_the_head_exactly(make: MakeStore) -> None:
    """S3: another epoch or token is fenced, another length or hash a conflict."""
    async with opened(make) as (store, _):
        log = await start_log(store, "run-1")
        await log.append("a", "b")
        good = log.prepare("c", claims=(log.take(),))
        fence = log.fence
        for other in (replace(fence, epoch=fence.epoch + 1), replace(fence, token="0" * 32)):
            await raised(Fenced, store.append(replace(good, fence=other)))
        for wrong in (replace(good, length=1), replace(good, prev_hash=GENESIS)):
            await raised(Conflict, store.append(wrong))
        await raised(UnknownRun, store.append(replace(good, fence=replace(fence, run_id="no"))))
        assert await texts(store, "run-1") == ["a", "b"]
        assert await store.claim(KEY) is None
        assert await store.append(good) is None
        await raised(Conflict, store.append(good))
        assert await texts(store, "run-1") == ["a", "b", "c"]


async def s4_rows_come_back_byte_for_byte(make: MakeStore) -> None:
    """S4: whatever the text holds, and although the caller was cancelled."""
    async with opened(make) as (store, _):
        log = await start_log(store, "run-1")
        odd = ["{}", ' {"a": 1.0}\n', "\u00e9\u4e16\U0001f600", "'; DROP", "x" * 100_000, ""]
        await log.append(*odd)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await log.append("cancelled")
        await store.confirm(log.fence)
        assert await texts(store, "run-1") == [*odd, "cancelled"]


async def s5_a_claim_is_taken_only_where_it_may_be(make: MakeStore) -> None:
    """S5: who may not take a key is told why; who does not hold it cannot change it."""
    async with opened(make) as (store, _):
        log = await start_log(store, "run-1")
        other = await start_log(store, "run-2")
        assert await log.append("intent", claims=(log.take(),)) is None
        stands = await other.append("intent", claims=(other.take(),))
        assert stands == await store.claim(KEY)
        assert stands is not None
        assert (stands.state, stands.run_id, stands.generation) == ("held", "run-1", 1)
        await raised(Conflict, other.append("end", claims=(other.settle(0),)))
        assert await texts(store, "run-2") == []
        move = MoveClaim(id=KEY, run_id="run-1", intent_seq=0, fresh_seq=2)
        await log.append("not done", "intent", claims=(move,))
        await raised(Conflict, log.append("end", claims=(log.settle(0),)))
        await log.append("end", claims=(log.settle(2, output_hash="out"),))
        claim = await store.claim(KEY)
        assert claim is not None
        assert (claim.state, claim.intent_seq, claim.generation) == ("committed", 2, 2)
        assert (claim.completion_seq, claim.output_hash) == (3, "out")
        await raised(Conflict, log.append("end", claims=(log.settle(2, "released"),)))
        assert await other.append("intent", claims=(other.take(),)) == claim
        assert await texts(store, "run-2") == []


async def s5_a_released_or_failed_claim_can_be_taken_again(make: MakeStore) -> None:
    """S5: released by anybody; failed(unknown) by an idempotent call with the same input."""
    async with opened(make) as (store, _):
        log = await start_log(store, "run-1")
        await log.append("intent", claims=(log.take(effect="idempotent"),))
        await log.append("end", claims=(log.settle(0, "released", extent="no"),))
        again = log.take(effect="idempotent")
        await log.append("intent", claims=(again,))
        await log.append("end", claims=(log.settle(2, "failed", extent="unknown"),))
        for refused in (log.take(), log.take(effect="idempotent", given="else")):
            stands = await log.append("intent", claims=(refused,))
            assert isinstance(stands, Claim)
            assert (stands.state, stands.extent, stands.generation) == ("failed", "unknown", 2)
        assert await log.append("intent", claims=(log.take(effect="idempotent"),)) is None
        claim = await store.claim(KEY)
        assert claim is not None
        assert (claim.state, claim.generation, claim.extent) == ("held", 3, None)


async def s6_a_refused_append_stops_no_other(make: MakeStore) -> None:
    """S6: of appends that arrive together each is judged by itself."""
    async with opened(make) as (store, _):
        logs = [await start_log(store, f"run-{number}") for number in range(9)]
        outcomes: dict[int, object] = {}

        async def add(number: int) -> None:
            log = logs[number]
            key = replace(KEY, key=str(number % 6 if number < 6 else 0))
            append = log.prepare("a", "b", claims=(log.take(key),))
            if number == 4:
                append = replace(append, fence=replace(log.fence, token="0" * 32))
            if number == 5:
                append = replace(append, length=7)
            try:
                outcomes[number] = await store.append(append)
            except SalvorError as error:
                outcomes[number] = type(error)

        async with anyio.create_task_group() as group:
            for number in range(9):
                group.start_soon(add, number)
        written = [n for n in range(9) if await texts(store, f"run-{n}") == ["a", "b"]]
        empty = [n for n in range(9) if await texts(store, f"run-{n}") == []]
        assert sorted(written + empty) == list(range(9))
        assert written == [n for n in range(9) if outcomes[n] is None]
        assert [n for n in written if 0 < n < 6] == [1, 2, 3]
        assert len([n for n in written if n in {0, 6, 7, 8}]) == 1
        assert (outcomes[4], outcomes[5]) == (Fenced, Conflict)
        assert await store.claim(replace(KEY, key="4")) is None
        assert await store.claim(replace(KEY, key="5")) is None


async def s7_leases_are_renewed_from_any_thread(make: MakeStore) -> None:
    """S7: current fences get a longer lease; void and released ones come back as lost."""
    async with opened(make) as (store, clock):
        kept = (await start_log(store, "run-1")).fence
        released = (await start_log(store, "run-2")).fence
        await store.release(released)
        void = replace(kept, epoch=kept.epoch + 1)
        unknown = replace(kept, run_id="run-3")
        clock.move(20.0)
        fences = {kept, released, void, unknown}
        lost = await anyio.to_thread.run_sync(lambda: store.renew(fences, lease=30.0))
        assert lost == {released, void, unknown}
        assert (await store.head("run-2")).lease is None
        clock.move(20.0)
        lease = (await store.head("run-1")).lease
        assert lease is not None
        assert lease.expires_at == clock.now() + timedelta(seconds=10)
        assert store.renew([], lease=30.0) == set()


async def s8_a_release_ends_the_lease_after_what_was_submitted(make: MakeStore) -> None:
    """S8: appends on their way come first; a void fence releases nothing."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        append = log.prepare("a")
        async with anyio.create_task_group() as group:
            group.start_soon(store.append, append)
            await anyio.wait_all_tasks_blocked()
            await store.release(log.fence)
        assert await texts(store, "run-1") == ["a"]
        assert (await store.head("run-1")).lease is None
        fence, _ = await store.take_over("run-1", THERE, lease=30.0)
        await store.release(log.fence)
        await store.release(replace(fence, run_id="run-2"))
        lease = (await store.head("run-1")).lease
        assert lease is not None
        assert lease.driver == THERE
        await store.confirm(fence)
        clock.move(60.0)
        await store.confirm(fence)
        await raised(Fenced, store.confirm(log.fence))


async def s9_a_settlement_takes_over_writes_and_lets_go(make: MakeStore) -> None:
    """S9: all of it or nothing; one answer for each park."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        await log.append("intent", claims=(log.take(),))
        settlement = log.settlement("end", claims=(log.settle(0),), answers=0)
        await raised(LeaseHeld, store.settle(settlement))
        clock.move(31.0)
        await raised(UnknownRun, store.settle(replace(settlement, run_id="run-2")))
        await raised(Conflict, store.settle(replace(settlement, prev_hash=GENESIS)))
        foreign = replace(log.settle(0), intent_seq=9)
        await raised(Conflict, store.settle(replace(settlement, claims=(foreign,))))
        taking = replace(log.take(), intent_seq=1)
        await raised(Conflict, store.settle(replace(settlement, claims=(taking,))))
        assert await texts(store, "run-1") == ["intent"]
        await store.settle(settlement)
        assert await texts(store, "run-1") == ["intent", "end"]
        head = await store.head("run-1")
        assert (head.epoch, head.lease) == (log.fence.epoch + 1, None)
        claim = await store.claim(KEY)
        assert claim is not None
        assert claim.state == "committed"
        await raised(Fenced, log.append("late"))
        conflict = await raised(AnswerConflict, store.settle(settlement))
        assert (conflict.run_id, conflict.park_seq) == ("run-1", 0)
        await raised(Conflict, store.settle(replace(settlement, answers=None)))


async def s10_a_log_is_read_in_pages(make: MakeStore) -> None:
    """S10: in order, from where one asks, each page with the head."""
    async with opened(make) as (store, _):
        log = await start_log(store, "run-1")
        added = [str(number) for number in range(25)]
        for text in added:
            await log.append(text)
        page = await store.read("run-1", after=9, limit=10)
        assert [row.envelope for row in page.rows] == added[10:20]
        assert [row.seq for row in page.rows] == list(range(10, 20))
        assert page.head == await store.head("run-1")
        assert (page.head.length, page.head.head_hash) == (25, log.head_hash)
        assert not (await store.read("run-1", after=24)).rows
        await raised(UnknownRun, store.read("run-2"))
        await raised(UnknownRun, store.head("run-2"))


async def s11_runs_are_listed_by_their_first_event(make: MakeStore) -> None:
    """S11: oldest first, empty ones last, page by page."""
    async with opened(make) as (store, _):
        for run_id, at in (("run-b", 300), ("run-c", 100), ("run-a", 200), ("run-d", 100)):
            log = await start_log(store, run_id)
            append = log.prepare("a", "b")
            first, last = append.rows
            rows = (replace(first, recorded_at=at), replace(last, recorded_at=at + 5))
            await store.append(replace(append, rows=rows))
        for run_id in ("run-0", "run-z"):
            await start_log(store, run_id)
        listed = await store.runs()
        ids = [row.head.run_id for row in listed]
        assert ids == ["run-c", "run-d", "run-a", "run-b", "run-0", "run-z"]
        assert (listed[0].first_recorded_at, listed[0].last_recorded_at) == (100, 105)
        assert (listed[5].first_recorded_at, listed[5].last_recorded_at) == (None, None)
        assert listed[0].head == await store.head("run-c")
        paged: list[str] = []
        while page := await store.runs(after=paged[-1] if paged else None, limit=2):
            paged.extend(row.head.run_id for row in page)
        assert paged == ids
        await raised(UnknownRun, store.runs(after="run-1"))


async def s12_a_wait_ends_with_an_append_or_the_holding(make: MakeStore) -> None:
    """S12: written only while another run holds the key."""
    async with opened(make) as (store, clock):
        holder = await start_log(store, "run-1")
        waiter = await start_log(store, "run-2")
        third = await start_log(store, "run-3")
        assert not await store.wait(waiter.fence, KEY, tool="pay")
        await holder.append("intent", claims=(holder.take(),))
        assert not await store.wait(holder.fence, KEY, tool="pay")
        void = replace(waiter.fence, token="0" * 32)
        await raised(Fenced, store.wait(void, KEY, tool="pay"))
        assert [row.wait for row in await store.runs()] == [None, None, None]
        for log in (waiter, third):
            assert await store.wait(log.fence, KEY, tool="pay")
        waits = {row.head.run_id: row.wait for row in await store.runs()}
        wait = waits["run-2"]
        assert wait is not None
        assert (wait.claim, wait.tool, wait.holder_run) == (KEY, "pay", "run-1")
        assert wait.since == clock.now()
        await waiter.append("a")
        waits = {row.head.run_id: row.wait for row in await store.runs()}
        assert waits["run-2"] is None
        assert waits["run-3"] is not None
        await holder.append("end", claims=(holder.settle(0),))
        assert [row.wait for row in await store.runs()] == [None, None, None]
        assert not await store.wait(waiter.fence, KEY, tool="pay")
        await holder.append("intent", claims=(holder.take(replace(KEY, key="else")),))
        assert await store.wait(third.fence, replace(KEY, key="else"), tool="pay")
        assert await store.wait(third.fence, replace(KEY, key="else"), tool="pay")
        clock.move(60.0)
        await store.settle(third.settlement("end"))
        assert [row.wait for row in await store.runs()] == [None, None, None]


async def s13_a_claim_is_found_by_key_and_by_intent(make: MakeStore) -> None:
    """S13: both are ``None`` where there is none."""
    async with opened(make) as (store, _):
        log = await start_log(store, "run-1")
        assert await store.claim(KEY) is None
        await log.append("a")
        await log.append("intent", claims=(log.take(),))
        claim = await store.claim(KEY)
        assert claim is not None
        assert (claim.id, claim.intent_seq, claim.effect) == (KEY, 1, "write")
        assert await store.held_claim("run-1", 1) == claim
        assert await store.held_claim("run-1", 0) is None
        assert await store.held_claim("run-2", 1) is None
        for other in ("namespace", "scope", "key"):
            assert await store.claim(replace(KEY, **{other: "else"})) is None
        await log.append("end", claims=(log.settle(1),))
        assert await store.held_claim("run-1", 1) is None


async def s14_a_late_result_is_kept_beside_others(make: MakeStore) -> None:
    """S14: no fence, nothing overwritten, the same one kept once."""
    async with opened(make) as (store, clock):
        first = LateResult(
            run_id="run-1",
            intent_seq=3,
            epoch=1,
            outcome="output",
            value='{"paid":1}',
            kept_at=clock.now(),
        )
        second = replace(first, outcome="error", value='"gone"')
        assert list(await store.late("run-1")) == []
        for late in (first, second, first, replace(first, run_id="run-2")):
            await store.keep_late(late)
        assert list(await store.late("run-1")) == [first, second]


CHECKS: tuple[Check, ...] = (
    *checks_in(globals()),
    *store_checks_parks.CHECKS,
    *store_checks_operators.CHECKS,
    *store_checks_upkeep.CHECKS,
)
"""One for each clause, and more than one where a clause says several things."""
