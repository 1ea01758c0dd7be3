"""What can be wrong with logs and stores; the rest of the tree is in `salvor.errors`.

SalvorError
    LogError               a log cannot be used as it stands
        TamperEvident, MalformedLog, UnsupportedEvent, Divergence, AppendRefused
    StoreError             the store failed
        StoreUnavailable (StoreClosed, StoreFull), StoreVersionError, StoreBusy, CommitUnknown,
        Conflict, Fenced, ClaimLogTampered
"""

from __future__ import annotations

from typing import ClassVar

from salvor.errors import SalvorError


class LogError(SalvorError):
    """A log cannot be used as it stands."""

    code = "log"


class TamperEvident(LogError):
    """A stored row is not what was written: its hash, or the head's, does not fit."""

    code = "tamper_evident"

    def __init__(self, *, run_id: str, seq: int, detail: str) -> None:
        super().__init__(
            f"run {run_id} was altered outside salvor at event {seq}: {detail}.",
            hint="Nothing was executed. Restore the store from a backup.",
        )
        self.run_id = run_id
        self.seq = seq
        self.detail = detail


class MalformedLog(LogError):
    """The events of a run do not form a log."""

    code = "malformed_log"

    def __init__(self, *, run_id: str, seq: int, detail: str) -> None:
        super().__init__(f"the log of run {run_id} is malformed at event {seq}: {detail}.")
        self.run_id = run_id
        self.seq = seq
        self.detail = detail


class UnsupportedEvent(LogError):
    """An event is of a kind or version this salvor does not know."""

    code = "unsupported_event"

    def __init__(self, *, run_id: str, seq: int, what: str) -> None:
        super().__init__(
            f"event {seq} of run {run_id} is {what}, which this version of salvor does not know.",
            hint="Use the version that wrote it, or a newer one.",
        )
        self.run_id = run_id
        self.seq = seq
        self.what = what


class Divergence(LogError):
    """The code asks for something else than what was recorded at that position."""

    code = "divergence"

    def __init__(
        self, *, run_id: str, position: int, recorded: str, requested: str, field: str
    ) -> None:
        super().__init__(
            f"run {run_id} diverges at event {position} ({field}): "
            f"recorded is {recorded}, the code asks for {requested}.",
            hint="Bring back the code that wrote this log; nothing was executed.",
        )
        self.run_id = run_id
        self.position = position
        self.recorded = recorded
        self.requested = requested
        self.field = field


class AppendRefused(LogError):
    """An event may not follow the events before it."""

    code = "append_refused"

    def __init__(self, *, run_id: str, seq: int, detail: str) -> None:
        super().__init__(f"event {seq} cannot be appended to run {run_id}: {detail}.")
        self.run_id = run_id
        self.seq = seq
        self.detail = detail


class StoreError(SalvorError):
    """The store failed."""

    code = "store"
    passing: ClassVar[bool] = False
    """Whether the same write may well succeed in a while."""


class StoreUnavailable(StoreError):
    """The store cannot be opened, read or written."""

    code = "store_unavailable"


class StoreClosed(StoreUnavailable):
    """The store was closed, or opened before this process was forked."""

    code = "store_closed"


class StoreFull(StoreUnavailable):
    """The disk is full, or failed for the moment; nothing was written."""

    code = "store_full"
    passing = True


class StoreVersionError(StoreError):
    """The store was written by another version of salvor."""

    code = "store_version"


class StoreBusy(StoreError):
    """Another process kept the store's write lock for too long; nothing was written."""

    code = "store_busy"
    passing = True


class CommitUnknown(StoreError):
    """A commit failed in a way that leaves open whether it took effect."""

    code = "commit_unknown"
    passing = True


class Conflict(StoreError):
    """The log moved on since it was read; nothing was written."""

    code = "conflict"


class Fenced(StoreError):
    """Another driver took the run over; this one may not write to it any more."""

    code = "fenced"

    def __init__(self, run_id: str) -> None:
        super().__init__(f"run {run_id} was taken over by another driver.")
        self.run_id = run_id


class ClaimLogTampered(StoreError):
    """A row of the claim log is not what was written."""

    code = "claim_log_tampered"

    def __init__(self, n: int) -> None:
        super().__init__(
            f"the claim log was altered outside salvor at row {n}.",
            hint="Restore the store from a backup.",
        )
        self.n = n
