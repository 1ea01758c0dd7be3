"""Workflows that park, for the tests of the command line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from salvor import Run, ToolFailed, ToolFailure, tool, workflow

PAST = datetime(2026, 1, 1, tzinfo=UTC)


@tool(effect="write", idempotency_key="order")
def ship(order: str, file: str) -> str:
    """Ship an order."""
    with Path(file).open("a") as ledger:
        ledger.write(f"{order}\n")
    return f"shipped {order}"


@tool(effect="write", idempotency_key="order")
def ship_and_lose(order: str) -> str:
    """Ship an order and lose the answer."""
    raise ToolFailure("the answer was lost")


@workflow
async def shipping(run: Run, order: str, file: str) -> str:
    try:
        return await run.call(ship, order=order, file=file)
    except ToolFailed as failed:
        return failed.reason


@workflow
async def losing(run: Run, order: str) -> str:
    return await run.call(ship_and_lose, order=order)


@workflow
async def paid(run: Run) -> int:
    return await run.signal("paid", int)


@workflow
async def asked(run: Run) -> str:
    return await run.suspend("Which seat?", str)


@workflow
async def napping(run: Run) -> str:
    await run.suspend("ready?", bool, deadline=PAST, default=True)
    await run.sleep_until(datetime.now(UTC) + timedelta(days=365))
    return "awake"
