"""Workflows and tools that the tests of the command line name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from pydantic import BaseModel

from salvor import Run, ToolFailure, WorkflowFailed, tool, workflow


class Approval(BaseModel):
    approved: bool
    note: str = ""


@tool(effect="read")
def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


@tool(effect="write", idempotency_key="order")
def charge(order: str, file: str) -> dict[str, str]:
    """Charge an order."""
    with Path(file).open("a") as ledger:
        ledger.write(f"{order}\n")
    return {"receipt": order}


@tool(effect="write")
def charge_and_lose(order: str) -> str:
    """Charge an order and lose the answer."""
    raise ToolFailure(f"the answer for {order} was lost")


@tool(effect="write")
def charge_and_die(order: str) -> str:
    """Charge an order and take the process along."""
    os.kill(os.getpid(), signal.SIGKILL)
    return order


@tool(effect="write")
def hold(started: str, go: str) -> str:
    """Say that it started, and go on as soon as it may."""
    Path(started).touch()
    while not Path(go).exists():
        time.sleep(0.01)
    return "done"


@workflow
async def total(run: Run, numbers: list[int]) -> int:
    """Add numbers, one by one."""
    result = 0
    for number in numbers:
        result = await run.call(add, left=result, right=number)
    return result


@workflow
async def ask(run: Run, order: str, file: str) -> dict[str, str]:
    """Charge an order after a yes."""
    answer = await run.suspend(f"Charge {order}?", Approval)
    if not answer.approved:
        raise WorkflowFailed(f"{order} was not approved: {answer.note}")
    return await run.call(charge, order=order, file=file)


@workflow
async def lose(run: Run, order: str) -> str:
    """Charge an order, whose answer is lost."""
    return await run.call(charge_and_lose, order=order)


@workflow
async def die(run: Run, order: str) -> str:
    """Charge an order, and die over it."""
    return await run.call(charge_and_die, order=order)


@workflow
async def slow(run: Run, started: str, go: str) -> list[str]:
    """Two calls, the first of which waits."""
    first = await run.call(hold, started=started, go=go)
    return [first, await run.call(hold, started=started, go=go)]


@workflow
async def faulty(run: Run) -> int:
    """A fault in the code."""
    return 1 // (await run.call(add, left=0, right=0))
