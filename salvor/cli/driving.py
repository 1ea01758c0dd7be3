"""Driving one run for a verb: however it ends, the run's state and the way on are named."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from salvor.cli import output, render
from salvor.cli.report import report
from salvor.cli.session import INTERRUPTED, with_runtime
from salvor.errors import ConcurrentUseError, SalvorError
from salvor.plugins.loader import Plugins
from salvor.registry.registry import Registry
from salvor.runtime.cancellation import cancellations, is_cancellation
from salvor.runtime.outcome import Failed, RunResult
from salvor.runtime.places import described, place_of
from salvor.runtime.runtime import Runtime
from salvor.runtime.targets import load_target

FAILED = 1


def drive(
    store: str,
    run_id: str,
    begin: Callable[[Runtime], Awaitable[RunResult[Any]]],
    *,
    loaded: tuple[Registry, Plugins] | None = None,
) -> int:
    """Drive a run in a runtime of its own, report how that ended, and return the exit code.

    Args:
        store: Where the run is kept.
        run_id: The run, for messages.
        begin: Starts it.
        loaded: The plugins and the registry they were loaded into.
    """

    async def work(runtime: Runtime) -> int:
        return await driven(runtime, store, run_id, begin(runtime))

    return with_runtime(store, work, loaded=loaded, run_id=run_id)


async def driven(
    runtime: Runtime, store: str, run_id: str, drive: Awaitable[RunResult[Any]]
) -> int:
    """The same in a runtime that is open."""
    before = cancellations()
    try:
        result = await drive
    except ConcurrentUseError as error:
        return _told(f"{error} When the code is mended, the run goes on.", run_id, store)
    except Exception:
        raise
    except BaseException as error:  # no exception of a program's code, yet its code raised it
        if is_cancellation(error, before):
            raise
        said = f"sys.exit({error.code!r})" if isinstance(error, SystemExit) else described(error)
        code = INTERRUPTED if isinstance(error, KeyboardInterrupt) else FAILED
        return _told(
            f"the code of run {run_id} ended the drive with {said}.", run_id, store, code=code
        )
    place = await _place(runtime, result) if isinstance(result, Failed) else None
    try:
        return report(result, store, place)
    except output.OutputLost as error:
        return _told(error.message, run_id, store)


def _told(text: str, run_id: str, store: str, *, code: int = FAILED) -> int:
    output.complain(f"salvor: {render.printable(text)}\n{render.way_on(run_id, store)}")
    return code


async def _place(runtime: Runtime, failed: Failed) -> str | None:
    """Where the fault is: in a frame of the user's code, else the workflow as a whole."""
    if failed.final:
        return None
    found = place_of(failed.exception)
    if found is not None:
        return found
    try:
        ref = (await runtime.state(failed.run_id)).workflow
        code = None if ref is None else inspect.unwrap(load_target(ref.target)).__code__
    except (SalvorError, AttributeError):
        return None
    return None if code is None else f"{code.co_filename}:{code.co_firstlineno}"
