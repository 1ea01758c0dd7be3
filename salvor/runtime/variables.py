"""Context variables: what is set inside stays inside."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from types import coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def context_of_thread() -> Context:
    """A copy of the context for code in a thread of its own, where no event loop runs."""
    context = copy_context()
    sniffio = sys.modules.get("sniffio")  # who has not loaded it notes no loop there
    if sniffio is not None:
        context.run(sniffio.current_async_library_cvar.set, None)
    return context


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
