"""A store in the memory of one process: for tests, and for work that may be lost."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from salvor.clock import Clock, Ids, SystemClock, SystemIds
from salvor.events.chain import GENESIS
from salvor.events.claim_log import logged
from salvor.events.claims import (
    Claim,
    ClaimChange,
    ClaimId,
    ClaimState,
    OverruleClaim,
    SettleClaim,
    TakeClaim,
)
from salvor.events.records import (
    Append,
    Cancel,
    ClaimEntry,
    Driver,
    Fence,
    Head,
    Incarnation,
    LateResult,
    Lease,
    LoggedClaim,
    LogPage,
    RunCopy,
    RunRow,
    Settlement,
    Signal,
    Stands,
    Wait,
)
from salvor.run_errors import RunExists, Unconfirmed, UnknownRun
from salvor.store_errors import StoreClosed, StoreUnavailable
from salvor.stores.claim_changes import ClaimStands, changed
from salvor.stores.instants import instant
from salvor.stores.kept_outputs import committed_output
from salvor.stores.memory_log import MemoryLog, log_of
from salvor.stores.refusals import claim_stands, log_moved


class MemoryStore:
    """Keeps everything in this process; every change is one step under one lock.

    Args:
        clock: Decides when leases end.
        ids: Where the tokens of fences come from.
    """

    def __init__(self, *, clock: Clock | None = None, ids: Ids | None = None) -> None:
        self._clock = clock or SystemClock()
        self._ids = ids or SystemIds()
        self._lock = threading.Lock()
        self._logs: dict[str, MemoryLog] = {}
        self._late: dict[str, list[LateResult]] = {}
        self._claims: dict[ClaimId, Claim] = {}
        self._outputs: dict[ClaimId, str] = {}
        self._entries: list[LoggedClaim] = []
        self._incarnation = Incarnation(number=1, confirmed=True)
        self._closed = False

    async def take_over(
        self,
        run_id: str,
        driver: Driver,
        *,
        lease: float,
        create: bool = False,
        operator: bool = True,
    ) -> tuple[Fence, Head]:
        with self._lock:
            log = self._find(run_id, create=create)
            log.refuse_live(self._now())
            fence = log.taken(self._lease(driver, lease), self._ids.token(), operator=operator)
            return fence, log.head(self._now())

    async def append(self, append: Append) -> Stands | None:
        with self._lock:
            log = self._fenced(append.fence)
            log.check_end(append.length, append.prev_hash)
            if append.heeds_cancel and log.cancel is not None:
                return log.cancel
            if append.unless_signal is not None:
                signal = log.unconsumed(append.unless_signal)
                if signal is not None:
                    return signal
            log.check_consumes(append.consumes)
            self._refuse_unconfirmed(append.claims)
            try:
                claims = self._changed(append.claims)
            except ClaimStands as refusal:
                return refusal.claim
            self._write(log, append, claims)
            return None

    async def confirm(self, fence: Fence) -> None:
        with self._lock:
            self._fenced(fence)

    async def release(
        self, fence: Fence, *, cause: str | None = None, blameless: bool = False
    ) -> None:
        with self._lock:
            self._check_open()
            log = self._logs.get(fence.run_id)
            if log is not None and log.lease is not None and log.is_current(fence):
                log.lease = None
                if blameless:
                    log.unblamed(self._now())
                elif cause is not None:
                    log.blame(cause)

    def renew(self, fences: Collection[Fence], *, lease: float) -> set[Fence]:
        with self._lock:
            self._check_open()
            return {fence for fence in fences if not self._renewed(fence, lease)}

    async def settle(self, settlement: Settlement) -> None:
        with self._lock:
            log = self._find(settlement.run_id)
            log.check_settlement(settlement, self._now())
            log.check_consumes(settlement.consumes)
            self._refuse_unconfirmed(settlement.claims)
            try:
                claims = self._changed(settlement.claims)
            except ClaimStands as refusal:
                raise log_moved(settlement.run_id) from refusal
            log.let_go(self._ids.token(), settlement, self._now())
            before = {change.id: self._claims.get(change.id) for change in settlement.claims}
            self._write(log, settlement, claims)
            if settlement.answers is not None:
                log.answered.add(settlement.answers)
            if settlement.entry is not None:
                self._keep_entry(settlement.entry, before.get(settlement.entry.id))

    async def head(self, run_id: str) -> Head:
        with self._lock:
            return self._find(run_id).head(self._now())

    async def read(self, run_id: str, *, after: int = -1, limit: int = 1000) -> LogPage:
        with self._lock:
            log = self._find(run_id)
            rows = log.rows[after + 1 : after + 1 + limit]
            return LogPage(rows=rows, head=log.head(self._now()))

    async def runs(
        self, *, after: str | None = None, limit: int = 100, ended: bool | None = None
    ) -> Sequence[RunRow]:
        with self._lock:
            self._check_open()
            logs = sorted(self._logs.values(), key=lambda log: log.place)
            if after is not None:
                last = self._find(after).place
                logs = [log for log in logs if log.place > last]
            found = [log for log in logs if ended is None or log.ended is ended]
            return [log.run_row(self._now()) for log in found[:limit]]

    async def claim(self, claim_id: ClaimId) -> Claim | None:
        with self._lock:
            self._check_open()
            return self._claims.get(claim_id)

    async def held_claim(self, run_id: str, intent_seq: int) -> Claim | None:
        with self._lock:
            self._check_open()
            for claim in self._claims.values():
                holds = (claim.run_id, claim.intent_seq) == (run_id, intent_seq)
                if claim.state == "held" and holds:
                    return claim
            return None

    async def claims(
        self, *, after: ClaimId | None = None, limit: int = 100, state: ClaimState | None = None
    ) -> Sequence[Claim]:
        with self._lock:
            self._check_open()
            found = sorted(self._claims.values(), key=lambda claim: _order(claim.id))
            return [
                claim
                for claim in found
                if (after is None or _order(claim.id) > _order(after))
                and state in (None, claim.state)
            ][:limit]

    async def settled_output(self, claim: Claim) -> str | None:
        with self._lock:
            self._check_open()
            return self._outputs.get(claim.id)

    async def claim_log(self, *, after: int = 0, limit: int = 1000) -> Sequence[LoggedClaim]:
        with self._lock:
            self._check_open()
            return self._entries[after : after + limit]

    async def wait(self, fence: Fence, claim_id: ClaimId, *, tool: str) -> bool:
        with self._lock:
            log = self._fenced(fence)
            claim = self._claims.get(claim_id)
            if claim is None or claim.state != "held" or claim.run_id == fence.run_id:
                return False
            log.takeovers, log.causes = 0, ()
            log.due_at = log.due_at if log.cancel else None
            log.wait = Wait(
                run_id=fence.run_id,
                claim=claim_id,
                tool=tool,
                holder_run=claim.run_id,
                since=self._now(),
            )
            return True

    async def keep_late(self, late: LateResult) -> None:
        with self._lock:
            self._check_open()
            kept = self._late.setdefault(late.run_id, [])
            if late not in kept:
                kept.append(late)

    async def late(self, run_id: str) -> Sequence[LateResult]:
        with self._lock:
            self._check_open()
            return tuple(self._late.get(run_id, ()))

    async def signal(self, signal: Signal) -> int:
        with self._lock:
            return self._find(signal.run_id).take_signal(signal, self._now())

    async def inbox(self, run_id: str) -> Sequence[Signal]:
        with self._lock:
            return tuple(self._find(run_id).signals)

    async def cancel(self, cancel: Cancel) -> None:
        with self._lock:
            log = self._find(cancel.run_id)
            log.refuse_ended()
            log.cancel = log.cancel or cancel
            log.due_at = self._now()

    async def cancelled(self, run_id: str) -> Cancel | None:
        with self._lock:
            return self._find(run_id).cancel

    async def due(self, *, limit: int = 100) -> Sequence[str]:
        with self._lock:
            self._check_open()
            now = self._now()
            found = [
                (since, log.run_id)
                for log in self._logs.values()
                if (since := log.due_since(now)) is not None
            ]
            return [run_id for _, run_id in sorted(found)[:limit]]

    async def backup(self, path: str) -> None:
        raise StoreUnavailable(
            "a store in memory cannot be backed up.", hint="Export its runs one by one."
        )

    async def incarnation(self) -> Incarnation:
        with self._lock:
            self._check_open()
            return self._incarnation

    async def begin_incarnation(self) -> Incarnation:
        with self._lock:
            number = self._incarnation.number + 1
            self._incarnation = Incarnation(number=number, confirmed=False)
            return self._incarnation

    async def confirm_incarnation(self) -> Incarnation:
        with self._lock:
            number = self._incarnation.number
            self._incarnation = Incarnation(number=number, confirmed=True)
            return self._incarnation

    async def adopt(self, copy: RunCopy) -> None:
        with self._lock:
            self._check_open()
            if copy.run_id in self._logs:
                raise RunExists(copy.run_id)
            for claim in copy.claims:
                if claim.id in self._claims:
                    raise claim_stands(claim.id)
            self._logs[copy.run_id] = log_of(copy, self._ids.token())
            self._claims.update({claim.id: claim for claim in copy.claims})
            self._outputs.update(copy.outputs)
            self._late[copy.run_id] = list(copy.late)

    async def forget(self, run_id: str, *, ended_before: datetime) -> bool:
        with self._lock:
            log = self._find(run_id)
            if not log.ended or instant(log.rows[-1].recorded_at) >= ended_before:
                return False
            of_it = [claim for claim in self._claims.values() if claim.run_id == run_id]
            if any(claim.state == "failed" for claim in of_it):
                return False
            kept = [(claim, committed_output(log.rows, claim)) for claim in of_it]
            for claim, text in kept:
                if text is not None:
                    self._outputs[claim.id] = text
                    # A run of that id may be begun anew, and its log is another one.
                    self._claims[claim.id] = replace(claim, completion_seq=None)
            del self._logs[run_id]
            self._late.pop(run_id, None)
            return True

    async def close(self) -> None:
        with self._lock:
            self._closed = True

    def _now(self) -> datetime:
        return self._clock.now()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("this store is closed.", hint="Open a new one.")

    def _refuse_unconfirmed(self, changes: Sequence[ClaimChange]) -> None:
        takes = any(isinstance(change, TakeClaim) for change in changes)
        if takes and not self._incarnation.confirmed:
            raise Unconfirmed

    def _find(self, run_id: str, *, create: bool = False) -> MemoryLog:
        self._check_open()
        log = self._logs.get(run_id)
        if log is None:
            if not create:
                raise UnknownRun(run_id)
            log = self._logs[run_id] = MemoryLog(run_id)
        return log

    def _fenced(self, fence: Fence) -> MemoryLog:
        log = self._find(fence.run_id)
        log.check_fence(fence)
        return log

    def _lease(self, driver: Driver, seconds: float) -> Lease:
        return Lease(driver=driver, expires_at=self._now() + timedelta(seconds=seconds))

    def _renewed(self, fence: Fence, seconds: float) -> bool:
        log = self._logs.get(fence.run_id)
        if log is None or log.lease is None or not log.is_current(fence):
            return False
        log.lease = self._lease(log.lease.driver, seconds)
        return True

    def _changed(self, changes: Sequence[ClaimChange]) -> Mapping[ClaimId, Claim]:
        claims: dict[ClaimId, Claim] = {}
        for change in changes:
            current = claims.get(change.id) or self._claims.get(change.id)
            claims[change.id] = changed(current, change)
        return claims

    def _write(
        self, log: MemoryLog, change: Append | Settlement, claims: Mapping[ClaimId, Claim]
    ) -> None:
        log.write(change)
        self._claims.update(claims)
        for one in change.claims:
            if isinstance(one, OverruleClaim):
                self._outputs.pop(one.id, None)
                if one.output is not None:
                    self._outputs[one.id] = one.output
        ended = {one.id for one in change.claims if isinstance(one, SettleClaim | OverruleClaim)}
        for other in self._logs.values() if ended else ():
            if other.wait is not None and other.wait.claim in ended:
                other.wait = None
                other.due_at = self._now()

    def _keep_entry(self, entry: ClaimEntry, before: Claim | None) -> None:
        after = self._claims.get(entry.id)
        prev = self._entries[-1].row_hash if self._entries else GENESIS
        self._entries.append(logged(len(self._entries) + 1, prev, entry, before, after))


def _order(claim_id: ClaimId) -> tuple[str, str, str]:
    return (claim_id.namespace, claim_id.scope, claim_id.key)
