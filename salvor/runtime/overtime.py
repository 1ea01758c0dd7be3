"""Bodies that outlived their time limit: a thread cannot be stopped, only waited for (A6).

A write keeps its run's lease until its body has ended; what the body returns then becomes
the completion. Whatever else comes too late is kept as a late result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from salvor.events.claims import ClaimId
from salvor.events.records import Fence
from salvor.events.store import Store
from salvor.runtime.background import Background
from salvor.runtime.leases import LeaseKeeper
from salvor.store_errors import StoreError

Finish = Callable[[], Awaitable[None]]


class Overtime:
    """Keeps track of the bodies that still run although nobody waits for them."""

    def __init__(self, background: Background, store: Store, keeper: LeaseKeeper) -> None:
        self._background = background
        self._store = store
        self._keeper = keeper
        self._fences: set[Fence] = set()
        self._claims: list[ClaimId] = []

    def holds(self, fence: Fence) -> bool:
        """Whether a body still runs under this lease, which therefore is not given back."""
        return fence in self._fences

    def runs(self, claim: ClaimId | None) -> bool:
        """Whether a body of this key still runs here: no second one may start (A6)."""
        return claim is not None and claim in self._claims

    def keep(self, finish: Finish, *, fence: Fence | None, claim: ClaimId | None) -> None:
        """Run ``finish`` until the body has ended.

        Args:
            finish: Waits for the body and records what it came to.
            fence: The lease to hold until then and to give back after.
            claim: The body's key.
        """

        async def work() -> None:
            try:
                await finish()
            finally:
                if claim is not None:
                    self._claims.remove(claim)
                if fence is not None:
                    await self._give_back(fence)

        self._background.start_soon(work, "a body that outlived its time limit")
        if fence is not None:
            self._fences.add(fence)
        if claim is not None:
            self._claims.append(claim)

    async def _give_back(self, fence: Fence) -> None:
        self._fences.discard(fence)
        self._keeper.remove(fence)
        with anyio.CancelScope(shield=True):
            try:
                await self._store.release(fence)
            except StoreError:
                return  # the lease runs out by itself
