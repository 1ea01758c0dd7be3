"""What a tool returns to park its run instead of giving a value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar, cast

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Slept:
    """What the caller of a tool gets that had its run sleep."""

    slept_until: datetime


@dataclass(frozen=True, slots=True)
class SuspendRequest:
    """A tool's wish that somebody answers before its call has a value."""

    reason: Any
    answer: Any
    signal: Any


@dataclass(frozen=True, slots=True)
class SleepRequest:
    """A tool's wish that its call ends at an instant."""

    until: Any


def suspend(reason: str, answer: type[A], *, signal: bool | str = False) -> A:
    """Return this from a tool: the call's value is the answer that somebody gives.

    The tool is not called again. The process may end meanwhile.

    Args:
        reason: What is asked, for the person who answers.
        answer: The type of the answer; what the caller of the tool gets.
        signal: Wait for a named signal instead of a person; ``True`` is the signal that has
            the tool's name.
    """
    return cast("A", SuspendRequest(reason, answer, signal))


def sleep_until(instant: datetime) -> Slept:
    """Return this from a tool: the call ends at ``instant``, and gives it back.

    The tool is not called again. The process may end meanwhile.

    Args:
        instant: An aware moment.
    """
    return cast("Slept", SleepRequest(instant))
