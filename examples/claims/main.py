"""Pay a file of claims, whatever happens on the way: run it, kill it, run it again.

    python main.py claims.csv

The run's id comes from the file's path, so the same command starts the run or goes on with
it. Only `salvor`'s public names are used.
"""

from __future__ import annotations

import asyncio
import csv
import json
import os
import sys
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

from pydantic import BaseModel

from salvor import (
    Completed,
    Failed,
    OpenWrite,
    Parked,
    Run,
    RunResult,
    SalvorError,
    open_runtime,
    tool,
    workflow,
)

LEDGER = Path("ledger.jsonl")


class Claim(BaseModel):
    claim_id: str
    amount_cents: int
    currency: str


class Receipt(BaseModel):
    payment_id: str
    claim_id: str
    amount_cents: int
    currency: str


class Summary(BaseModel):
    claims: int
    paid_cents: dict[str, int]


@tool(effect="write", idempotency_key="claim_id")
def pay_claim(claim_id: str, amount_cents: int, currency: str) -> Receipt:
    """Pay an approved claim.

    Args:
        claim_id: The claim that is paid.
        amount_cents: How much, in hundredths of the currency.
        currency: Three capital letters.
    """
    receipt = Receipt(
        payment_id=str(uuid4()),
        claim_id=claim_id,
        amount_cents=amount_cents,
        currency=currency,
    )
    with LEDGER.open("ab", buffering=0) as ledger:
        ledger.write(receipt.model_dump_json().encode() + b"\n")
        os.fsync(ledger.fileno())
    return receipt


@workflow
async def settle_claims(run: Run, claims: list[Claim]) -> Summary:
    """Pay every claim, one after the other."""
    paid: dict[str, int] = {}
    for claim in claims:
        receipt = await run.call(
            pay_claim,
            claim_id=claim.claim_id,
            amount_cents=claim.amount_cents,
            currency=claim.currency,
        )
        paid[receipt.currency] = paid.get(receipt.currency, 0) + receipt.amount_cents
    return Summary(claims=len(claims), paid_cents=paid)


def read(path: Path) -> list[Claim]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        Claim(
            claim_id=row["claim_id"],
            amount_cents=int(row["amount_cents"]),
            currency=row["currency"],
        )
        for row in rows
    ]


async def settle(claims: list[Claim], run_id: str) -> RunResult[Summary]:
    """Start the run, or go on with it."""
    given: dict[str, Any] = {"claims": [claim.model_dump() for claim in claims]}
    async with open_runtime(store="./claims.db") as runtime:
        try:
            return await runtime.start(settle_claims, given, run_id=run_id)
        except SalvorError as error:
            if error.code != "run_exists":
                raise
            return await runtime.resume(run_id, settle_claims)


def main() -> int:
    path = Path(sys.argv[1])
    run_id = str(uuid5(NAMESPACE_URL, path.resolve().as_uri()))
    result = asyncio.run(settle(read(path), run_id))
    match result:
        case Completed(output=summary):
            print(f"{summary.claims} claims are paid: {json.dumps(summary.paid_cents)}")
            return 0
        case OpenWrite(run_id=run_id, arguments=arguments):
            print(f"Was {json.dumps(arguments)} paid? Look into {LEDGER}, then say so with")
            print(f"  salvor --store ./claims.db resolve {run_id} --help")
        case Parked(run_id=run_id, reason=reason):
            print(f"Run {run_id} waits: {reason}")
        case Failed(error=error):
            print(f"The run failed: {error}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
