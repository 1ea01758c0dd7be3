"""What a drive gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeAlias, TypeVar

from salvor.events.records import Wait
from salvor.events.vocabulary import ParkedCall, SleepStarted, Suspended, UnresolvedWrite
from salvor.values import JsonObject, JsonValue, parse_instant

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

    Attributes:
        run_id: Which run.
        reason: What it waits for, in words.
        schema: JSON Schema of the answer, if it waits for one.
        park_seq: The position of the park, which an answer names.
        waiting_for: The claim that another run holds; then resuming tries again.
        signal: The name of the signal it waits for.
        wake_at: When it goes on by itself.
        deadline: Until when it may be answered.
        call: The call that it is about: one that wants approval, or whose tool parked.
    """

    run_id: str
    reason: str
    schema: JsonValue = None
    park_seq: int | None = None
    waiting_for: Wait | None = None
    signal: str | None = None
    wake_at: datetime | None = None
    deadline: datetime | None = None
    call: ParkedCall | None = None

    @property
    def wants_approval(self) -> bool:
        """Whether it asks for a yes or no to a call that has not been made."""
        return self.call is not None and self.call.seq is None


def parked_at(run_id: str, seq: int, park: Suspended | SleepStarted) -> Parked:
    """The rest of a run at the park that is its event ``seq``."""
    if isinstance(park, SleepStarted):
        return Parked(
            run_id=run_id,
            reason=f"it sleeps until {park.wake_at}",
            park_seq=seq,
            wake_at=parse_instant(park.wake_at),
            call=park.call,
        )
    return Parked(
        run_id=run_id,
        reason=park.reason,
        schema=park.input_schema,
        park_seq=seq,
        signal=park.awaited,
        deadline=None if park.deadline is None else parse_instant(park.deadline),
        call=park.call,
    )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Abandoned:
    """An operator or a cancel ended the run; ``unresolved`` is the write that was open then."""

    run_id: str
    reason: str | None
    by: str | None = None
    unresolved: UnresolvedWrite | None = None


RunResult: TypeAlias = Completed[R] | Parked | OpenWrite | Failed | Abandoned
