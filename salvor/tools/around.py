"""What stands around a tool's body: middleware, what it is shown, and what it gives back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from salvor.errors import Extent
from salvor.tools.contract import Effect
from salvor.values import JsonObject, JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One execution that is about to happen, as middleware sees it.

    Attributes:
        tool: The tool's final name.
        effect: What the call does to the world, as recorded.
        arguments: The canonical arguments. A copy: what executes is what was recorded.
        tags: The tool's tags.
        run_id: Whose run it is.
        position: The place of its intent in the log.
        attempt: Which execution of the call this is, from 1.
        idempotency_key: The key its effect has to carry; `None` for a read.
    """

    tool: str
    effect: Effect
    arguments: JsonObject
    tags: tuple[str, ...]
    run_id: str
    position: int
    attempt: int
    idempotency_key: str | None


@dataclass(frozen=True, slots=True)
class Output:
    """The call gave a value, as checked JSON."""

    value: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The call failed.

    As it is made, it denies a call for good before anything happened.

    Attributes:
        message: What the caller is told.
        extent: What the call may have done (DURABILITY A1).
        final: Whether trying again would fail in the same way.
        retry_after: Seconds to wait before the next attempt.
    """

    message: str
    extent: Extent = "no"
    final: bool = True
    retry_after: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspend:
    """The tool parked its run until somebody answers.

    Attributes:
        reason: What is asked.
        schema: JSON Schema of the answer.
        signal: The signal that is waited for, if it is no person.
    """

    reason: str
    schema: JsonValue
    signal: str | None = None


@dataclass(frozen=True, slots=True)
class Sleep:
    """The tool parked its run until an instant (RFC 3339)."""

    wake_at: str


Outcome: TypeAlias = Output | Suspend | Sleep | Failure
Next: TypeAlias = Callable[[], Awaitable[Outcome]]
Middleware: TypeAlias = Callable[[Call, Next], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class Guard:
    """A middleware and whose it is, for messages."""

    name: str
    function: Middleware
