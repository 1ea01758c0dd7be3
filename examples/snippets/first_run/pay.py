"""The code of the tutorial page on the first durable run."""

# --8<-- [start:tool]
import os
import signal
from pathlib import Path

from pydantic import BaseModel

from salvor import Run, tool, workflow

LEDGER = Path("ledger.txt")


class Receipt(BaseModel):
    claim_id: str
    amount_cents: int


@tool(effect="write", idempotency_key="claim_id")
def pay_claim(claim_id: str, amount_cents: int) -> Receipt:
    """Pay an approved claim.

    Args:
        claim_id: The claim that is paid.
        amount_cents: How much, in cents.
    """
    with LEDGER.open("a") as ledger:
        ledger.write(f"{claim_id} {amount_cents}\n")
    return Receipt(claim_id=claim_id, amount_cents=amount_cents)


# --8<-- [end:tool]
# --8<-- [start:workflow]
class Claim(BaseModel):
    claim_id: str
    amount_cents: int


@workflow
async def settle(run: Run, claims: list[Claim]) -> int:
    """Pay all claims and return what they cost."""
    total = 0
    for claim in claims:
        receipt = await run.call(
            pay_claim, claim_id=claim.claim_id, amount_cents=claim.amount_cents
        )
        total += receipt.amount_cents
    return total


# --8<-- [end:workflow]
# --8<-- [start:storm]
@tool(effect="write", idempotency_key="claim_id")
def pay_in_a_storm(claim_id: str, amount_cents: int) -> Receipt:
    """Pay a claim; the power fails right after C-5 was paid."""
    receipt = pay_claim(claim_id, amount_cents)
    if claim_id == "C-5":
        os.kill(os.getpid(), signal.SIGKILL)
    return receipt


@workflow
async def settle_in_a_storm(run: Run, claims: list[Claim]) -> int:
    """Pay all claims, through a power cut."""
    total = 0
    for claim in claims:
        receipt = await run.call(
            pay_in_a_storm, claim_id=claim.claim_id, amount_cents=claim.amount_cents
        )
        total += receipt.amount_cents
    return total


# --8<-- [end:storm]
# --8<-- [start:approval]
class Approval(BaseModel):
    approved: bool


@workflow
async def settle_approved(run: Run, claims: list[Claim]) -> int:
    """Pay the claims that a person approves."""
    total = 0
    for claim in claims:
        answer = await run.suspend(f"Pay {claim.claim_id}, {claim.amount_cents} cents?", Approval)
        if answer.approved:
            receipt = await run.call(
                pay_claim, claim_id=claim.claim_id, amount_cents=claim.amount_cents
            )
            total += receipt.amount_cents
    return total


# --8<-- [end:approval]
