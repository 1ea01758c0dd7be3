"""The context of one execution of a call, as its tool sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from logging import Logger, LoggerAdapter
from typing import TypeAlias

from salvor.errors import NotInjected
from salvor.tools.injection import INJECTED, Depends

__all__ = ["INJECTED", "Context", "Depends", "activate"]

Report: TypeAlias = Callable[[float, float | None, str | None], None]

_current: ContextVar[Context] = ContextVar("salvor_context")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Context:
    """One execution of one call, as its tool sees it.

    Attributes:
        run_id: The run the call belongs to.
        position: The position of the call's intent in the run's log.
        attempt: Which execution this is, from 1.
        epoch: How often the run was taken over; the far side can refuse older ones.
        idempotency_key: The call's key, the same for every attempt; `None` for reads.
        deadline: The instant after which nobody waits any more; `None` for no limit.
        logger: A logger that knows the call.
    """

    run_id: str
    position: int
    attempt: int
    epoch: int
    idempotency_key: str | None
    logger: Logger | LoggerAdapter[Logger]
    deadline: datetime | None = None
    report: Report | None = None
    is_cancelled: Callable[[], bool] | None = None

    @property
    def cancelled(self) -> bool:
        """Whether the caller gave up; a long loop should look now and then, and stop."""
        return self.is_cancelled is not None and self.is_cancelled()

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Say how far the call is; nothing is recorded."""
        if self.report is not None:
            self.report(done, total, message)

    @staticmethod
    def current() -> Context:
        """The context of the call that is being executed.

        Raises:
            NotInjected: outside a call.
        """
        try:
            return _current.get()
        except LookupError:
            raise NotInjected(
                "there is no current call: Context.current() was asked outside a tool."
            ) from None


@contextmanager
def activate(context: Context) -> Iterator[Context]:
    """Make a context the current one while a body runs."""
    token = _current.set(context)
    try:
        yield context
    finally:
        _current.reset(token)
