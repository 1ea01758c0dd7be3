"""One write to a SQLite store, and what all of them look up."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from salvor.events.records import (
    Fence,
)
from salvor.handoff import Handoff
from salvor.run_errors import UnknownRun
from salvor.store_errors import Fenced
from salvor.stores import statements as sql

T = TypeVar("T")


class Write(ABC, Generic[T]):
    """One member of a batch; `value` or `error` is its outcome."""

    __slots__ = ("error", "handoff", "submitted", "value")
    value: T
    error: Exception | None
    handoff: Handoff[T]
    submitted: float

    @abstractmethod
    def run(self, db: sqlite3.Connection) -> T:
        """Carry the write out in the open transaction.

        Raises:
            SalvorError: it is refused; whatever it wrote has to be rolled back.
        """

    @abstractmethod
    def landed(self, db: sqlite3.Connection) -> bool:
        """Whether the write is in the store, after a commit that failed."""


class Withdrawn(Exception):
    """A write that must leave nothing behind, though it has a result for its caller."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


def check_fence(db: sqlite3.Connection, fence: Fence) -> None:
    """Raise unless the fence is the run's."""
    record = db.execute(sql.FENCE, (fence.run_id,)).fetchone()
    if record is None:
        raise UnknownRun(fence.run_id)
    if record != (fence.epoch, fence.token):
        raise Fenced(fence.run_id)


def run_key(db: sqlite3.Connection, run_id: str) -> int:
    """The integer key of a run."""
    record = db.execute(sql.RUN_KEY, (run_id,)).fetchone()
    if record is None:
        raise UnknownRun(run_id)
    key: int = record[0]
    return key
