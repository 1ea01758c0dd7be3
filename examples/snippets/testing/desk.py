"""A tool that pays claims at a bank, and the workflow that asks first."""

import os
from typing import Protocol

from salvor import Context, Depends, Run, tool, workflow


# --8<-- [start:tool]
class Bank(Protocol):
    def enter(self, text: str, *, key: str | None = None) -> bool: ...


def open_bank() -> Bank:
    if os.environ.get("BANK") == "test":
        from salvor.testing.ledger import Ledger

        return Ledger.here()
    raise NotImplementedError("this desk has no bank yet")


@tool(effect="idempotent", idempotency_key="claim_id")
def pay_claim(ctx: Context, claim_id: str, cents: int, *, bank: Bank = Depends(open_bank)) -> str:
    """Pay an approved claim.

    Args:
        claim_id: Which claim.
        cents: How much, in cents.
    """
    bank.enter(f"{claim_id}: {cents}", key=ctx.idempotency_key)
    return f"{claim_id} is paid"


# --8<-- [end:tool]
# --8<-- [start:workflow]
@workflow
async def settle(run: Run, claim_id: str, cents: int) -> str:
    if not await run.suspend(f"Pay {claim_id}?", bool):
        return f"{claim_id} is refused"
    return await run.call(pay_claim, claim_id=claim_id, cents=cents)


# --8<-- [end:workflow]
