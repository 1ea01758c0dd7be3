"""What a run needs from the process that drives it."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from salvor.clock import Clock, Ids
from salvor.errors import RunInterrupted
from salvor.events.store import Driver, Store
from salvor.registry.registry import Registry
from salvor.runtime.bodies import BodyThreads
from salvor.runtime.leases import LeaseKeeper


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The parts that all drives of one process share.

    ``lease`` and ``claim_wait`` are in seconds; ``namespace`` is the operator's, for claims;
    ``interrupted`` is set when every drive is to stop after its running call.
    """

    store: Store
    registry: Registry
    clock: Clock
    ids: Ids
    driver: Driver
    threads: BodyThreads
    keeper: LeaseKeeper
    interrupted: threading.Event
    lease: float
    claim_wait: float
    namespace: str = "default"

    def check_interrupt(self, run_id: str) -> None:
        """Stop here if the process was asked to.

        Raises:
            RunInterrupted: the log is whole and ``resume`` goes on.
        """
        if self.interrupted.is_set():
            raise RunInterrupted(
                f"run {run_id} was interrupted between two steps.",
                hint=f"`salvor resume {run_id}` goes on.",
            )
