"""A tool that says all it knows, and a workflow that uses every step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

from salvor import INJECTED, Context, Depends, Retry, Run, ToolFailed, ToolFailure, tool, workflow


class Bank:
    """The far side, for this page: it knows what it was asked to pay."""

    def __init__(self) -> None:
        self.paid: dict[str, int] = {}

    def pay(self, key: str, cents: int) -> None:
        """Pay once for one key."""
        self.paid.setdefault(key, cents)


BANK = Bank()


class AccountClosed(Exception):
    """The bank refused, and did nothing."""


# --8<-- [start:depends]
def bank() -> Iterator[Bank]:
    """Open what a tool needs; what follows the yield closes it."""
    yield BANK
    BANK.paid.pop("C-0", None)


# --8<-- [end:depends]


# --8<-- [start:tool]
@tool(
    effect="write",
    idempotency_key="claim_id",
    claim_scope="payments",
    retry=Retry(attempts=4, backoff=0.2),
    refusals=(AccountClosed,),
    timeout=30,
)
def pay(
    claim_id: str, cents: int, *, far: Bank = Depends(bank), ctx: Context = INJECTED
) -> dict[str, str]:
    """Pay a claim."""
    if cents > 100_000:
        raise ToolFailure("above the limit of this desk", happened=False, final=True)
    if claim_id == "C-9":
        raise AccountClosed(claim_id)
    ctx.progress(0, 1, "paying")
    far.pay(ctx.idempotency_key or claim_id, cents)
    ctx.logger.info("paid, attempt %s", ctx.attempt)
    return {"receipt": claim_id}


# --8<-- [end:tool]


# --8<-- [start:inline]
@tool(effect="read", inline=True)
def uptime() -> float:
    """Seconds since the machine was started."""
    return time.monotonic()


# --8<-- [end:inline]


# --8<-- [start:workflow]
@workflow
async def settle(run: Run, claim_id: str, cents: int) -> str:
    """Ask, pay, and say when and under which number."""
    number = await run.random() % 1_000
    begun: datetime = await run.now()
    if not await run.suspend(f"Pay {claim_id}?", bool):
        return "not paid"
    try:
        receipt = await run.call(pay, claim_id=claim_id, cents=cents)
    except ToolFailed as failed:
        return f"{failed.reason} (happened: {failed.extent})"
    return f"{receipt['receipt']} on {begun:%Y-%m-%d}, number {number}"


# --8<-- [end:workflow]
