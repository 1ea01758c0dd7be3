"""The reference workflow: every primitive once, in a world that is a file of lines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from salvor import Context, Run, Slept, sleep_until, spec, suspend, tool, workflow
from tests.support.crash_flow import act

TARGET = f"{Path(__file__).resolve()}:reference"
PAST = datetime(2026, 1, 1, tzinfo=UTC)


@tool(effect="read")
async def look(ctx: Context) -> str:
    """Look."""
    return act("look", ctx)


@tool(effect="idempotent")
def touch(ctx: Context) -> str:
    """Touch."""
    return act("touch", ctx)


@tool(effect="write", idempotency_key="name")
async def pay(ctx: Context, name: str) -> str:
    """Pay."""
    return act("pay", ctx)


@tool(effect="write", approval=True)
async def launch(ctx: Context) -> str:
    """Launch, once somebody said yes."""
    return act("launch", ctx)


@tool(effect="write", idempotency_key="name")
async def book(ctx: Context, name: str) -> str:
    """Book, and ask which seat."""
    act("book", ctx)
    return suspend("which seat?", str)


@tool(effect="idempotent")
async def rest(ctx: Context) -> Slept:
    """Rest until an instant that has passed."""
    act("rest", ctx)
    return sleep_until(PAST)


@workflow
async def reference(run: Run, name: str) -> list[str]:
    now = await run.now()
    await run.random()
    seen = await run.gather(spec(look), spec(look))
    await run.call(touch)
    paid = await run.options(timeout=30).call(pay, name=name)
    answer = await run.suspend("go on?", str)
    word = await run.signal("word", str)
    await run.sleep_until(now - timedelta(seconds=1))
    launched = await run.call(launch)
    seat = await run.call(book, name=name)
    rested = await run.call(rest)
    return [*seen, paid, answer, word, launched, seat, rested.slept_until.isoformat()]
