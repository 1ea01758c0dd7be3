"""Threads of our own for the bodies of synchronous tools.

Daemon threads, reused: a body that hangs cannot keep the process from exiting, which the
event loop's own pool would.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, TypeVar

from salvor.handoff import Handoff, deliver

T = TypeVar("T")

MAX_IDLE = 64

_Job = tuple[Callable[[], Any], Handoff[Any]]


class BodyThreads:
    """Runs functions in daemon threads; as many at a time as are asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[_Job | None]] = []
        self._closed = False

    async def run(self, fn: Callable[[], T]) -> T:
        """Call ``fn`` in a thread, with the caller's context variables.

        Cancelling the wait leaves the function running; its result is dropped.
        """
        handoff: Handoff[tuple[T | None, BaseException | None]] = Handoff(cancellable=True)
        context = copy_context()
        self._submit((lambda: context.run(fn), handoff))
        value, error = await handoff.wait()
        if error is not None:
            raise error
        return value  # type: ignore[return-value]  # one of the two is always set

    def close(self) -> None:
        """Let idle threads end; busy ones end after their function."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for jobs in idle:
            jobs.put(None)

    def _submit(self, job: _Job) -> None:
        with self._lock:
            jobs = self._idle.pop() if self._idle else None
        if jobs is None:
            jobs = SimpleQueue()
            threading.Thread(
                target=self._work, args=(jobs,), name="salvor-body", daemon=True
            ).start()
        jobs.put(job)

    def _work(self, jobs: SimpleQueue[_Job | None]) -> None:
        while (job := jobs.get()) is not None:
            fn, handoff = job
            outcome = _outcome(fn)
            with self._lock:
                stay = not self._closed and len(self._idle) < MAX_IDLE
                if stay:
                    self._idle.append(jobs)
            deliver([(handoff, outcome, None)])
            del job, fn, handoff, outcome
            if not stay:
                return


def _outcome(fn: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    # Handed over as a value: a future refuses to hold some exceptions (StopIteration).
    try:
        return fn(), None
    except BaseException as error:
        return None, error
