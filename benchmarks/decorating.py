"""What declaring and registering a tool costs."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from types import FunctionType

from pydantic import create_model

from salvor.tools.decorator import tool
from salvor.tools.function import function_tool

ROUNDS = 15
CALLS = 200


def pay(claim_id: str, amount_cents: int, urgent: bool = False) -> str:
    """Pay a claim.

    Args:
        claim_id: Which claim.
        amount_cents: How much.
        urgent: Whether to hurry.
    """
    return claim_id


@dataclass(frozen=True, slots=True)
class Figures:
    """Microseconds, and registering as a ratio to ``create_model`` and its schema."""

    decorate: float
    register: float
    bare: float
    ratio: float


def compare() -> Figures:
    """Decorating, and registering beside bare pydantic."""
    declared = tool(effect="write")(pay)
    pairs = [
        (_micros(lambda: function_tool(declared).input_schema), _micros(_bare))
        for _ in range(ROUNDS)
    ]
    return Figures(
        decorate=statistics.median(_decorating() for _ in range(9)),
        register=statistics.median(our for our, _ in pairs),
        bare=statistics.median(raw for _, raw in pairs),
        ratio=statistics.median(our / raw for our, raw in pairs),
    )


def _decorating() -> float:
    copies = [FunctionType(pay.__code__, globals(), "pay") for _ in range(CALLS)]
    for copy in copies:
        copy.__doc__, copy.__annotations__ = pay.__doc__, pay.__annotations__
    fresh = iter(copies)
    return _micros(lambda: tool(effect="write")(next(fresh)))


def _bare() -> object:
    model = create_model("pay", claim_id=(str, ...), amount_cents=(int, ...), urgent=(bool, False))
    return model.model_json_schema()


def _micros(call: Callable[[], object]) -> float:
    started = perf_counter()
    for _ in range(CALLS):
        call()
    return (perf_counter() - started) / CALLS * 1e6
