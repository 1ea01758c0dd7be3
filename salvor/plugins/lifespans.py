"""What plugins hold open for as long as a runtime is: each in a task of its own.

So a lifespan that fails, or whose background task does, cancels nothing but itself.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskStatus

from salvor.plugins.loader import LifespanOf
from salvor.tools.around import Call, Failure, Guard, Next, Outcome
from salvor.tools.saying import in_one_line

LEAVE_SECONDS = 10.0

_log = logging.getLogger("salvor.plugins")


@asynccontextmanager
async def lifespans_open(
    lifespans: Sequence[LifespanOf], *, leave_within: float = LEAVE_SECONDS
) -> AsyncIterator[tuple[Guard, ...]]:
    """Enter all lifespans in order, and leave them in the opposite one.

    One that fails is logged and stops nothing else; the tools of its plugin are denied, by
    the guards that this gives.

    Args:
        lifespans: What to hold open.
        leave_within: Seconds that each of them has to end.
    """
    if not lifespans:
        yield ()
        return
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        opened: list[_Open] = []
        try:
            for lifespan in lifespans:
                one = _Open(lifespan=lifespan, leave_within=leave_within)
                await tasks.start(one.hold)
                opened.append(one)
            yield tuple(Guard(one.lifespan.plugin, one.guard) for one in opened)
        except Exception as error:
            failure = error  # kept out of the group, which would wrap it
        finally:
            for one in reversed(opened):
                await one.leave()
    if failure is not None:
        raise failure


@dataclass(slots=True, kw_only=True)
class _Open:
    """One lifespan, entered and left by one task."""

    lifespan: LifespanOf
    leave_within: float
    failed: str | None = None
    _stop: anyio.Event = field(default_factory=anyio.Event)
    _ended: anyio.Event = field(default_factory=anyio.Event)

    async def hold(self, *, task_status: TaskStatus[None]) -> None:
        """Enter, wait until told to leave, leave; whatever it raises ends here."""
        entered = False
        try:
            with anyio.CancelScope() as scope:
                async with self.lifespan.manager():
                    entered = True
                    # From here on a cancellation of the runtime must not cut clean-up off.
                    scope.shield = True
                    task_status.started()
                    await self._stop.wait()
                    scope.deadline = anyio.current_time() + self.leave_within
            if scope.cancelled_caught:
                self._say(f"did not end within {self.leave_within:g} s")
            elif not self._stop.is_set():
                self._fail("ended by itself")
        except Exception as error:
            self._fail(in_one_line(error))
            if not entered:
                task_status.started()
        finally:
            self._ended.set()

    async def leave(self) -> None:
        """Let it end, and wait until it has."""
        self._stop.set()
        with anyio.CancelScope(shield=True):
            await self._ended.wait()

    async def guard(self, call: Call, next: Next) -> Outcome:
        """Deny calls that rely on what could not be held open."""
        relies = self.lifespan.guards or call.tool in self.lifespan.tools
        if self.failed is not None and relies:
            return Failure(message=f"the plugin {self.lifespan.plugin} is not up: {self.failed}")
        return await next()

    def _fail(self, reason: str) -> None:
        self.failed = reason
        self._say(f"failed: {reason}")

    def _say(self, what: str) -> None:
        _log.warning("the lifespan of the plugin %s %s", self.lifespan.plugin, what)
