"""A workflow with every kind of step, whose tools write to a ledger file; run in children."""

import json
import os
from pathlib import Path

from salvor.runtime.run import Run
from salvor.runtime.workflow import workflow
from salvor.testing.crash import crash_here
from salvor.tools.context import Context
from salvor.tools.decorator import tool


def act(tool_name: str, ctx: Context) -> str:
    """One line in the ledger; the process may die before, half-way or after it."""
    line = json.dumps({"tool": tool_name, "key": ctx.idempotency_key}) + "\n"
    crash_here(tool_name, "before")
    ledger = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(ledger, line[:10].encode())
        crash_here(tool_name, "during")
        os.write(ledger, line[10:].encode())
        os.fsync(ledger)
    finally:
        os.close(ledger)
    crash_here(tool_name, "after")
    return tool_name


@tool(effect="read")
async def look(ctx: Context) -> str:
    """Look."""
    return act("look", ctx)


@tool(effect="idempotent")
def touch(ctx: Context) -> str:
    """Touch."""
    return act("touch", ctx)


@tool(effect="idempotent", idempotency_key="name")
async def mark(ctx: Context, name: str) -> str:
    """Mark."""
    return act("mark", ctx)


@tool(effect="write")
def send(ctx: Context) -> str:
    """Send."""
    return act("send", ctx)


@tool(effect="write", idempotency_key="name")
async def pay(ctx: Context, name: str) -> str:
    """Pay."""
    return act("pay", ctx)


@workflow
async def every_step(run: Run, name: str) -> list[str]:
    done = [await run.call(look)]
    await run.now()
    done.append(await run.call(touch))
    done.append(await run.call(mark, name=name))
    await run.random()
    done.append(await run.call(send))
    done.append(await run.call(pay, name=name))
    return done


TARGET = f"{Path(__file__).resolve()}:every_step"


@tool(effect="write", idempotency_key="name")
def pay_slowly(ctx: Context, name: str) -> str:
    """Pay, once somebody opens the gate (a named pipe)."""
    (Path(os.environ["GATE"]).parent / "inside").touch()
    with open(os.environ["GATE"]) as gate:
        gate.read()
    return act("pay_slowly", ctx)


@workflow
async def paying_slowly(run: Run, name: str) -> str:
    return await run.call(pay_slowly, name=name)


@workflow
async def paying(run: Run, name: str) -> str:
    return await run.call(pay, name=name)


HERE = Path(__file__).resolve()
