"""The refusals that every store words alike."""

from __future__ import annotations

from salvor.events.records import Lease
from salvor.run_errors import LeaseHeld
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
