"""Keeps the leases of all running runs, from a thread of its own.

A tool that blocks the event loop cannot starve the renewal, and a process that was frozen
knows by the boot-time clock that it may have lost its runs before it acts again.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from salvor.clock import Clock
from salvor.events.records import Fence
from salvor.events.store import Store
from salvor.runtime.bodies import BodyThreads
from salvor.store_errors import StoreError

MARGIN = 2.0


@dataclass(slots=True)
class _Held:
    expires: float  # boot-time seconds
    lost: bool = False


class LeaseKeeper:
    """Renews every lease it was given, four times in a lease's length.

    Args:
        store: Where the leases are.
        clock: The boot-time clock decides whether a lease still stands.
        lease: Length of a lease in seconds.
    """

    def __init__(self, store: Store, clock: Clock, *, lease: float) -> None:
        self._store = store
        self._clock = clock
        self._lease = lease
        self._margin = min(MARGIN, lease / 4)
        self._held: dict[Fence, _Held] = {}
        self._wake = threading.Condition()
        self._stopped = False
        self._thread: threading.Thread | None = None
        self._asked = BodyThreads(1)

    def add(self, fence: Fence, *, taken: float) -> None:
        """Keep a lease that was taken when the boot-time clock read ``taken``, or before."""
        with self._wake:
            self._held[fence] = _Held(expires=taken + self._lease)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="salvor-leases", daemon=True
                )
                self._thread.start()

    def remove(self, fence: Fence) -> None:
        """Keep the lease no longer."""
        with self._wake:
            self._held.pop(fence, None)

    def stands(self, fence: Fence) -> bool:
        """Whether the lease is not lost and has at least the margin left (DURABILITY B1)."""
        held = self._held.get(fence)
        return (
            held is not None and not held.lost and self._clock.boot() < held.expires - self._margin
        )

    def renew(self) -> None:
        """Renew all leases now, in the calling thread."""
        with self._wake:
            fences = [fence for fence, held in self._held.items() if not held.lost]
        if not fences:
            return
        asked = self._clock.boot()
        lost = self._store.renew(fences, lease=self._lease)
        with self._wake:
            for fence in fences:
                held = self._held.get(fence)
                if held is None:
                    continue
                if fence in lost:
                    held.lost = True
                else:
                    held.expires = asked + self._lease

    async def renew_now(self) -> None:
        """Renew all leases without blocking the event loop; a store that fails changes nothing."""
        try:
            await self._asked.run(self.renew)
        except StoreError:
            return

    def stop(self) -> None:
        """End the thread; leases that are held run out by themselves."""
        with self._wake:
            self._stopped = True
            self._wake.notify_all()
        self._asked.close()
        if self._thread is not None:
            self._thread.join(timeout=self._lease)

    def _work(self) -> None:
        while True:
            with self._wake:
                if self._wake.wait_for(lambda: self._stopped, self._lease / 4):
                    return
            try:
                self.renew()
            except StoreError:
                continue  # the clock decides: a lease that cannot be renewed runs out
