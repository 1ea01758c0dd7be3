"""The store port: what a place that keeps logs has to do, in numbered clauses."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from salvor.events.claims import Claim, ClaimId, ClaimState
from salvor.events.records import (
    Append,
    Cancel,
    Driver,
    Fence,
    Head,
    Incarnation,
    LateResult,
    LoggedClaim,
    LogPage,
    RunCopy,
    RunRow,
    Settlement,
    Signal,
    Stands,
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
    S8.  `release` ends the lease after all appends submitted before it; a void fence, or
         one that was released, is left alone. `confirm` raises `Fenced` unless the fence is
         still the run's.
    S9.  `settle` takes the run over, writes the rows, claim changes and answer, and leaves
         no lease, in one transaction. `LeaseHeld` while a lease lives, unless ``force``;
         `AnswerConflict` when ``answers`` was answered before; `Conflict` when the log is
         another.
    S10. `read` returns rows in order from ``after + 1``, at most ``limit``, with the head of
         the same moment; an unknown run raises `UnknownRun`. It checks nothing: see
         `salvor.events.log`.
    S11. `runs` lists the runs by first event, oldest first, those without events last;
         one damaged run hides no other. ``after`` is the last run id of the page before.
         ``ended`` picks those that have ended, or those that have not.
    S12. `wait` checks the fence and, if the claim is held by another run at that moment,
         writes the wait row in the same transaction and returns ``True``; else ``False``.
         Events of the waiting run, or the end of that claim's holding, remove the row;
         the latter makes the waiting run due. Until then it is due only if a cancel stands.
    S13. `claim` returns the row of one key, `held_claim` the row held by one intent (an
         operator's verb knows the intent alone); both are ``None`` where there is none.
         `claims` lists them by scope and key, after a claim, of one state or all.
    S14. `keep_late` needs no fence and overwrites nothing; `late` returns what was kept.
    S15. `signal` numbers the signals of a run from 1 in the order of their commits, and
         returns the number. The same ``sender_id`` with the same name and payload gives the
         first number again, with others `SignalConflict`. After the end: `RunEnded`. It
         makes the run due. `inbox` lists them in order.
    S16. `append` with ``unless_signal`` returns the oldest unconsumed signal of that name
         instead of writing, in the transaction that would have written. ``consumes`` marks
         a signal consumed with the rows; one that was consumed before raises `Conflict`.
    S17. `cancel` keeps the first cancel of a run and makes the run due; after the end:
         `RunEnded`. `append` with ``heeds_cancel`` returns it instead of writing.
    S18. ``due`` of an append, or of a settlement with rows, replaces the run's ``due_at``;
         but a run stays due since its cancel. A settlement without rows leaves it, except to
         put the run off: `Conflict` if it is not due when that says; and where it takes the
         name of a driver that ended without a word off a run that no ``due_at`` makes due,
         the run is due at once. `due` lists runs that have an event, have not ended, have no
         live lease and are not stuck: those whose ``due_at`` has passed by the store's clock,
         and those whose driver ended without a word; longest due first.
    S19. `settle` refuses with `NotYet` before ``not_before`` and with `DeadlinePassed` after
         ``not_after``, by the store's clock.
    S20. Take-overs since the last event are counted, with the causes of the last five: what
         `release` was told, or that the driver ended without a word. A ``blameless`` release
         takes its take-over back, and makes the run due at once. A run that is stuck refuses
         `take_over` with `RunStuck`, except to an ``operator``, which clears both.
    S21. An `OverruleClaim` changes a claim that is still of that generation and not held (or
         held by a log that is ``unreadable``), else `Conflict`; its output is kept with it:
         `settled_output` returns it. An ``entry`` is appended to the claim log in the
         transaction of its settlement, each row hashed with the one before; `claim_log` lists
         it.
    S22. `backup` writes a whole copy of a live store, of one moment. `begin_incarnation`
         marks a restored store; until `confirm_incarnation`, a `TakeClaim` is refused with
         `Unconfirmed` and nothing is written.
    S23. `adopt` writes a run copied from another store, all of it or nothing: `RunExists`,
         or `Conflict` when a claim of it stands here already. It has no lease; a cancel and
         what claims were settled with come with it.
    S24. `forget` removes the log of a run that ended before an instant, and all that goes
         with it, except claims: the outputs of committed ones are kept, and point to no log
         any more, since a run of that id may begin anew. ``False`` if the run has not ended,
         or later, or if a claim of it is failed: somebody may still have to look at it.
         `TamperEvident` if an output is not what its claim's row says: nothing is removed.
    """

    async def take_over(
        self,
        run_id: str,
        driver: Driver,
        *,
        lease: float,
        create: bool = False,
        operator: bool = True,
    ) -> tuple[Fence, Head]: ...

    async def append(self, append: Append) -> Stands | None: ...

    async def confirm(self, fence: Fence) -> None: ...

    async def release(
        self, fence: Fence, *, cause: str | None = None, blameless: bool = False
    ) -> None: ...

    def renew(self, fences: Collection[Fence], *, lease: float) -> set[Fence]: ...

    async def settle(self, settlement: Settlement) -> None: ...

    async def head(self, run_id: str) -> Head: ...

    async def read(self, run_id: str, *, after: int = -1, limit: int = 1000) -> LogPage: ...

    async def runs(
        self, *, after: str | None = None, limit: int = 100, ended: bool | None = None
    ) -> Sequence[RunRow]: ...

    async def claim(self, claim_id: ClaimId) -> Claim | None: ...

    async def held_claim(self, run_id: str, intent_seq: int) -> Claim | None: ...

    async def claims(
        self,
        *,
        after: ClaimId | None = None,
        limit: int = 100,
        state: ClaimState | None = None,
    ) -> Sequence[Claim]: ...

    async def settled_output(self, claim: Claim) -> str | None: ...

    async def claim_log(self, *, after: int = 0, limit: int = 1000) -> Sequence[LoggedClaim]: ...

    async def wait(self, fence: Fence, claim_id: ClaimId, *, tool: str) -> bool: ...

    async def keep_late(self, late: LateResult) -> None: ...

    async def late(self, run_id: str) -> Sequence[LateResult]: ...

    async def signal(self, signal: Signal) -> int: ...

    async def inbox(self, run_id: str) -> Sequence[Signal]: ...

    async def cancel(self, cancel: Cancel) -> None: ...

    async def cancelled(self, run_id: str) -> Cancel | None: ...

    async def due(self, *, limit: int = 100) -> Sequence[str]: ...

    async def backup(self, path: str) -> None: ...

    async def incarnation(self) -> Incarnation: ...

    async def begin_incarnation(self) -> Incarnation: ...

    async def confirm_incarnation(self) -> Incarnation: ...

    async def adopt(self, copy: RunCopy) -> None: ...

    async def forget(self, run_id: str, *, ended_before: datetime) -> bool: ...

    async def close(self) -> None: ...
