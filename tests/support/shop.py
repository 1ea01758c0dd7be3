"""Tools and workflows that the runtime's tests drive; the world they touch is a list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import BaseModel

from salvor.errors import ToolFailure
from salvor.runtime.run import Run
from salvor.runtime.workflow import workflow
from salvor.tools.context import Context
from salvor.tools.contract import Retry
from salvor.tools.decorator import tool


class Receipt(BaseModel):
    claim_id: str
    cents: int


@dataclass
class World:
    """What the tools did, and what they are told to do next."""

    log: list[str] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    trouble: list[Exception | None] = field(default_factory=list)
    inside: Callable[[Context], object] | None = None

    def act(self, what: str, ctx: Context) -> None:
        self.keys.append(ctx.idempotency_key)
        if self.inside is not None:
            self.inside(ctx)
        if self.trouble:
            error = self.trouble.pop(0)
            if error is not None:
                raise error
        self.log.append(what)


WORLD = World()


def fresh_world() -> World:
    WORLD.log, WORLD.keys, WORLD.trouble, WORLD.inside = [], [], [], None
    return WORLD


NO_WAIT = Retry(attempts=3, backoff=0.0)


@tool(effect="read", retry=NO_WAIT)
async def look(ctx: Context, claim_id: str) -> str:
    """Look a claim up."""
    WORLD.act(f"look {claim_id}", ctx)
    return f"seen {claim_id}"


@tool(effect="idempotent", retry=NO_WAIT)
def notify(ctx: Context, claim_id: str) -> str:
    """Tell the claimant."""
    WORLD.act(f"notify {claim_id}", ctx)
    return "told"


@tool(effect="idempotent", idempotency_key="claim_id", retry=NO_WAIT)
async def mark(ctx: Context, claim_id: str, note: str = "") -> str:
    """Mark a claim."""
    WORLD.act(f"mark {claim_id}", ctx)
    return f"marked {claim_id}"


@tool(effect="write", retry=NO_WAIT)
async def send(ctx: Context, claim_id: str) -> str:
    """Send a letter."""
    WORLD.act(f"send {claim_id}", ctx)
    return "sent"


@tool(effect="write", idempotency_key="claim_id", retry=NO_WAIT)
def pay(ctx: Context, claim_id: str, cents: int) -> Receipt:
    """Pay a claim."""
    WORLD.act(f"pay {claim_id}", ctx)
    return Receipt(claim_id=claim_id, cents=cents)


@tool(effect="write", refusals=(KeyError,))
async def guarded(ctx: Context) -> str:
    """Write, and refuse with a KeyError."""
    WORLD.act("guarded", ctx)
    return "done"


@tool(effect="write", exceptions="failed")
async def answering(ctx: Context) -> str:
    """Write; any exception is an answer."""
    WORLD.act("answering", ctx)
    return "done"


@tool(effect="write")
async def mistyped(ctx: Context) -> int:
    """Write, and return what was not promised."""
    WORLD.act("mistyped", ctx)
    return "three"  # type: ignore[return-value]


@workflow
async def paying(run: Run, claim_id: str, cents: int = 100) -> Receipt:
    return await run.call(pay, claim_id=claim_id, cents=cents)


@workflow
async def sending(run: Run) -> str:
    return await run.call(send, "c1")


@workflow
async def looking(run: Run) -> str:
    return await run.call(look, "c1")


@workflow
async def marking(run: Run, claim_id: str = "c1", note: str = "") -> str:
    return await run.call(mark, claim_id=claim_id, note=note)


@workflow
async def notifying(run: Run) -> str:
    return await run.call(notify, "c1")


def happened(what: bool | None, *, final: bool = False) -> ToolFailure:
    return ToolFailure("declined", happened=what, final=final)
