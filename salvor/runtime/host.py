"""What a run needs from the process that drives it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from salvor.clock import Clock, Ids
from salvor.events.records import Driver
from salvor.events.store import Store
from salvor.registry.registry import Registry
from salvor.run_errors import RunInterrupted
from salvor.runtime.background import Background
from salvor.runtime.bodies import BodyThreads
from salvor.runtime.leases import LeaseKeeper
from salvor.runtime.overtime import Overtime
from salvor.runtime.shared import Shared
from salvor.tools.approval import ApprovalRule
from salvor.tools.around import Guard
from salvor.tools.foreign import BUILT_IN, ForeignTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a running tool says of how far it is; nothing of it is recorded."""

    run_id: str
    position: int
    tool: str
    done: float
    total: float | None
    message: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The parts that all drives of one process share.

    ``lease`` and ``claim_wait`` are in seconds; ``namespace`` is the operator's, for claims;
    ``interrupted`` is set when every drive is to stop after its running call; ``progress``
    is told what tools report, in whatever thread they run; ``guards`` stand around every
    execution, the first one outermost; ``approvals`` say which calls a person approves first;
    ``foreign`` says what exceptions of libraries mean.
    """

    store: Store
    registry: Registry
    clock: Clock
    ids: Ids
    driver: Driver
    threads: BodyThreads
    keeper: LeaseKeeper
    interrupted: threading.Event
    background: Background
    shared: Shared
    overtime: Overtime
    lease: float
    claim_wait: float
    namespace: str = "default"
    progress: Callable[[Progress], None] | None = None
    guards: tuple[Guard, ...] = ()
    approvals: tuple[ApprovalRule, ...] = ()
    foreign: ForeignTable = BUILT_IN

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
