"""Rows of the SQLite store as the port's records."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from salvor.clock import Clock
from salvor.events.claims import Claim, ClaimId
from salvor.events.records import (
    Cancel,
    Driver,
    Head,
    LateResult,
    Lease,
    Row,
    RunRow,
    Signal,
    Wait,
)
from salvor.stores.instants import instant, micros

Record: TypeAlias = tuple[Any, ...]


class LeaseReader:
    """Tells which of the stored leases still live.

    Args:
        clock: Whether a lease has run out.
        is_dead: Whether a driver's process is known to have ended.
    """

    def __init__(self, clock: Clock, is_dead: Callable[[Driver], bool]) -> None:
        self.clock = clock
        self._is_dead = is_dead

    def now(self) -> int:
        """The store's clock in microseconds."""
        return micros(self.clock.now())

    def live(self, until: int | None, driver_id: str, pid: int, host: str) -> Lease | None:
        """The lease of these columns, or ``None`` if it has ended."""
        if until is None or until <= self.now():
            return None
        driver = Driver(id=driver_id, pid=pid, host=host)
        return None if self._is_dead(driver) else Lease(driver=driver, expires_at=instant(until))

    def head(self, record: Record) -> Head:
        """The head of a row of the ``HEAD`` columns."""
        run_id, epoch, length, head_hash, until, driver_id, pid, host = record[:8]
        due_at, ended, takeovers, causes = record[8:]
        return Head(
            run_id=run_id,
            epoch=epoch,
            length=length,
            head_hash=head_hash,
            lease=self.live(until, driver_id, pid, host),
            takeovers=takeovers,
            causes=causes_of(causes),
            due_at=None if due_at is None else instant(due_at),
            ended=bool(ended),
        )

    def run_row(self, record: Record) -> RunRow:
        """The listing's row of a row of ``RUNS``."""
        return RunRow(
            head=self.head(record[:12]),
            first_recorded_at=record[12],
            last_recorded_at=record[13],
            wait=_wait(record[0], record[14:20]),
            cancel=_cancel(record[0], record[20:]),
        )


def driver_of(record: Record) -> Driver | None:
    """Whoever the ``HEAD`` columns say drives, or drove and never said that it stopped."""
    driver_id, pid, host = record[5:8]
    return None if driver_id is None else Driver(id=driver_id, pid=pid, host=host)


def causes_of(text: str | None) -> tuple[str, ...]:
    """The causes of a stored JSON list."""
    return tuple(json.loads(text)) if text else ()


def causes_text(causes: tuple[str, ...]) -> str | None:
    """Causes as they are stored."""
    return json.dumps(causes) if causes else None


def signal(run_id: str, record: Record) -> Signal:
    """The signal of a row of ``INBOX``."""
    name, payload, sent_at, sender_id, by, n, consumed = record
    return Signal(
        run_id=run_id,
        name=name,
        payload=payload,
        sent_at=instant(sent_at),
        sender_id=sender_id,
        by=by,
        n=n,
        consumed=consumed,
    )


def _cancel(run_id: str, record: Record) -> Cancel | None:
    reason, by, asked_at = record
    if asked_at is None:
        return None
    return Cancel(run_id=run_id, reason=reason, by=by, asked_at=instant(asked_at))


def _wait(run_id: str, record: Record) -> Wait | None:
    namespace, scope, key, tool, holder_run, since = record
    if since is None:
        return None
    return Wait(
        run_id=run_id,
        claim=ClaimId(namespace=namespace, scope=scope, key=key),
        tool=tool,
        holder_run=holder_run,
        since=instant(since),
    )


def row(record: Record) -> Row:
    """The event of a row of ``EVENTS``."""
    seq, recorded_at, envelope, row_hash = record
    return Row(seq=seq, recorded_at=recorded_at, envelope=envelope, row_hash=row_hash)


def late(record: Record) -> LateResult:
    """The result of a row of ``LATE``."""
    run_id, intent_seq, epoch, outcome, value, kept_at, extent = record
    return LateResult(
        run_id=run_id,
        intent_seq=intent_seq,
        epoch=epoch,
        outcome=outcome,
        value=value,
        kept_at=instant(kept_at),
        extent=extent,
    )


def late_record(late: LateResult) -> Record:
    """The parameters of ``KEEP_LATE``."""
    kept_at = micros(late.kept_at)
    told = (late.run_id, late.intent_seq, late.epoch, late.outcome, late.value)
    return (*told, kept_at, late.extent)


def claim(claim_id: ClaimId, record: Record | None) -> Claim | None:
    """The claim of a row of ``CLAIM``."""
    if record is None:
        return None
    state, effect, run_id, intent_seq, input_hash, generation, extent, completion, output = record
    return Claim(
        id=claim_id,
        state=state,
        effect=effect,
        run_id=run_id,
        intent_seq=intent_seq,
        input_hash=input_hash,
        generation=generation,
        extent=extent,
        completion_seq=completion,
        output_hash=output,
    )


def claim_record(claim: Claim) -> Record:
    """The parameters of ``PUT_CLAIM``."""
    return (
        *claim_key(claim.id),
        claim.state,
        claim.effect,
        claim.run_id,
        claim.intent_seq,
        claim.input_hash,
        claim.generation,
        claim.extent,
        claim.completion_seq,
        claim.output_hash,
    )


def claim_key(claim_id: ClaimId) -> tuple[str, str, str]:
    """The primary key of a claim."""
    return (claim_id.namespace, claim_id.scope, claim_id.key)
