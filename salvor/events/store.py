"""The store port: what a place that keeps logs has to do, in numbered clauses."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from salvor.events.claims import Claim, ClaimId
from salvor.events.records import (
    Append,
    Driver,
    Fence,
    Head,
    LateResult,
    LogPage,
    RunRow,
    Settlement,
)


class Store(Protocol):
    """Keeps logs, heads, claims, waits and late results.

    Clauses (`salvor.testing.store_checks` has one check for each):

    S1.  `take_over` raises the epoch by one, stores a fresh token and a lease, and returns
         the fence; from then on every earlier fence of the run is void. With ``create`` an
         unknown run is made, with an empty log; without it, `UnknownRun`.
    S2.  `take_over` is refused with `LeaseHeld` while the lease lives. A lease ends when it
         expires, is released, or its driver's process is known to be dead.
    S3.  `append` writes all rows and claim changes in one transaction if, and only if, the
         head has exactly this epoch, token, length and hash; else `Fenced` when the epoch
         or token is another's and `Conflict` otherwise, and nothing is written.
    S4.  When `append` returns, the rows are durable. Rows come back byte for byte. A
         submitted append is carried out even if the task that awaits it is cancelled.
    S5.  A `TakeClaim` that `may_take` forbids makes `append` return the claim as it stands,
         and nothing is written; otherwise `append` returns ``None``. A `MoveClaim` or
         `SettleClaim` whose claim is not held by that intent raises `Conflict`.
    S6.  One append that is refused leaves no trace and stops no other.
    S7.  `renew` extends the leases of the fences it is given, from any thread, and returns
         those it could not: they are lost. It never blocks on a running append's caller.
    S8.  `release` ends the lease after all appends submitted before it; a void fence is
         left alone. `confirm` raises `Fenced` unless the fence is still the run's.
    S9.  `settle` takes the run over, writes the rows, claim changes and answer, and leaves
         no lease, in one transaction. `LeaseHeld` while a lease lives; `AnswerConflict`
         when ``answers`` was answered before; `Conflict` when the log is another.
    S10. `read` returns rows in order from ``after + 1``, at most ``limit``, with the head of
         the same moment; an unknown run raises `UnknownRun`. It checks nothing: see
         `salvor.events.log`.
    S11. `runs` lists the runs by first event, oldest first, those without events last;
         one damaged run hides no other. ``after`` is the last run id of the page before.
    S12. `wait` checks the fence and, if the claim is held by another run at that moment,
         writes the wait row in the same transaction and returns ``True``; else ``False``.
         An append of the waiting run, or the end of that claim's holding, removes the row.
    S13. `claim` returns the row of one key, `held_claim` the row held by one intent (an
         operator's verb knows the intent alone); both are ``None`` where there is none.
    S14. `keep_late` needs no fence and overwrites nothing; `late` returns what was kept.
    """

    async def take_over(
        self, run_id: str, driver: Driver, *, lease: float, create: bool = False
    ) -> tuple[Fence, Head]: ...

    async def append(self, append: Append) -> Claim | None: ...

    async def confirm(self, fence: Fence) -> None: ...

    async def release(self, fence: Fence) -> None: ...

    def renew(self, fences: Collection[Fence], *, lease: float) -> set[Fence]: ...

    async def settle(self, settlement: Settlement) -> None: ...

    async def head(self, run_id: str) -> Head: ...

    async def read(self, run_id: str, *, after: int = -1, limit: int = 1000) -> LogPage: ...

    async def runs(self, *, after: str | None = None, limit: int = 100) -> Sequence[RunRow]: ...

    async def claim(self, claim_id: ClaimId) -> Claim | None: ...

    async def held_claim(self, run_id: str, intent_seq: int) -> Claim | None: ...

    async def wait(self, fence: Fence, claim_id: ClaimId, *, tool: str) -> bool: ...

    async def keep_late(self, late: LateResult) -> None: ...

    async def late(self, run_id: str) -> Sequence[LateResult]: ...

    async def close(self) -> None: ...
