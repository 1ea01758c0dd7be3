"""A store in the memory of one process: for tests, and for work that may be lost."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from salvor.clock import Clock, Ids, SystemClock, SystemIds
from salvor.events.chain import GENESIS
from salvor.events.claims import Claim, ClaimChange, ClaimId, SettleClaim
from salvor.events.records import (
    Append,
    Driver,
    Fence,
    Head,
    LateResult,
    Lease,
    LogPage,
    Row,
    RunRow,
    Settlement,
    Wait,
)
from salvor.run_errors import AnswerConflict, UnknownRun
from salvor.store_errors import Fenced, StoreClosed
from salvor.stores.claim_changes import ClaimStands, changed
from salvor.stores.refusals import lease_held, log_moved

_LAST = 1 << 63


@dataclass(slots=True)
class _Log:
    run_id: str
    epoch: int = 0
    token: str = ""
    head_hash: str = GENESIS
    lease: Lease | None = None
    rows: list[Row] = field(default_factory=list)
    answered: set[int] = field(default_factory=set)
    wait: Wait | None = None


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
        self._logs: dict[str, _Log] = {}
        self._late: dict[str, list[LateResult]] = {}
        self._claims: dict[ClaimId, Claim] = {}
        self._closed = False

    async def take_over(
        self, run_id: str, driver: Driver, *, lease: float, create: bool = False
    ) -> tuple[Fence, Head]:
        with self._lock:
            log = self._find(run_id, create=create)
            self._refuse_live(log)
            log.epoch += 1
            log.token = self._ids.token()
            log.lease = self._lease(driver, lease)
            fence = Fence(run_id=run_id, epoch=log.epoch, token=log.token)
            return fence, self._head(log)

    async def append(self, append: Append) -> Claim | None:
        with self._lock:
            log = self._fenced(append.fence)
            _check_end(log, append.length, append.prev_hash)
            try:
                claims = self._changed(append.claims)
            except ClaimStands as refusal:
                return refusal.claim
            self._write(log, append.rows, append.claims, claims)
            return None

    async def confirm(self, fence: Fence) -> None:
        with self._lock:
            self._fenced(fence)

    async def release(self, fence: Fence) -> None:
        with self._lock:
            self._check_open()
            log = self._logs.get(fence.run_id)
            if log is not None and _is_current(log, fence):
                log.lease = None

    def renew(self, fences: Collection[Fence], *, lease: float) -> set[Fence]:
        with self._lock:
            self._check_open()
            return {fence for fence in fences if not self._renewed(fence, lease)}

    async def settle(self, settlement: Settlement) -> None:
        with self._lock:
            log = self._find(settlement.run_id)
            _check_unanswered(log, settlement.answers)
            self._refuse_live(log)
            _check_end(log, settlement.length, settlement.prev_hash)
            try:
                claims = self._changed(settlement.claims)
            except ClaimStands as refusal:
                raise log_moved(settlement.run_id) from refusal
            log.epoch += 1
            log.token = self._ids.token()
            log.lease = None
            self._write(log, settlement.rows, settlement.claims, claims)
            if settlement.answers is not None:
                log.answered.add(settlement.answers)

    async def head(self, run_id: str) -> Head:
        with self._lock:
            return self._head(self._find(run_id))

    async def read(self, run_id: str, *, after: int = -1, limit: int = 1000) -> LogPage:
        with self._lock:
            log = self._find(run_id)
            return LogPage(rows=log.rows[after + 1 : after + 1 + limit], head=self._head(log))

    async def runs(self, *, after: str | None = None, limit: int = 100) -> Sequence[RunRow]:
        with self._lock:
            self._check_open()
            logs = sorted(self._logs.values(), key=_place)
            if after is not None:
                last = _place(self._find(after))
                logs = [log for log in logs if _place(log) > last]
            return [self._run_row(log) for log in logs[:limit]]

    async def claim(self, claim_id: ClaimId) -> Claim | None:
        with self._lock:
            self._check_open()
            return self._claims.get(claim_id)

    async def held_claim(self, run_id: str, intent_seq: int) -> Claim | None:
        with self._lock:
            self._check_open()
            for claim in self._claims.values():
                if claim.state == "held" and (claim.run_id, claim.intent_seq) == (
                    run_id,
                    intent_seq,
                ):
                    return claim
            return None

    async def wait(self, fence: Fence, claim_id: ClaimId, *, tool: str) -> bool:
        with self._lock:
            log = self._fenced(fence)
            claim = self._claims.get(claim_id)
            if claim is None or claim.state != "held" or claim.run_id == fence.run_id:
                return False
            log.wait = Wait(
                run_id=fence.run_id,
                claim=claim_id,
                tool=tool,
                holder_run=claim.run_id,
                since=self._clock.now(),
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

    async def close(self) -> None:
        with self._lock:
            self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed("this store is closed.", hint="Open a new one.")

    def _find(self, run_id: str, *, create: bool = False) -> _Log:
        self._check_open()
        log = self._logs.get(run_id)
        if log is None:
            if not create:
                raise UnknownRun(run_id)
            log = self._logs[run_id] = _Log(run_id)
        return log

    def _fenced(self, fence: Fence) -> _Log:
        log = self._find(fence.run_id)
        if not _is_current(log, fence):
            raise Fenced(fence.run_id)
        return log

    def _lease(self, driver: Driver, seconds: float) -> Lease:
        return Lease(driver=driver, expires_at=self._clock.now() + timedelta(seconds=seconds))

    def _live(self, log: _Log) -> Lease | None:
        lease = log.lease
        return lease if lease is not None and lease.expires_at > self._clock.now() else None

    def _refuse_live(self, log: _Log) -> None:
        lease = self._live(log)
        if lease is not None:
            raise lease_held(log.run_id, lease)

    def _renewed(self, fence: Fence, seconds: float) -> bool:
        log = self._logs.get(fence.run_id)
        if log is None or log.lease is None or not _is_current(log, fence):
            return False
        log.lease = self._lease(log.lease.driver, seconds)
        return True

    def _head(self, log: _Log) -> Head:
        return Head(
            run_id=log.run_id,
            epoch=log.epoch,
            length=len(log.rows),
            head_hash=log.head_hash,
            lease=self._live(log),
        )

    def _run_row(self, log: _Log) -> RunRow:
        return RunRow(
            head=self._head(log),
            first_recorded_at=log.rows[0].recorded_at if log.rows else None,
            last_recorded_at=log.rows[-1].recorded_at if log.rows else None,
            wait=log.wait,
        )

    def _changed(self, changes: Sequence[ClaimChange]) -> Mapping[ClaimId, Claim]:
        claims: dict[ClaimId, Claim] = {}
        for change in changes:
            current = claims.get(change.id) or self._claims.get(change.id)
            claims[change.id] = changed(current, change)
        return claims

    def _write(
        self,
        log: _Log,
        rows: Sequence[Row],
        changes: Sequence[ClaimChange],
        claims: Mapping[ClaimId, Claim],
    ) -> None:
        log.rows.extend(rows)
        log.head_hash = rows[-1].row_hash
        log.wait = None
        self._claims.update(claims)
        ended = {change.id for change in changes if isinstance(change, SettleClaim)}
        for other in self._logs.values() if ended else ():
            if other.wait is not None and other.wait.claim in ended:
                other.wait = None


def _is_current(log: _Log, fence: Fence) -> bool:
    return (log.epoch, log.token) == (fence.epoch, fence.token)


def _check_end(log: _Log, length: int, prev_hash: str) -> None:
    if (len(log.rows), log.head_hash) != (length, prev_hash):
        raise log_moved(log.run_id)


def _check_unanswered(log: _Log, park_seq: int | None) -> None:
    if park_seq in log.answered:
        assert park_seq is not None
        raise AnswerConflict(run_id=log.run_id, park_seq=park_seq)


def _place(log: _Log) -> tuple[int, str]:
    return (log.rows[0].recorded_at if log.rows else _LAST, log.run_id)
