from pathlib import Path

from salvor import Run, tool, workflow


@tool(effect="write", idempotency_key="claim_id")
def pay_claim(claim_id: str, amount_cents: int) -> str:
    """Pay an approved claim and return the payment's number."""
    with Path("ledger.txt").open("a") as ledger:
        ledger.write(f"{claim_id} {amount_cents}\n")
    return f"payment of {claim_id}"


@workflow
async def settle(run: Run, claims: dict[str, int]) -> list[str]:
    """Ask once, then pay every claim."""
    if not await run.suspend(f"Pay {len(claims)} claims?", bool):
        return []
    return [await run.call(pay_claim, claim_id=c, amount_cents=n) for c, n in claims.items()]
