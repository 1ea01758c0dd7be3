"""Telling our own cancellation from an exception that only looks like one."""

from __future__ import annotations

import asyncio

import anyio
import anyio.lowlevel


def cancellations() -> int:
    """How many cancellations of this task are under way (0 where the loop does not count)."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return 0
    return 0 if task is None else task.cancelling()


def is_cancellation(error: BaseException, before: int) -> bool:
    """Whether an exception is this task's cancellation.

    A ``CancelledError`` that code raised by itself is none: on asyncio the task's count of
    cancellations has not risen over ``before`` then. On trio nobody can raise one.
    """
    if not isinstance(error, anyio.get_cancelled_exc_class()):
        return False
    return not isinstance(error, asyncio.CancelledError) or cancellations() > before


async def stop_if_cancelled(before: int) -> None:
    """Raise this task's cancellation if it was cancelled and the code swallowed that."""
    await anyio.lowlevel.checkpoint_if_cancelled()
    if cancellations() > before:
        raise asyncio.CancelledError
