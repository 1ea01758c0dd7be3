"""Why a run stands still. Read from the run, never from the exception that unwinds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from salvor.runtime.outcome import RunResult


@dataclass(frozen=True, slots=True)
class Rest:
    """The run came to rest in a state the drive gives back."""

    result: RunResult[Any]


@dataclass(frozen=True, slots=True)
class Broken:
    """The drive cannot go on: the error goes to whoever drives."""

    error: Exception


@dataclass(frozen=True, slots=True)
class CutOff:
    """A step was cancelled; what it did is in the log or unknown."""


Stop: TypeAlias = Rest | Broken | CutOff


class Halt(Exception):
    """Carries a stop from inside a step to the run, which keeps it."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(repr(stop))
        self.stop = stop
