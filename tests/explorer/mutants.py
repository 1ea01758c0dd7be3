"""Stores with one guard switched off: each has to be caught in one of the worlds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from salvor.events.claims import TakeClaim
from salvor.events.records import Append, Fence, Head, Settlement
from salvor.stores.memory import MemoryStore


class Unfenced(MemoryStore):
    """G1: an append of a driver that lost its run goes through."""

    async def append(self, append: Append) -> Any:
        log = self._logs[append.fence.run_id]
        fence = Fence(run_id=log.run_id, epoch=log.epoch, token=log.token)
        last = log.rows[-1].row_hash if log.rows else append.prev_hash
        rows = tuple(replace(row, seq=len(log.rows) + n) for n, row in enumerate(append.rows))
        forced = replace(append, fence=fence, length=len(log.rows), prev_hash=last, rows=rows)
        return await super().append(forced)


class Unconfirming(MemoryStore):
    """G1: a dangling call is executed again without looking whose run it is."""

    async def confirm(self, fence: Fence) -> None:
        return None


class Leaseless(MemoryStore):
    """S2: a run is taken over while its driver lives."""

    async def take_over(self, run_id: str, *args: Any, **kwargs: Any) -> tuple[Fence, Head]:
        if run_id in self._logs:
            self._logs[run_id].lease = None
        return await super().take_over(run_id, *args, **kwargs)


class Claimless(MemoryStore):
    """E1: a key that another run holds is taken."""

    async def append(self, append: Append) -> Any:
        for change in append.claims:
            if isinstance(change, TakeClaim):
                self._claims.pop(change.id, None)
        return await super().append(append)


class Releasing(MemoryStore):
    """E3: a claim is free again as soon as its intent is written."""

    async def append(self, append: Append) -> Any:
        taken = tuple(one for one in append.claims if not isinstance(one, TakeClaim))
        return await super().append(replace(append, claims=taken or ()))


class Overlooking(MemoryStore):
    """D3: a run parks although its signal is in the inbox, and nobody is told."""

    async def append(self, append: Append) -> Any:
        return await super().append(replace(append, unless_signal=None))


class Silent(MemoryStore):
    """D3: a signal behind a park makes no run due."""

    async def signal(self, signal: Any) -> int:
        n = await super().signal(signal)
        self._logs[signal.run_id].due_at = None
        return n


class TwiceConsumed(MemoryStore):
    """D3: a signal is not marked as consumed."""

    async def append(self, append: Append) -> Any:
        return await super().append(replace(append, consumes=None))

    async def settle(self, settlement: Settlement) -> None:
        await super().settle(replace(settlement, consumes=None))


class Heedless(MemoryStore):
    """D5: an intent is written although a cancel stands."""

    async def append(self, append: Append) -> Any:
        return await super().append(replace(append, heeds_cancel=False))


class Rewriting(MemoryStore):
    """S9, D1: a settlement does not look whether the log moved on, nor who answered."""

    async def settle(self, settlement: Settlement) -> None:
        log = self._logs[settlement.run_id]
        log.answered.clear()
        rows = tuple(replace(row, seq=len(log.rows) + n) for n, row in enumerate(settlement.rows))
        await super().settle(
            replace(settlement, length=len(log.rows), prev_hash=log.head_hash, rows=rows)
        )


class Timeless(MemoryStore):
    """D4: answers and defaults are taken at any time."""

    async def settle(self, settlement: Settlement) -> None:
        await super().settle(replace(settlement, not_before=None, not_after=None))


class Uncommitted(MemoryStore):
    """E3: the end of a park leaves its key as it is."""

    async def settle(self, settlement: Settlement) -> None:
        await super().settle(replace(settlement, claims=()))


MUTANTS: dict[type[MemoryStore], tuple[str, ...]] = {
    Unfenced: ("two_drivers", "two_loops"),
    Leaseless: ("two_at_once", "two_loops"),
    Claimless: ("two_runs_one_key",),
    Releasing: ("two_runs_one_key",),
    Overlooking: ("signal_and_park",),
    Silent: ("signal_and_park",),
    TwiceConsumed: ("signal_and_park",),
    Heedless: ("cancel_and_write", "cancelled"),
    Rewriting: ("answer_deadline_cancel",),
    Timeless: ("late_answer",),
    Uncommitted: ("key_across_a_park",),
    Unconfirming: ("forced_out",),
}
"""By mutant, the worlds that have to catch it."""
