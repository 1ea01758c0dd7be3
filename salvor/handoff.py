"""One result handed from a thread to the task that awaits it, on asyncio and on trio.

A `Handoff` is made in the awaiting task. The other thread calls `deliver` with any number
of results; all that belong to one event loop cross to it in one wake-up.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


class _Patient(asyncio.Future[Any]):
    """A future that cancellation cannot end.

    A cancelled task goes on waiting for it and sees its cancellation right after: what was
    submitted is never abandoned half-way (DURABILITY G3).
    """

    def cancel(self, msg: Any = None) -> bool:
        return False


class Handoff(Generic[T]):
    """A slot for one result, bound to the running event loop.

    Args:
        cancellable: Whether cancelling the awaiting task ends the wait at once. With
            ``False`` the wait goes on until the result is there.
    """

    __slots__ = ("_cancellable", "_future", "_result", "_task", "loop")

    def __init__(self, *, cancellable: bool) -> None:
        self._future: asyncio.Future[T] | None = None
        self._task: Any = None
        self._result: tuple[T | None, BaseException | None] | None = None
        self._cancellable = cancellable
        self.loop: Any = running_loop()
        if isinstance(self.loop, asyncio.AbstractEventLoop):
            loop = self.loop
            self._future = loop.create_future() if cancellable else _Patient(loop=loop)

    async def wait(self) -> T:
        """The result, once it is there; raises the error that was delivered instead."""
        if self._future is not None:
            return await self._future
        lowlevel = _trio().lowlevel
        if self._result is None:
            self._task = lowlevel.current_task()

            def abort(_: Any) -> Any:
                if not self._cancellable:
                    return lowlevel.Abort.FAILED
                self._task = None  # woken by its cancellation: a result must not wake it again
                return lowlevel.Abort.SUCCEEDED

            try:
                await lowlevel.wait_task_rescheduled(abort)
            finally:
                self._task = None
        else:
            await lowlevel.checkpoint()
        value, error = cast("tuple[T, BaseException | None]", self._result)
        if error is not None:
            raise error
        return value

    def _settle(self, value: T | None, error: BaseException | None) -> None:
        if self._future is not None:
            if not self._future.done():
                if error is not None:
                    self._future.set_exception(error)
                    self._future.exception()  # seen: no warning if the task was cancelled
                else:
                    self._future.set_result(cast("T", value))
        elif self._result is None:
            self._result = (value, error)
            if self._task is not None:
                _trio().lowlevel.reschedule(self._task)


def running_loop() -> Any:
    """What stands for the event loop that runs here: asyncio's own, or trio's token."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return _trio().lowlevel.current_trio_token()


Delivery = tuple[Handoff[Any], Any, BaseException | None]


def deliver(results: Sequence[Delivery]) -> None:
    """Hand results to their tasks, from any thread: one wake-up for each event loop.

    A loop that has ended is passed over: nobody is left to wait there.
    """
    loops: dict[int, tuple[Any, list[Delivery]]] = {}
    for result in results:
        loop = result[0].loop
        loops.setdefault(id(loop), (loop, []))[1].append(result)
    for loop, batch in loops.values():
        wake = (
            loop.call_soon_threadsafe
            if isinstance(loop, asyncio.AbstractEventLoop)
            else loop.run_sync_soon
        )
        try:
            wake(_settle_all, batch)
        except RuntimeError:  # the loop is closed (trio's RunFinishedError is one too)
            continue


def _settle_all(batch: Sequence[Delivery]) -> None:
    for handoff, value, error in batch:
        handoff._settle(value, error)


def _trio() -> Any:
    # trio is not a dependency: whoever runs on it has imported it already.
    return sys.modules["trio"]
