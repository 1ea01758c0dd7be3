"""What a claim change makes of a claim: the one place that decides it for every store."""

from __future__ import annotations

from dataclasses import replace

from salvor.events.claims import (
    Claim,
    ClaimChange,
    MoveClaim,
    OverruleClaim,
    SettleClaim,
    TakeClaim,
    may_take,
)
from salvor.store_errors import Conflict


class ClaimStands(Exception):
    """A `TakeClaim` was refused; ``claim`` is what stands in its way."""

    def __init__(self, claim: Claim) -> None:
        super().__init__(claim)
        self.claim = claim


def changed(current: Claim | None, change: ClaimChange) -> Claim:
    """The claim as it stands after the change.

    Raises:
        ClaimStands: a `TakeClaim` that may not take the key.
        Conflict: a `MoveClaim` or `SettleClaim` of a claim that its intent does not hold, an
            `OverruleClaim` of one that is held or was claimed again.
    """
    if isinstance(change, TakeClaim):
        return _taken(current, change)
    if isinstance(change, OverruleClaim):
        return _overruled(current, change)
    held = _held(current, change)
    if isinstance(change, MoveClaim):
        return replace(held, intent_seq=change.fresh_seq, generation=held.generation + 1)
    return replace(
        held,
        state=change.to,
        extent=change.extent,
        completion_seq=change.completion_seq,
        output_hash=change.output_hash,
    )


def _taken(current: Claim | None, change: TakeClaim) -> Claim:
    if current is not None and not may_take(current, change):
        raise ClaimStands(current)
    return Claim(
        id=change.id,
        state="held",
        effect=change.effect,
        run_id=change.run_id,
        intent_seq=change.intent_seq,
        input_hash=change.input_hash,
        generation=current.generation + 1 if current else 1,
    )


def _overruled(current: Claim | None, change: OverruleClaim) -> Claim:
    held = current is not None and current.state == "held" and not change.unreadable
    if current is None or held or current.generation != change.generation:
        raise Conflict(
            f"the claim on {change.id.scope} {change.id.key} is not what it was when it was "
            "looked at; nothing was written."
        )
    return replace(
        current,
        state=change.to,
        extent=change.extent,
        completion_seq=None,
        output_hash=change.output_hash,
    )


def _held(current: Claim | None, change: MoveClaim | SettleClaim) -> Claim:
    if (
        current is None
        or current.state != "held"
        or (current.run_id, current.intent_seq) != (change.run_id, change.intent_seq)
    ):
        raise Conflict(
            f"the claim on {change.id.scope} {change.id.key} is not held by event "
            f"{change.intent_seq} of run {change.run_id}; nothing was written."
        )
    return current
