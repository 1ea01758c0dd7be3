"""One call in memory, without a run: the argument pipeline, the body, the output check.

Against bare pydantic: validate the JSON text, call the function, dump the result.
"""

from __future__ import annotations

import asyncio
import logging
import statistics
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter

from pydantic import BaseModel

from salvor.tools.context import Context
from salvor.tools.decorator import tool
from salvor.tools.function import function_tool
from salvor.values import canonical_json

ROUNDS = 15
CALLS = 2000

TEXT = '{"claim_id":"claim-17","amount_cents":1250,"urgent":true,"tags":["a","b"]}'


class Arguments(BaseModel):
    claim_id: str
    amount_cents: int
    urgent: bool = False
    tags: list[str] = []


class Receipt(BaseModel):
    claim_id: str
    cents: int


@tool(effect="write", idempotency_key="claim_id")
async def pay(
    claim_id: str, amount_cents: int, urgent: bool = False, tags: list[str] | None = None
) -> Receipt:
    """Pay a claim."""
    return Receipt(claim_id=claim_id, cents=amount_cents)


@dataclass(frozen=True, slots=True)
class Pair:
    """Microseconds a call of both sides, and the median ratio of paired rounds."""

    ours: float
    bare: float
    ratio: float


async def compare() -> dict[str, Pair]:
    """The pydantic part alone, and the whole call."""
    called = function_tool(pay)
    context = Context(
        run_id="r",
        position=1,
        attempt=1,
        epoch=1,
        idempotency_key="k",
        logger=logging.getLogger(__name__),
    )

    async def bare_validate() -> None:
        Arguments.model_validate_json(TEXT)

    async def our_validate() -> None:
        called.input.validate(TEXT, strict=True)

    async def bare_call() -> None:
        arguments = Arguments.model_validate_json(TEXT)
        receipt = await pay(**arguments.__dict__)
        receipt.model_dump_json()

    async def our_call() -> None:
        prepared = called.prepare_text(TEXT)
        called.key(prepared.arguments)
        args, kwargs = called.arguments(prepared.values, context, {})
        canonical_json(called.encode_output(await pay(*args, **kwargs)))

    return {
        "pydantic part": await _paired(our_validate, bare_validate),
        "whole call": await _paired(our_call, bare_call),
    }


async def _paired(ours: Callable[[], Awaitable[None]], bare: Callable[[], Awaitable[None]]) -> Pair:
    pairs = [(await _micros(ours), await _micros(bare)) for _ in range(ROUNDS)]
    return Pair(
        ours=statistics.median(our for our, _ in pairs),
        bare=statistics.median(raw for _, raw in pairs),
        ratio=statistics.median(our / raw for our, raw in pairs),
    )


async def _micros(call: Callable[[], Awaitable[None]]) -> float:
    started = perf_counter()
    for _ in range(CALLS):
        await call()
    return (perf_counter() - started) / CALLS * 1e6


if __name__ == "__main__":
    for name, pair in asyncio.run(compare()).items():
        print(f"{name}: {pair}")
