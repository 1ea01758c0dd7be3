"""Every store answers alike: whatever is asked of the one in memory and of SQLite, in any order."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from salvor.errors import Extent, SalvorError
from salvor.events.claims import (
    ClaimChange,
    ClaimId,
    MoveClaim,
    OverruleClaim,
    SettleClaim,
    TakeClaim,
)
from salvor.events.records import (
    Append,
    Cancel,
    ClaimEntry,
    LateResult,
    PutOff,
    Settlement,
    Signal,
)
from salvor.events.store import Store
from salvor.stores.memory import MemoryStore
from salvor.stores.sqlite import SqliteStore
from salvor.testing.clock import FakeClock
from salvor.testing.store_log import HERE, KEY, THERE, Log

RUNS = ("run-1", "run-2", "run-3")
KEYS = (KEY, ClaimId(namespace="default", scope="native/pay", key='{"claim_id":"c-2"}'))

runs = st.sampled_from(RUNS)
keys = st.sampled_from(KEYS)
logs = st.integers(0, 20)
seconds = st.none() | st.sampled_from([-5, 0, 5, 100])
positions = st.none() | st.integers(0, 4)
extents: st.SearchStrategy[Extent | None] = st.sampled_from([None, "no", "yes", "unknown"])
ends: st.SearchStrategy[Literal["committed", "failed", "released"]] = st.sampled_from(
    ["committed", "failed", "released"]
)


class Side:
    """A store under test, and the ends of its logs as those who took them over know them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.logs: list[Log] = []

    def log(self, number: int) -> Log:
        return self.logs[number % len(self.logs)]


Ask = Callable[[Side], Awaitable[Any]]


class Alike(RuleBasedStateMachine):
    """Two stores that are asked the same, one step at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.loop = asyncio.Runner()
        self.clock = FakeClock()
        path = Path(self.folder.name) / "store.db"
        self.sides = (
            Side(MemoryStore(clock=self.clock)),
            Side(SqliteStore.open(path, clock=self.clock)),
        )

    def teardown(self) -> None:
        for side in self.sides:
            self.loop.run(_closed(side))
        self.loop.close()
        self.folder.cleanup()

    def ask(self, what: Ask) -> Any:
        """Ask both; what they say, or refuse with, has to be the same."""
        memory, sqlite = (self.loop.run(_told(what, side)) for side in self.sides)
        assert memory == sqlite
        return memory

    @property
    def begun(self) -> bool:
        return bool(self.sides[0].logs)

    def at(self, distance: int | None) -> Any:
        return None if distance is None else self.clock.now() + timedelta(seconds=distance)

    @rule(of=st.sampled_from([1, 10, 31]))
    def time_passes(self, of: int) -> None:
        self.clock.move(of)

    @rule(
        run_id=runs,
        driver=st.sampled_from([HERE, THERE]),
        lease=st.sampled_from([1.0, 30.0]),
        create=st.booleans(),
        operator=st.booleans(),
    )
    def take_over(
        self, run_id: str, driver: Any, lease: float, create: bool, operator: bool
    ) -> None:
        async def taken(side: Side) -> Any:
            fence, head = await side.store.take_over(
                run_id, driver, lease=lease, create=create, operator=operator
            )
            log = Log(side.store, fence)
            log.length, log.head_hash = head.length, head.head_hash
            side.logs.append(log)
            return head

        self.ask(taken)

    def _claims(self, data: st.DataObject, log: Log) -> tuple[ClaimChange, ...]:
        run_id, seq = log.fence.run_id, log.length
        held = data.draw(st.integers(0, max(seq, 1)))
        key = data.draw(keys)
        to = data.draw(ends)
        extent = data.draw(extents)
        return data.draw(
            st.sampled_from(
                [
                    (),
                    (),
                    (take := _take(key, run_id, seq),),
                    (take,),
                    (SettleClaim(
                        id=key, run_id=run_id, intent_seq=held, to=to, completion_seq=seq,
                        extent=extent, output_hash="h" if extent is None else None,
                    ),),
                    (MoveClaim(id=key, run_id=run_id, intent_seq=held, fresh_seq=seq),),
                    (take, _take(KEYS[1 - KEYS.index(key)], run_id, seq)),
                ]
            )
        )  # fmt: skip

    @rule(
        data=st.data(),
        number=logs,
        texts=st.lists(st.sampled_from("abc"), min_size=1, max_size=2),
        due=seconds,
        ends=st.sampled_from([False, False, False, True]),
        consumes=st.none() | st.integers(1, 2),
        heeds_cancel=st.booleans(),
        unless_signal=st.none() | st.just("go"),
    )
    def append(
        self, data: st.DataObject, number: int, texts: list[str], due: Any, **facts: Any
    ) -> None:
        if not self.begun:
            return
        claims = self._claims(data, self.sides[0].log(number))
        when = self.at(due)

        async def added(side: Side) -> Any:
            log = side.log(number)
            append: Append = replace(log.prepare(*texts, claims=claims), due=when, **facts)
            stands = await side.store.append(append)
            if stands is None:
                log.advance(*texts)
            return stands

        self.ask(added)

    @rule(
        data=st.data(),
        number=logs,
        texts=st.lists(st.sampled_from("abc"), max_size=2),
        behind=st.sampled_from([0, 0, 0, 1]),
        due=seconds,
        not_before=seconds,
        not_after=seconds,
        ends=st.sampled_from([False, False, False, True]),
        consumes=st.none() | st.integers(1, 2),
        answers=positions,
        force=st.booleans(),
    )
    def settle(
        self,
        data: st.DataObject,
        number: int,
        texts: list[str],
        behind: int,
        due: Any,
        not_before: Any,
        not_after: Any,
        **facts: Any,
    ) -> None:
        if not self.begun:
            return
        run_id = self.sides[0].log(number).fence.run_id
        facts |= {
            "due": self.at(due),
            "not_before": self.at(not_before),
            "not_after": self.at(not_after),
        }
        facts |= self._word(data)
        seen = data.draw(st.sampled_from(["nothing", "due", "other"]))
        then = self.at(data.draw(seconds))

        async def settled(side: Side) -> Any:
            head = await side.store.head(run_id)
            log = Log(side.store, side.log(number).fence)
            log.length, log.head_hash = head.length - behind, head.head_hash
            facts["ends"] = facts["ends"] if texts else head.ended
            settlement: Settlement = log.settled(*texts, **facts)
            if seen != "nothing" and not texts:
                shift = timedelta(seconds=seen == "other")
                due_at = None if head.due_at is None else head.due_at + shift
                put_off = PutOff(seen=due_at, at=then)
                settlement = replace(settlement, put_off=put_off)
            return await side.store.settle(settlement)

        self.ask(settled)

    def _word(self, data: st.DataObject) -> dict[str, Any]:
        """What an operator says of a claim, or nothing."""
        if not data.draw(st.booleans()):
            return {}
        key, generation = data.draw(keys), data.draw(st.integers(1, 3))
        to = data.draw(ends)
        word = OverruleClaim(
            id=key,
            generation=generation,
            to=to,
            extent=data.draw(extents) if to == "failed" else None,
            output="1" if to == "committed" else None,
            output_hash="h" if to == "committed" else None,
            unreadable=data.draw(st.booleans()),
        )
        entry = ClaimEntry(
            id=key,
            generation=generation,
            verb="settle",
            reason="why",
            evidence=None,
            by="ada",
            at=self.clock.now(),
        )
        return {"claims": (word,), "entry": entry if data.draw(st.booleans()) else None}

    @rule(number=logs, cause=st.none() | st.just("broke"), blameless=st.booleans())
    def release(self, number: int, cause: str | None, blameless: bool) -> None:
        if self.begun:
            self.ask(
                lambda side: side.store.release(
                    side.log(number).fence, cause=cause, blameless=blameless
                )
            )

    @rule(number=logs)
    def confirm(self, number: int) -> None:
        if self.begun:
            self.ask(lambda side: side.store.confirm(side.log(number).fence))

    @rule(lease=st.sampled_from([1.0, 30.0]))
    def renew(self, lease: float) -> None:
        async def renewed(side: Side) -> Any:
            kept = side.store.renew([log.fence for log in side.logs], lease=lease)
            return [log.fence in kept for log in side.logs]

        self.ask(renewed)

    @rule(number=logs, key=keys)
    def wait(self, number: int, key: ClaimId) -> None:
        if self.begun:
            self.ask(lambda side: side.store.wait(side.log(number).fence, key, tool="pay"))

    @rule(run_id=runs, sender=st.sampled_from([None, "a", "b"]), payload=st.sampled_from("12"))
    def signal(self, run_id: str, sender: str | None, payload: str) -> None:
        one = Signal(
            run_id=run_id, name="go", payload=payload, sent_at=self.clock.now(), sender_id=sender
        )
        self.ask(lambda side: side.store.signal(one))

    @rule(run_id=runs)
    def cancel(self, run_id: str) -> None:
        one = Cancel(run_id=run_id, reason="why", by="ada", asked_at=self.clock.now())
        self.ask(lambda side: side.store.cancel(one))

    @rule(run_id=runs, seq=st.integers(0, 1))
    def keep_late(self, run_id: str, seq: int) -> None:
        late = LateResult(
            run_id=run_id,
            intent_seq=seq,
            epoch=1,
            outcome="output",
            value="1",
            kept_at=self.clock.now(),
        )
        self.ask(lambda side: side.store.keep_late(late))

    @rule(run_id=runs, before=st.sampled_from([-1, 10**9]))
    def forget(self, run_id: str, before: int) -> None:
        when = self.at(before)
        self.ask(lambda side: side.store.forget(run_id, ended_before=when))

    @rule(confirmed=st.booleans())
    def incarnation(self, confirmed: bool) -> None:
        if confirmed:
            self.ask(lambda side: side.store.confirm_incarnation())
        else:
            self.ask(lambda side: side.store.begin_incarnation())

    @invariant()
    def the_same_is_kept(self) -> None:
        self.ask(_everything)


async def _closed(side: Side) -> None:
    await side.store.close()


async def _told(what: Ask, side: Side) -> Any:
    try:
        return await what(side)
    except SalvorError as error:
        return type(error), error.message, error.hint


async def _everything(side: Side) -> Any:
    store = side.store
    claims = await store.claims()
    found: dict[str, Any] = {
        "runs": list(await store.runs()),
        "ended": [row.head.run_id for row in await store.runs(ended=True)],
        "page": list(await store.runs(after="run-1", limit=1)),
        "due": list(await store.due()),
        "soonest": list(await store.due(limit=1)),
        "claims": list(claims),
        "held": list(await store.claims(state="held")),
        "outputs": [await store.settled_output(claim) for claim in claims],
        "log": list(await store.claim_log()),
        "incarnation": await store.incarnation(),
        "late": [list(await store.late(run_id)) for run_id in RUNS],
    }
    for row in found["runs"]:
        run_id = row.head.run_id
        page = await store.read(run_id)
        inbox, cancel = list(await store.inbox(run_id)), await store.cancelled(run_id)
        found[run_id] = (await store.head(run_id), list(page.rows), page.head, inbox, cancel)
        found[f"{run_id} holds"] = [await store.held_claim(run_id, seq) for seq in range(3)]
    return found


def _take(key: ClaimId, run_id: str, seq: int) -> TakeClaim:
    return TakeClaim(id=key, effect="idempotent", run_id=run_id, intent_seq=seq, input_hash="h")


TestAlike = Alike.TestCase
TestAlike.settings = settings(
    max_examples=40,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
