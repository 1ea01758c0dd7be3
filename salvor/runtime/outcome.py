"""What a drive gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from salvor.events.records import Wait
from salvor.values import JsonObject, JsonValue

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed(Generic[R]):
    """The run returned: ``output`` as the workflow declares it, ``recorded`` as JSON."""

    run_id: str
    output: R
    recorded: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """The run waits, and needs no process to do so.

    Either for an answer that fits ``schema`` (to the question at ``park_seq``), or for a
    claim that another run holds (``waiting_for``): then resuming tries again.
    """

    run_id: str
    reason: str
    schema: JsonValue = None
    park_seq: int | None = None
    waiting_for: Wait | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenWrite:
    """A write's outcome is unknown: somebody has to find out and resolve it."""

    run_id: str
    seq: int
    tool: str
    arguments: JsonObject
    idempotency_key: str | None
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The run failed.

    ``final``: recorded as the end of the run. Otherwise nothing was recorded: ``exception``
    is a fault of the workflow's code, and ``resume`` goes on after the fix.
    """

    run_id: str
    error: str
    final: bool
    exception: BaseException | None = field(default=None, compare=False)


RunResult: TypeAlias = Completed[R] | Parked | OpenWrite | Failed
