"""One run as the memory store keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from salvor.events.chain import GENESIS
from salvor.events.records import (
    STUCK_AFTER,
    Append,
    Cancel,
    Fence,
    Head,
    Lease,
    Row,
    RunCopy,
    RunRow,
    Settlement,
    Signal,
    Wait,
)
from salvor.run_errors import AnswerConflict, RunEnded, RunStuck, SignalConflict
from salvor.store_errors import Fenced
from salvor.stores.refusals import consumed_before, lease_held, log_moved, untimely, went_silent

LAST = 1 << 63
MAX_CAUSES = STUCK_AFTER


@dataclass(slots=True)
class MemoryLog:
    """The head row of a run, its events, and what hangs on it."""

    run_id: str
    epoch: int = 0
    token: str = ""
    head_hash: str = GENESIS
    lease: Lease | None = None
    rows: list[Row] = field(default_factory=list)
    answered: set[int] = field(default_factory=set)
    wait: Wait | None = None
    signals: list[Signal] = field(default_factory=list)
    cancel: Cancel | None = None
    due_at: datetime | None = None
    ended: bool = False
    takeovers: int = 0
    causes: tuple[str, ...] = ()

    @property
    def stuck(self) -> bool:
        """Whether it got nowhere again and again (DURABILITY C4)."""
        return self.takeovers >= STUCK_AFTER

    @property
    def place(self) -> tuple[int, str]:
        """Where it stands in a listing."""
        return (self.rows[0].recorded_at if self.rows else LAST, self.run_id)

    def live(self, now: datetime) -> Lease | None:
        """The lease, if it has not run out."""
        return self.lease if self.lease is not None and self.lease.expires_at > now else None

    def due_since(self, now: datetime) -> datetime | None:
        """Since when somebody should look at the run; ``None``: nobody need."""
        if self.ended or self.stuck or not self.rows or self.live(now) is not None:
            return None
        if self.due_at is not None and self.due_at <= now:
            return self.due_at
        return None if self.lease is None else self.lease.expires_at

    def refuse_live(self, now: datetime) -> None:
        """Raise while a lease lives."""
        lease = self.live(now)
        if lease is not None:
            raise lease_held(self.run_id, lease)

    def check_fence(self, fence: Fence) -> None:
        """Raise unless the fence is the run's."""
        if not self.is_current(fence):
            raise Fenced(self.run_id)

    def is_current(self, fence: Fence) -> bool:
        """Whether the fence is the run's."""
        return (self.epoch, self.token) == (fence.epoch, fence.token)

    def check_end(self, length: int, prev_hash: str) -> None:
        """Raise unless the log ends there."""
        if (len(self.rows), self.head_hash) != (length, prev_hash):
            raise log_moved(self.run_id)

    def check_settlement(self, settlement: Settlement, now: datetime) -> None:
        """Raise what stands against a settlement, claims aside."""
        if settlement.answers in self.answered:
            assert settlement.answers is not None
            raise AnswerConflict(run_id=self.run_id, park_seq=settlement.answers)
        if not settlement.force:
            self.refuse_live(now)
        self.check_end(settlement.length, settlement.prev_hash)
        if settlement.put_off is not None and settlement.put_off.seen != self.due_at:
            raise log_moved(self.run_id)
        untimely(settlement, now)

    def taken(self, lease: Lease, token: str, *, operator: bool) -> Fence:
        """Become another driver's."""
        self._count(operator)
        self.epoch += 1
        self.token = token
        self.lease = lease
        return Fence(run_id=self.run_id, epoch=self.epoch, token=token)

    def _count(self, operator: bool) -> None:
        if operator:
            self.takeovers, self.causes = 1, ()
            return
        causes = self.causes
        if self.lease is not None:
            causes = self._with(went_silent(self.lease.driver))
        if self.stuck and not self.ended:
            raise RunStuck(run_id=self.run_id, takeovers=self.takeovers, causes=causes)
        self.takeovers, self.causes = self.takeovers + 1, causes

    def unblamed(self, now: datetime) -> None:
        """Take back a take-over that came to nothing through no fault of the run."""
        self.takeovers = max(self.takeovers - 1, 0)
        self.due_at = now

    def blame(self, cause: str) -> None:
        """Keep why a drive ended without a new event."""
        self.causes = self._with(cause)

    def _with(self, cause: str) -> tuple[str, ...]:
        return (*self.causes, cause)[-MAX_CAUSES:] if self.takeovers else ()

    def let_go(self, token: str, change: Settlement, now: datetime) -> None:
        """Void every fence, and leave no lease; what the settlement writes comes after."""
        left = self.lease is not None and not change.rows and change.put_off is None
        if left and self.due_at is None:
            self.due_at = now  # the dead driver made it due
        self.epoch += 1
        self.token = token
        self.lease = None

    def write(self, change: Append | Settlement) -> None:
        """Add the rows and what goes with them."""
        self.rows.extend(change.rows)
        due = change.due
        if change.rows:
            self.head_hash = change.rows[-1].row_hash
            self.wait = None
        elif isinstance(change, Settlement):
            due = self.due_at if change.put_off is None else change.put_off.at
        if self.cancel is None:
            self.due_at = due
        self.ended = self.ended or change.ends
        self.takeovers, self.causes = 0, ()
        if change.consumes is not None:
            self._consume(change.consumes, change.length + len(change.rows) - 1)

    def check_consumes(self, n: int | None) -> None:
        """Raise unless the signal is there to be consumed."""
        if n is not None and (n > len(self.signals) or self.signals[n - 1].consumed is not None):
            raise consumed_before(self.run_id, n)

    def _consume(self, n: int, seq: int) -> None:
        self.signals[n - 1] = replace(self.signals[n - 1], consumed=seq)

    def unconsumed(self, name: str) -> Signal | None:
        """The oldest unconsumed signal of that name."""
        return next(
            (one for one in self.signals if one.name == name and one.consumed is None), None
        )

    def take_signal(self, signal: Signal, now: datetime) -> int:
        """Put a signal into the inbox, once for each sender's id."""
        for other in self.signals:
            if signal.sender_id is not None and other.sender_id == signal.sender_id:
                if (other.name, other.payload) != (signal.name, signal.payload):
                    raise SignalConflict(run_id=self.run_id, sender_id=signal.sender_id)
                return other.n
        self.refuse_ended()
        self.signals.append(replace(signal, n=len(self.signals) + 1, consumed=None))
        self.due_at = now
        return len(self.signals)

    def refuse_ended(self) -> None:
        """Raise once the run has ended."""
        if self.ended:
            raise RunEnded(self.run_id)

    def head(self, now: datetime) -> Head:
        """The head as it is seen from outside."""
        return Head(
            run_id=self.run_id,
            epoch=self.epoch,
            length=len(self.rows),
            head_hash=self.head_hash,
            lease=self.live(now),
            takeovers=self.takeovers,
            causes=self.causes,
            due_at=self.due_at,
            ended=self.ended,
        )

    def run_row(self, now: datetime) -> RunRow:
        """The run in a listing."""
        return RunRow(
            head=self.head(now),
            first_recorded_at=self.rows[0].recorded_at if self.rows else None,
            last_recorded_at=self.rows[-1].recorded_at if self.rows else None,
            wait=self.wait,
            cancel=self.cancel,
        )


def log_of(copy: RunCopy, token: str) -> MemoryLog:
    """A run that was copied from another store; nobody drives it."""
    return MemoryLog(
        run_id=copy.run_id,
        epoch=1,
        token=token,
        head_hash=copy.rows[-1].row_hash if copy.rows else GENESIS,
        rows=list(copy.rows),
        answered=set(copy.answers),
        signals=list(copy.signals),
        due_at=copy.due_at,
        ended=copy.ended,
        cancel=copy.cancel,
    )
