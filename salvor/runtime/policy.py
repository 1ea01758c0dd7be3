"""What follows a failed execution: the table of DURABILITY A3, as one pure function."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from salvor.errors import Extent
from salvor.events.vocabulary import EffectName
from salvor.tools.contract import Retry

MAX_BACKOFF = 30.0
MAX_RETRY_AFTER = 60.0

_ORDER: dict[Extent, int] = {"no": 0, "unknown": 1, "yes": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One failed execution.

    ``kind`` is what published clients are told: ``handler``, or what is known better.
    ``answer`` is the author's word that the exception is a final answer (DURABILITY A4);
    ``returned`` the canonical text of what the body had returned all the same.
    """

    message: str
    extent: Extent
    kind: str = "handler"
    final: bool = False
    retry_after: float | None = None
    answer: bool = False
    returned: str | None = None


@dataclass(frozen=True, slots=True)
class Again:
    """Execute once more after ``delay`` seconds."""

    delay: float


@dataclass(frozen=True, slots=True)
class Fail:
    """Record a failure completion; the call as a whole may have done ``extent``."""

    extent: Extent


@dataclass(frozen=True, slots=True)
class Open:
    """Record nothing: a person has to find out what the write did."""


Decision: TypeAlias = Again | Fail | Open


def seconds(said: object) -> float | None:
    """What somebody says of waiting, which may be the text of a header; else nothing."""
    try:
        found = float(said)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return found if 0 <= found < math.inf else None


def worst(left: Extent, right: Extent) -> Extent:
    """The worse of two extents; what certainly happened outweighs what may have (A1)."""
    return max(left, right, key=_ORDER.__getitem__)


def decide(
    effect: EffectName,
    fault: Fault,
    *,
    before: Extent,
    executions: int,
    retry: Retry,
    jitter: float,
) -> Decision:
    """What follows the failed execution number ``executions``.

    Args:
        effect: The call's effect, as recorded.
        fault: How this execution failed.
        before: The worst extent of the executions before it, crashed ones included.
        executions: How many there were in this drive, this one included.
        retry: The tool's retry settings.
        jitter: A random number in ``[0, 1)``.
    """
    extent = worst(before, fault.extent)
    if effect == "write" and extent == "unknown" and not fault.answer:
        return Open()
    ends = fault.extent == "yes" or fault.final or fault.answer
    if not ends and executions < retry.attempts:
        return Again(_delay(fault, executions, retry, jitter))
    return Fail("no" if effect == "read" else extent)


def _delay(fault: Fault, executions: int, retry: Retry, jitter: float) -> float:
    if fault.retry_after is not None and math.isfinite(fault.retry_after):
        return min(max(fault.retry_after, 0.0), MAX_RETRY_AFTER)
    return float(jitter * min(MAX_BACKOFF, retry.backoff * 2 ** (executions - 1)))
