"""One runtime for one verb, and what Ctrl-C does to it."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import anyio

from salvor.cli import output
from salvor.cli.load import installed_tools
from salvor.cli.options import config_asked
from salvor.cli.render import in_memory, way_on
from salvor.compose import approval_rules, open_runtime
from salvor.config import Config, find_config
from salvor.plugins.loader import Plugins
from salvor.registry.registry import Registry
from salvor.runtime.runtime import Runtime
from salvor.store_errors import StoreUnavailable

GRACE_SECONDS = 10.0
INTERRUPTED = 130


def with_runtime(
    store: str,
    work: Callable[[Runtime], Awaitable[int]],
    *,
    loaded: tuple[Registry, Plugins] | None = None,
    run_id: str | None = None,
    drives: bool = True,
) -> int:
    """Open a runtime on the store, do the work, and return its exit code.

    Args:
        store: Where runs are kept.
        work: What to do.
        loaded: The plugins and the registry they were loaded into; by default they are
            loaded here.
        run_id: The run that is driven, if one is.
        drives: Whether runs may be driven; then the operator's rules of approval count.
    """
    registry, plugins = installed_tools() if loaded is None else loaded
    rules = approval_rules(find_config(config_asked())) if drives else ()

    async def session() -> int:
        # The operator's word is on the registry already.
        opened = open_runtime(
            store=store, registry=registry, plugins=plugins, config=Config(), approvals=rules
        )
        async with opened as runtime:
            with interruptible(runtime.interrupt, _cut_off(run_id, store)):
                return await work(runtime)

    return anyio.run(session)


def _cut_off(run_id: str | None, store: str) -> str:
    """The last words when a signal does not let the running call finish."""
    if run_id is None:
        return "salvor: interrupted."
    return (
        f"salvor: interrupted; if a call of run {run_id} was under way, it was cut off. A write "
        f"that was cut off is left open, and has to be resolved.\n{way_on(run_id, store)}"
    )


def looking(store: str, work: Callable[[Runtime], Awaitable[int]]) -> int:
    """The same for verbs that drive nothing: no plugins, no operator's file, no new store."""
    return with_runtime(existing(store), work, loaded=no_plugins(), drives=False)


def no_plugins() -> tuple[Registry, Plugins]:
    """For verbs that only look at the store: no package of tools has a part in that."""
    return Registry(), Plugins()


def existing(store: str) -> str:
    """The store, which has to be there: a verb that only looks must not make one.

    Raises:
        StoreUnavailable: it names a file that does not exist, or begins with this process.
    """
    if in_memory(store):
        raise StoreUnavailable(
            "a store in memory begins with this command, and holds no run.",
            hint="Runs that other commands are to see need a --store PATH.",
        )
    path = store.removeprefix("sqlite:///")
    if "://" not in path and not _exists(path):
        raise StoreUnavailable(
            f"there is no store at {path}.",
            hint="`salvor run` makes it; --store or SALVOR_STORE names another one.",
        )
    return store


def _exists(path: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except OSError as error:
        raise StoreUnavailable(
            f"the store {path} cannot be looked at: {error.strerror}.",
            hint="Give this user the right to enter its directory, or use another --store.",
        ) from error


@contextmanager
def interruptible(interrupt: Callable[[], None], cut_off: str) -> Iterator[None]:
    """Ctrl-C and SIGTERM: the first lets the running call finish, the second does not wait.

    A thread of its own hears them, since the main thread may be busy with the user's code, or
    may be falling asleep just as a signal comes. It leaves with a hard exit: the log is whole
    at every moment, so nothing is lost by it (DURABILITY A7).
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ears, mouth = socket.socketpair()
    mouth.setblocking(False)
    wakeup = signal.set_wakeup_fd(mouth.fileno())
    before = {number: signal.signal(number, _heard) for number in _SIGNALS}
    thread = threading.Thread(target=_listen, args=(ears, interrupt, cut_off), daemon=True)
    thread.start()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup)
        mouth.close()
        thread.join()
        ears.close()


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def _heard(_number: int, _frame: FrameType | None) -> None:
    """Nothing: the byte that the interpreter writes for every handled signal does the work."""


def _listen(ears: socket.socket, interrupt: Callable[[], None], cut_off: str) -> None:
    if not _signalled(ears):
        return
    interrupt()
    output.complain(
        "salvor: stopping after the running call; a second Ctrl-C does not wait for it."
    )
    ears.settimeout(GRACE_SECONDS)
    try:
        again = _signalled(ears)
    except TimeoutError:
        again = True
    if again:
        output.complain(cut_off)
        os._exit(INTERRUPTED)


def _signalled(ears: socket.socket) -> bool:
    """Wait for one of our signals; ``False`` when the session is over."""
    while heard := ears.recv(1):
        if heard[0] in _SIGNALS:
            return True
    return False
