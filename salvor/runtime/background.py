"""Tasks that outlive the call that started them, and end with the runtime."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from anyio.abc import TaskGroup

from salvor.handoff import running_loop
from salvor.run_errors import RunError

_log = logging.getLogger("salvor.runtime")


class Background:
    """A task group that is open while the runtime is; no task's error reaches another."""

    def __init__(self) -> None:
        self._group: TaskGroup | None = None
        self._home: Any = None

    @property
    def is_open(self) -> bool:
        """Whether it takes tasks."""
        return self._group is not None

    async def open(self) -> None:
        """Begin to take tasks."""
        self._home = running_loop()
        self._group = anyio.create_task_group()
        await self._group.__aenter__()

    async def close(self) -> None:
        """Cancel what is left and wait for its clean-up."""
        group, self._group = self._group, None
        if group is not None:
            group.cancel_scope.cancel()
            await group.__aexit__(None, None, None)

    def check_home(self) -> None:
        """See that the event loop is the one the runtime was opened in.

        What tools share, and what waits for one another, belongs to that loop alone.

        Raises:
            RunError: it is another one; nothing was begun.
        """
        if self._group is not None and running_loop() is not self._home:
            raise RunError(
                "this runtime was opened in another event loop, and is used there only.",
                hint="Open one in this loop, on the same store.",
            )

    def start_soon(self, work: Callable[[], Awaitable[Any]], name: str) -> None:
        """Start a task.

        Raises:
            RunError: the runtime was not entered, so nothing would end the task.
        """
        if self._group is None:
            raise RunError(
                f"{name} needs a runtime that is open.",
                hint="Use it as `async with open_runtime(...) as runtime:`.",
            )
        self._group.start_soon(self._guarded, work, name)

    async def _guarded(self, work: Callable[[], Awaitable[Any]], name: str) -> None:
        try:
            await work()
        except Exception:
            _log.exception("%s failed", name)
