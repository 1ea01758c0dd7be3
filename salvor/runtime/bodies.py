"""Threads of our own for the bodies of synchronous tools.

Daemon threads, reused: a body that hangs cannot keep the process from exiting, which the
event loop's own pool would.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Generic, TypeVar, cast

from salvor.handoff import Handoff, deliver
from salvor.runtime.variables import context_of_thread

T = TypeVar("T")

MAX_IDLE = 64
DEFAULT_LIMIT = 64

Ended = tuple[Any, BaseException | None]


class Body(Generic[T]):
    """A function that runs in a thread; it can be waited for more than once.

    Giving up on a wait leaves the function running.
    """

    def __init__(self, fn: Callable[[], T]) -> None:
        context = context_of_thread()
        self._fn: Callable[[], T] = lambda: context.run(fn)
        self._lock = threading.Lock()
        self._ended: Ended | None = None
        self._waiting: Handoff[Ended] | None = None
        self.turn_over = False

    @property
    def over(self) -> bool:
        """Whether the function has ended."""
        return self._ended is not None

    async def wait(self) -> T:
        """What the function returned; raises what it raised."""
        with self._lock:
            ended = self._ended
            if ended is None:
                handoff: Handoff[Ended] = Handoff(cancellable=True)
                self._waiting = handoff
        if ended is None:
            ended = await handoff.wait()
        value, error = ended
        if error is not None:
            raise error
        return cast("T", value)

    def call(self) -> Ended:
        """Call the function, in the thread this is called in."""
        # Handed over as a value: a future refuses to hold some exceptions (StopIteration).
        try:
            return self._fn(), None
        except BaseException as error:
            return None, error

    def end(self, ended: Ended) -> None:
        """Give the result to whoever waits for it, now or later."""
        with self._lock:
            self._ended = ended
            waiting = self._waiting
        if waiting is not None:
            deliver([(waiting, ended, None)])


class BodyThreads:
    """Starts functions in daemon threads, so many at a time; others wait for their turn.

    Args:
        limit: How many run at a time. One that is given up (`outlived`) counts no more.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._lock = threading.Lock()
        self._free = limit
        self._queued: deque[Body[Any]] = deque()
        self._outlived: set[Body[Any]] = set()
        self._idle: list[SimpleQueue[Body[Any] | None]] = []
        self._closed = False

    @property
    def queued(self) -> int:
        """How many functions wait for their turn."""
        return len(self._queued)

    def start(self, fn: Callable[[], T]) -> Body[T]:
        """Start ``fn`` in a thread, with the caller's context variables."""
        body = Body(fn)
        with self._lock:
            if self._free <= 0:
                self._queued.append(body)
                return body
            self._free -= 1
            jobs = self._idle.pop() if self._idle else None
        self._hand(body, jobs)
        return body

    async def run(self, fn: Callable[[], T]) -> T:
        """Call ``fn`` in a thread and wait for it; cancelled, it is not started any more."""
        body = self.start(fn)
        try:
            return await body.wait()
        except BaseException:
            self.give_up(body)
            raise

    def give_up(self, body: Body[Any]) -> bool:
        """Nobody waits any more; ``False`` if the function was not started and never will be."""
        if self.withdraw(body):
            return False
        self.outlived(body)
        return True

    def withdraw(self, body: Body[Any]) -> bool:
        """Keep a function from being started; ``False`` if it was started before."""
        with self._lock:
            if body not in self._queued:
                return False
            self._queued.remove(body)
            return True

    def outlived(self, body: Body[Any]) -> None:
        """Nobody waits for this one now: let another have its turn."""
        with self._lock:
            if body.turn_over:
                return
            self._outlived.add(body)
            waiting = self._queued.popleft() if self._queued else None
            if waiting is None:
                self._free += 1
                return
            jobs = self._idle.pop() if self._idle else None
        self._hand(waiting, jobs)

    def close(self) -> None:
        """Let idle threads end; busy ones end after their function."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for jobs in idle:
            jobs.put(None)

    def _hand(self, body: Body[Any], jobs: SimpleQueue[Body[Any] | None] | None) -> None:
        if jobs is None:
            jobs = SimpleQueue()
            threading.Thread(
                target=self._work, args=(jobs,), name="salvor-body", daemon=True
            ).start()
        jobs.put(body)

    def _work(self, jobs: SimpleQueue[Body[Any] | None]) -> None:
        while (body := jobs.get()) is not None:
            ended = body.call()
            # Free before the result is known: whoever gets it may start the next body at once.
            with self._lock:
                stay = self._next(body, jobs)
            body.end(ended)
            del body, ended
            if not stay:
                return

    def _next(self, body: Body[Any], jobs: SimpleQueue[Body[Any] | None]) -> bool:
        body.turn_over = True
        if body in self._outlived:
            self._outlived.remove(body)  # its turn was given away
        elif self._queued:
            jobs.put(self._queued.popleft())
            return True
        else:
            self._free += 1
        if self._closed or len(self._idle) >= MAX_IDLE:
            return False
        self._idle.append(jobs)
        return True
