"""Bodies that outlived their time limit: a thread cannot be stopped, only waited for (A6).

A write keeps its run's lease until its body has ended; what the body returns then becomes
the completion. Whatever else comes too late is kept as a late result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from salvor.events.claims import ClaimId
from salvor.events.records import Fence
from salvor.events.store import Store
from salvor.runtime.background import Background
from salvor.runtime.leases import LeaseKeeper
from salvor.store_errors import StoreError

Finish = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, eq=False)
class _Body:
    """The call that a body is of."""

    run_id: str
    seq: int
    claim: ClaimId | None


class Overtime:
    """Keeps track of the bodies that still run although nobody waits for them."""

    def __init__(self, background: Background, store: Store, keeper: LeaseKeeper) -> None:
        self._background = background
        self._store = store
        self._keeper = keeper
        self._fences: set[Fence] = set()
        self._bodies: list[_Body] = []

    def holds(self, fence: Fence) -> bool:
        """Whether a body still runs under this lease, which therefore is not given back."""
        return fence in self._fences

    def runs(self, run_id: str, seq: int, claim: ClaimId | None) -> bool:
        """Whether a body of this call or key still runs here: no second one may start (A6)."""
        return any(
            (body.run_id, body.seq) == (run_id, seq) or (claim is not None and body.claim == claim)
            for body in self._bodies
        )

    def keep(
        self,
        finish: Finish,
        *,
        run_id: str,
        seq: int,
        claim: ClaimId | None = None,
        fence: Fence | None = None,
    ) -> None:
        """Run ``finish`` until the body has ended.

        Args:
            finish: Waits for the body and records what it came to.
            run_id: The run that made the call.
            seq: The position of the call's intent.
            claim: The call's declared key.
            fence: The lease to hold until then and to give back after.
        """
        body = _Body(run_id, seq, claim)

        async def work() -> None:
            try:
                await finish()
            finally:
                self._bodies.remove(body)
                if fence is not None:
                    await self._give_back(fence)

        self._background.start_soon(work, "a body that outlived its time limit")
        if fence is not None:
            self._fences.add(fence)
        self._bodies.append(body)

    async def _give_back(self, fence: Fence) -> None:
        self._fences.discard(fence)
        self._keeper.remove(fence)
        with anyio.CancelScope(shield=True):
            try:
                await self._store.release(fence)
            except StoreError:
                return  # the lease runs out by itself
