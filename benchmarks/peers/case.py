"""What every side is given: one function, its arguments as JSON text, and texts to refuse."""

import inspect
from collections.abc import Awaitable, Callable
from types import FunctionType
from typing import Any, TypeAlias

from pydantic import BaseModel

Function: TypeAlias = Callable[..., Awaitable[Any]]

TEXT = '{"claim_id":"claim-17","amount_cents":1250,"urgent":true,"tags":["a","b"]}'
DOCUMENTED = "How much, in cents."
REFUSABLE = {
    "wrong type": '{"claim_id":"claim-17","amount_cents":"much"}',
    "true as number": '{"claim_id":"claim-17","amount_cents":true}',
    "extra argument": '{"claim_id":"claim-17","amount_cents":1250,"speed":9}',
    "named twice": '{"claim_id":"claim-17","amount_cents":1,"amount_cents":1250}',
}


class Receipt(BaseModel):
    """What was paid."""

    claim_id: str
    cents: int


async def pay(
    claim_id: str, amount_cents: int, urgent: bool = False, tags: list[str] | None = None
) -> Receipt:
    """Pay an approved claim.

    Args:
        claim_id: Which claim.
        amount_cents: How much, in cents.
        urgent: Whether to hurry.
        tags: Words to find it by.
    """
    return Receipt(claim_id=claim_id, cents=amount_cents)


async def pay_badly(
    claim_id: str, amount_cents: int, urgent: bool = False, tags: list[str] | None = None
) -> Receipt:
    """Give back what is no receipt.

    Args:
        claim_id: Which claim.
        amount_cents: How much, in cents.
        urgent: Whether to hurry.
        tags: Words to find it by.
    """
    wrong: Any = {"claim_id": claim_id}
    return wrong  # type: ignore[no-any-return]  # that is the point


def copies(count: int) -> list[Function]:
    """Functions like `pay` under names of their own, that nobody has seen before."""
    return [_copy(f"pay_{index:04}") for index in range(count)]


def _copy(name: str) -> Function:
    assert inspect.isfunction(pay)
    copy = FunctionType(pay.__code__, pay.__globals__, name, pay.__defaults__)
    copy.__doc__, copy.__annotations__ = pay.__doc__, dict(pay.__annotations__)
    copy.__module__, copy.__qualname__ = pay.__module__, name
    return copy
