"""The main job: one tool that pays a claim, one workflow that pays them all."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from pydantic import BaseModel

from salvor.demo.claims import Claim
from salvor.demo.ledger import append_payment
from salvor.runtime.run import Run
from salvor.runtime.workflow import workflow
from salvor.tools.decorator import tool


class Receipt(BaseModel):
    """One payment, as the ledger holds it."""

    payment_id: str
    claim_id: str
    amount_cents: int
    currency: str


class Summary(BaseModel):
    """What a whole run paid, in cents of each currency."""

    claims: int
    paid_cents: dict[str, int]


@tool(effect="write", idempotency_key="claim_id")
def pay_claim(claim_id: str, amount_cents: int, currency: str, ledger: str) -> Receipt:
    """Pay an approved claim.

    Args:
        claim_id: The claim that is paid.
        amount_cents: How much, in hundredths of the currency.
        currency: Three capital letters.
        ledger: The file that the payment is written to.
    """
    receipt = Receipt(
        payment_id=str(uuid4()),
        claim_id=claim_id,
        amount_cents=amount_cents,
        currency=currency,
    )
    append_payment(Path(ledger), receipt.model_dump())
    return receipt


@workflow
async def settle_claims(run: Run, claims: list[Claim], ledger: str) -> Summary:
    """Pay every claim, one after the other."""
    paid: dict[str, int] = {}
    for claim in claims:
        receipt = await run.call(
            pay_claim,
            claim_id=claim.claim_id,
            amount_cents=claim.amount_cents,
            currency=claim.currency,
            ledger=ledger,
        )
        paid[receipt.currency] = paid.get(receipt.currency, 0) + receipt.amount_cents
    return Summary(claims=len(claims), paid_cents=paid)
