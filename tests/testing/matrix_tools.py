"""Tools and workflows that keep their promise, and others that do not."""

from __future__ import annotations

import os
from pathlib import Path

from salvor.runtime.run import Run
from salvor.runtime.workflow import workflow
from salvor.testing.crash import crash_here
from salvor.testing.ledger import Ledger
from salvor.tools.context import Context
from salvor.tools.decorator import tool


@tool(effect="read")
def look(claim: str) -> str:
    """Look."""
    return claim


@tool(effect="read")
def look_and_write(claim: str) -> str:
    """Look, it says."""
    Path("seen").write_text(claim)
    return claim


@tool(effect="read")
def look_and_enter(claim: str) -> str:
    """Look, it says."""
    Ledger.here().enter(f"seen {claim}")
    return claim


@tool(effect="idempotent")
async def mark(ctx: Context, claim: str) -> str:
    """Mark."""
    Ledger.here().enter(claim, key=ctx.idempotency_key)
    return "marked"


@tool(effect="idempotent")
async def mark_again(claim: str) -> str:
    """Mark, and never mind the key."""
    Ledger.here().enter(claim)
    return "marked"


@tool(effect="idempotent")
def mark_and_mail(ctx: Context, claim: str) -> str:
    """Mark, and do something else beside it."""
    Ledger.here().enter(claim, key=ctx.idempotency_key)
    Ledger.here().enter(f"mail about {claim}")
    return "marked"


@tool(effect="write", idempotency_key="claim")
def pay(claim: str) -> str:
    """Pay."""
    Ledger.here().enter(claim)
    return "paid"


@tool(effect="write", approval=True)
def pay_if_allowed(claim: str) -> str:
    """Pay, when somebody said yes."""
    Ledger.here().enter(claim)
    return "paid"


@tool(effect="write")
def forget(claim: str) -> str:
    """Do nothing that anybody could see."""
    return claim


@tool(effect="write")
def file(claim: str) -> str:
    """Write to a file of its own, in two steps."""
    with open(os.environ["FILE"], "a") as out:
        crash_here("filing", "before")
        out.write(claim)
        out.flush()
        crash_here("filing", "during")
        out.write("\n")
    crash_here("filing", "after")
    return "filed"


def filed(folder: Path) -> int:
    path = folder / "filed"
    return path.read_text().count("\n") if path.exists() else 0


@workflow
async def settle(run: Run, claim: str) -> str:
    await run.call(look, claim)
    answer = await run.suspend(f"Pay {claim}?", bool)
    if not answer:
        return "refused"
    await run.call(mark, claim)
    return await run.call(pay, claim)


@workflow
async def settle_by_a_liar(run: Run, claim: str) -> str:
    await run.call(look_and_enter, claim)
    return await run.call(pay, claim)


@workflow
async def another_way_each_time(run: Run, claim: str) -> str:
    await run.call(look, f"{claim} of {os.getpid()}")
    return claim


@workflow
async def an_effect_of_its_own(run: Run, claim: str) -> str:
    Ledger.here().enter(claim)
    return await run.call(look, claim)


@workflow
async def never_ends(run: Run, claim: str) -> str:
    raise RuntimeError(f"no {claim}")
