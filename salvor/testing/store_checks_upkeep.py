"""Checks of a store: restores, copies and retention (S22 to S24)."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from salvor.events.chain import GENESIS, row_hash
from salvor.events.claims import Claim, OverruleClaim
from salvor.events.codec import encode
from salvor.events.records import (
    Cancel,
    LateResult,
    Row,
    RunCopy,
    Signal,
)
from salvor.events.vocabulary import (
    Envelope,
    Event,
    RunCompleted,
    RunStarted,
    ToolCallCompleted,
    ToolCallRequested,
)
from salvor.run_errors import AnswerConflict, RunExists, Unconfirmed, UnknownRun
from salvor.store_errors import Conflict, StoreUnavailable, TamperEvident
from salvor.testing.store_log import HERE, KEY, Log, raised, start_log, texts
from salvor.testing.store_opened import Check, MakeStore, checks_in, opened
from salvor.values import content_hash


async def s22_a_restored_store_takes_no_keys_until_it_is_confirmed(make: MakeStore) -> None:
    """S22: everything else goes on."""
    async with opened(make) as (store, _):
        assert (await store.incarnation()).confirmed
        log = await start_log(store, "run-1")
        begun = await store.begin_incarnation()
        assert (begun.number, begun.confirmed) == (2, False)
        await raised(Unconfirmed, log.append("intent", claims=(log.take(),)))
        assert await log.append("a") is None
        assert await store.claim(KEY) is None
        settling = log.settled("b", claims=(log.take(),), force=True)
        await raised(Unconfirmed, store.settle(settling))
        assert await texts(store, "run-1") == ["a"]
        confirmed = await store.confirm_incarnation()
        assert (confirmed.number, confirmed.confirmed) == (2, True)
        assert await store.incarnation() == confirmed
        assert await log.append("intent", claims=(log.take(),)) is None


async def s22_a_backup_is_a_whole_copy_or_refused(make: MakeStore) -> None:
    """S22: a store that cannot be copied says so, and no file is written over."""
    async with opened(make) as (store, _):
        log = await start_log(store, "run-1")
        await log.append("a")
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "copy.db"
            try:
                await store.backup(str(place))
            except StoreUnavailable:
                assert not place.exists()
                return
            await log.append("b")
            await raised(StoreUnavailable, store.backup(str(place)))
            assert place.stat().st_size > 0


async def s23_a_run_from_elsewhere_is_adopted_whole(make: MakeStore) -> None:
    """S23: log, inbox, answers, late results and claims, and nobody drives it."""
    async with opened(make) as (store, clock):
        copy = run_copy(clock.now())
        await store.adopt(copy)
        await raised(RunExists, store.adopt(copy))
        assert await texts(store, "run-9") == [row.envelope for row in copy.rows]
        assert list(await store.inbox("run-9")) == list(copy.signals)
        assert list(await store.late("run-9")) == list(copy.late)
        assert await store.cancelled("run-9") is None
        assert list(await store.due()) == ["run-9"]
        head = await store.head("run-9")
        assert (head.length, head.lease, head.due_at) == (1, None, clock.now())
        fence, _ = await store.take_over("run-9", HERE, lease=30.0)
        log = Log(store, fence)
        log.length, log.head_hash = 1, copy.rows[-1].row_hash
        await raised(AnswerConflict, store.settle(log.settlement("again", answers=0)))
        assert await log.append_with("a", unless_signal="else") is None


async def s23_a_cancel_and_settled_outputs_come_with_the_run(make: MakeStore) -> None:
    """S23: a run that was to end ends here too; a claim is copied from what it was settled with."""
    async with opened(make) as (store, clock):
        cancel = Cancel(run_id="run-9", reason="closed", by="desk", asked_at=clock.now())
        claim = Claim(
            id=KEY,
            state="committed",
            effect="write",
            run_id="run-9",
            intent_seq=0,
            input_hash="h",
            generation=1,
            output_hash="h",
        )
        copy = replace(run_copy(clock.now()), claims=(claim,), outputs=((KEY, "7"),), cancel=cancel)
        await store.adopt(copy)
        assert await store.cancelled("run-9") == cancel
        assert await store.claim(KEY) == claim
        assert await store.settled_output(claim) == "7"
        fence, _ = await store.take_over("run-9", HERE, lease=30.0)
        log = Log(store, fence)
        log.length, log.head_hash = 1, copy.rows[-1].row_hash
        assert await log.append_with("a", heeds_cancel=True) == cancel


async def s23_a_claim_that_stands_here_keeps_the_run_out(make: MakeStore) -> None:
    """S23: nothing of it is written."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        await log.append("intent", claims=(log.take(),))
        claim = await store.claim(KEY)
        assert claim is not None
        copy = replace(run_copy(clock.now()), claims=(replace(claim, run_id="run-9"),))
        await raised(Conflict, store.adopt(copy))
        await raised(UnknownRun, store.head("run-9"))


async def s24_a_run_with_a_failed_claim_stays(make: MakeStore) -> None:
    """S24: until an operator said what became of it."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        await log.append("a", claims=(log.take(),))
        await log.append("b", claims=(log.settle(0, "failed", extent="unknown"),))
        await log.append_with("c", ends=True)
        await store.release(log.fence)
        later = clock.now() + timedelta(days=1)
        assert not await store.forget("run-1", ended_before=later)
        released = OverruleClaim(id=KEY, generation=1, to="released")
        await store.settle(log.settled(claims=(released,), ends=True))
        assert await store.forget("run-1", ended_before=later)


async def s24_a_run_that_ended_long_ago_can_go_but_its_claims_stay(make: MakeStore) -> None:
    """S24: with what they were committed with; others stay whole."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        started, asked, done, ended = (row.envelope for row in ended_run("run-1"))
        await log.append(started)
        await log.append(asked, claims=(log.take(),))
        await log.append(done, claims=(log.settle(1, output_hash=content_hash({"paid": True})),))
        later = clock.now() + timedelta(days=1000)
        assert not await store.forget("run-1", ended_before=later)
        await log.append_with(ended, ends=True)
        await store.release(log.fence)
        kept = await start_log(store, "run-2")
        await kept.append("a")
        assert not await store.forget("run-1", ended_before=datetime.fromtimestamp(0, later.tzinfo))
        assert await store.forget("run-1", ended_before=later)
        await raised(UnknownRun, store.forget("run-1", ended_before=later))
        await raised(UnknownRun, store.head("run-1"))
        claim = await store.claim(KEY)
        assert claim is not None
        assert (claim.state, claim.completion_seq) == ("committed", None)
        assert await store.settled_output(claim) == '{"paid":true}'
        assert [row.head.run_id for row in await store.runs()] == ["run-2"]
        again = await start_log(store, "run-1")
        assert await texts(store, "run-1") == []
        assert again.fence.epoch == 1


async def s24_a_run_that_does_not_give_back_its_output_stays(make: MakeStore) -> None:
    """S24: it is not what its claim was committed with."""
    async with opened(make) as (store, clock):
        log = await start_log(store, "run-1")
        started, asked, done, ended = (row.envelope for row in ended_run("run-1"))
        await log.append(started)
        await log.append(asked, claims=(log.take(),))
        await log.append(done, claims=(log.settle(1, output_hash=content_hash({"paid": False})),))
        await log.append_with(ended, ends=True)
        later = clock.now() + timedelta(days=1000)
        await raised(TamperEvident, store.forget("run-1", ended_before=later))
        assert await texts(store, "run-1") == [started, asked, done, ended]


def rows_of(run_id: str, *found: str) -> tuple[Row, ...]:
    """A whole log of these texts."""
    rows: list[Row] = []
    prev = GENESIS
    for seq, text in enumerate(found):
        prev = row_hash(prev, run_id, seq, text)
        rows.append(Row(seq=seq, recorded_at=seq + 1, envelope=text, row_hash=prev))
    return tuple(rows)


def run_copy(at: datetime) -> RunCopy:
    """A run of another store."""
    return RunCopy(
        run_id="run-9",
        rows=rows_of("run-9", "park"),
        ended=False,
        due_at=at,
        signals=(
            Signal(run_id="run-9", name="paid", payload="1", sent_at=at, n=1, consumed=0),
            Signal(run_id="run-9", name="paid", payload="2", sent_at=at, n=2, by="desk"),
        ),
        answers=(0,),
        late=(
            LateResult(
                run_id="run-9", intent_seq=0, epoch=1, outcome="output", value="1", kept_at=at
            ),
        ),
    )


def ended_run(run_id: str) -> tuple[Row, ...]:
    """The rows of a run that paid."""
    events: tuple[Event, ...] = (
        RunStarted(agent_def_hash="h", input={}),
        ToolCallRequested(seq=1, tool="pay", input={}, effect="write", idempotency_key=KEY.key),
        ToolCallCompleted(seq=1, output={"paid": True}),
        RunCompleted(output=None),
    )
    found = [
        encode(Envelope(run_id=run_id, seq=seq, recorded_at="2026-07-09T12:00:00Z", event=event))
        for seq, event in enumerate(events)
    ]
    return rows_of(run_id, *found)


CHECKS: tuple[Check, ...] = checks_in(globals())
