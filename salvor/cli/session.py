"""One runtime for one verb, and what Ctrl-C does to it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import anyio

from salvor.cli import output
from salvor.compose import open_runtime
from salvor.errors import StoreUnavailable
from salvor.registry.registry import Registry
from salvor.runtime.runtime import Runtime

GRACE_SECONDS = 10.0
INTERRUPTED = 130


def with_runtime(
    store: str, work: Callable[[Runtime], Awaitable[int]], *, registry: Registry | None = None
) -> int:
    """Open a runtime on the store, do the work, and return its exit code."""

    async def session() -> int:
        opened = open_runtime(store=store, registry=registry, plugins=registry is None)
        async with opened as runtime:
            with interruptible(runtime.interrupt):
                return await work(runtime)

    return anyio.run(session)


def existing(store: str) -> str:
    """The store, which has to be there: a verb that only looks must not make one.

    Raises:
        StoreUnavailable: it names a file that does not exist.
    """
    path = store.removeprefix("sqlite://")
    is_file = store != "memory:" and "://" not in path
    if is_file and not Path(path).exists():
        raise StoreUnavailable(
            f"there is no store at {path}.",
            hint="`salvor run` makes it; --store or SALVOR_STORE names another one.",
        )
    return store


@contextmanager
def interruptible(interrupt: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM: the first lets the running call finish, the second does not wait.

    A handler of our own and a hard exit, since the loop may be busy with the user's code. The
    log is whole at every moment, so leaving at once loses nothing (DURABILITY A7).
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stop = _Stop(interrupt)
    before = {number: signal.signal(number, stop.on_signal) for number in _SIGNALS}
    try:
        yield
    finally:
        stop.disarm()
        for number, handler in before.items():
            signal.signal(number, handler)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Stop:
    def __init__(self, interrupt: Callable[[], None]) -> None:
        self._interrupt = interrupt
        self._timer: threading.Timer | None = None

    def on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._timer is not None:
            _leave()
        self._timer = threading.Timer(GRACE_SECONDS, _leave)
        self._timer.daemon = True
        self._timer.start()
        self._interrupt()
        output.complain(
            "salvor: stopping after the running call; a second Ctrl-C does not wait for it."
        )

    def disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _leave() -> None:
    output.complain("salvor: interrupted; `salvor resume` goes on with the run.")
    os._exit(INTERRUPTED)
