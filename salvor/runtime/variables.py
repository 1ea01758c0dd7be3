"""Context variables: what is set inside stays inside."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextvars import copy_context
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")


@coroutine
def apart(start: Callable[[], Coroutine[Any, Any, T]]) -> Generator[Any, Any, T]:
    """Await a coroutine in a copy of the context, in the task that asks for it.

    A task of its own would do the same, and wrap what is raised in a group.

    Args:
        start: Makes the coroutine.
    """
    run = copy_context().run
    inner = start()
    step: Callable[..., Any] = inner.send
    sent: Any = None
    while True:
        try:
            wanted = run(step, sent)
        except StopIteration as ended:
            result: T = ended.value
            return result
        try:
            step, sent = inner.send, (yield wanted)
        except GeneratorExit:
            run(inner.close)
            raise
        except BaseException as error:
            step, sent = inner.throw, error
