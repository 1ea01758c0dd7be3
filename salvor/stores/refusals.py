"""The refusals that every store words alike."""

from __future__ import annotations

from datetime import datetime

from salvor.events.claims import ClaimId
from salvor.events.records import Driver, Lease, Settlement
from salvor.run_errors import DeadlinePassed, LeaseHeld, NotYet
from salvor.store_errors import Conflict
from salvor.values import format_instant


def lease_held(run_id: str, lease: Lease) -> LeaseHeld:
    """Another driver holds the run."""
    return LeaseHeld(
        run_id=run_id,
        pid=lease.driver.pid,
        host=lease.driver.host,
        expires_at=format_instant(lease.expires_at),
    )


def log_moved(run_id: str) -> Conflict:
    """The log ends elsewhere than the one who appends believes."""
    return Conflict(
        f"the log of run {run_id} moved on since it was read; nothing was written.",
        hint="Read it again and repeat what still applies.",
    )


def claim_stands(claim_id: ClaimId) -> Conflict:
    """A run that comes from elsewhere brings a claim on a key that is claimed here."""
    return Conflict(
        f"the key {claim_id.key} of {claim_id.scope} is claimed here already; nothing was written."
    )


def consumed_before(run_id: str, n: int) -> Conflict:
    """Somebody else answered with that signal."""
    return Conflict(
        f"signal {n} of run {run_id} is not there to be consumed; nothing was written.",
        hint="Read its inbox again.",
    )


def untimely(settlement: Settlement, now: datetime) -> None:
    """Hold a settlement against the store's clock.

    Raises:
        NotYet, DeadlinePassed: it comes too early, or too late.
    """
    first, last = settlement.not_before, settlement.not_after
    if first is not None and now < first:
        raise NotYet(run_id=settlement.run_id, until=format_instant(first))
    if last is not None and now > last:
        raise DeadlinePassed(run_id=settlement.run_id, deadline=format_instant(last))


def went_silent(driver: Driver) -> str:
    """How a drive ended whose driver said nothing."""
    return f"process {driver.pid} on {driver.host} ended without a word"
