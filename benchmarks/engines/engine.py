"""What a side of the comparison brings: a way to make durable calls on SQLite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Measure: TypeAlias = Callable[[Path, int, int], float]
"""Given a fresh file, how many runs and how many calls in each: seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One public way to make the calls; ``says`` is what it promises of each."""

    name: str
    says: str
    seconds: Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """All ways of one engine."""

    ways: Sequence[Way]
