"""A workflow of every primitive, and the outside world it acts on: a file of lines."""

from __future__ import annotations

import os
import time
from datetime import timedelta

from salvor import Context, Run, spec, tool, workflow

LEDGER = "CHAOS_LEDGER"


def act(line: str) -> None:
    """Do it: one line, in one write that other processes do not cut into."""
    descriptor = os.open(os.environ[LEDGER], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, f"{line}\n".encode())
    finally:
        os.close(descriptor)


def dawdle() -> None:
    """Give whoever kills a moment to do it inside."""
    time.sleep(0.01)


@tool(effect="read")
def look(run: str) -> str:
    """Look."""
    act(f"look {run}")
    return run


@tool(effect="idempotent")
def put(ctx: Context, run: str) -> str:
    """Put."""
    dawdle()
    act(f"put {run} {ctx.idempotency_key}")
    return "put"


@tool(effect="write")
def send(run: str) -> str:
    """Send."""
    dawdle()
    act(f"send {run}")
    dawdle()
    return "sent"


@tool(effect="write", idempotency_key="order")
def pay(order: str) -> str:
    """Pay."""
    dawdle()
    act(f"pay {order}")
    dawdle()
    return "paid"


@workflow
async def settle(run: Run, number: int) -> dict[str, str | int]:
    """Every primitive once; two runs share an order."""
    name = f"r{number}"
    began = await run.now()
    lot = await run.random()
    await run.gather(spec(look, name), spec(look, name))
    await run.call(put, name)
    await run.sleep_until(began + timedelta(milliseconds=50))
    paid = await run.call(pay, f"o{number // 2}")
    word = await run.signal("go", str)
    sent = await run.call(send, name)
    return {"paid": paid, "word": word, "sent": sent, "lot": str(lot)}
