"""Tools of a claims desk."""

# --8<-- [start:find]
from typing import Annotated

from pydantic import BaseModel, Field

from salvor import tool


class Claim(BaseModel):
    id: str
    damage: str
    amount_cents: int


CLAIMS = [
    Claim(id="C-1", damage="Hail on the roof", amount_cents=12000),
    Claim(id="C-2", damage="Water in the cellar", amount_cents=4550),
    Claim(id="C-3", damage="Hail on the car", amount_cents=900),
]


@tool(effect="read")
def find_claims(text: Annotated[str, Field(examples=["hail"])], limit: int = 20) -> list[Claim]:
    """Find claims by a text in their damage.

    Args:
        text: What to look for, in capital or small letters.
        limit: How many to give back at most.
    """
    return [claim for claim in CLAIMS if text.lower() in claim.damage.lower()][:limit]


# --8<-- [end:find]
# --8<-- [start:close]
from pathlib import Path  # noqa: E402

from salvor import Context, ToolFailure  # noqa: E402


@tool(effect="write", idempotency_key="claim_id")
def close_claim(ctx: Context, claim_id: str, reason: str) -> str:
    """Close a claim for good.

    Args:
        claim_id: Which claim, such as C-1.
        reason: Why; the claimant reads it.
    """
    if claim_id not in {claim.id for claim in CLAIMS}:
        raise ToolFailure(f"there is no claim {claim_id}", happened=False, final=True)
    with Path("closed.txt").open("a") as closed:
        closed.write(f"{claim_id}: {reason} [{ctx.idempotency_key}]\n")
    return f"{claim_id} is closed"


# --8<-- [end:close]
