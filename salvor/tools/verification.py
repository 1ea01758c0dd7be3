"""Asking the outside world whether a write happened (DURABILITY F3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Happened:
    """It happened, and this is what the tool would have returned."""

    output: Any


@dataclass(frozen=True, slots=True)
class NotHappened:
    """The far side does not know of it; that may be so only until it gets there."""


@dataclass(frozen=True, slots=True)
class CannotTell:
    """The far side could not be asked, or does not know."""

    why: str = "the far side does not know"


Finding: TypeAlias = Happened | NotHappened | CannotTell
Verify: TypeAlias = Callable[[dict[str, Any], str | None], Finding | Awaitable[Finding]]
"""Is handed the canonical arguments and the call's idempotency key."""
