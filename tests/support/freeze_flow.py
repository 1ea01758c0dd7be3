"""Tools that fail first, park their runs or take long, for children that are frozen or killed."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio.lowlevel

from salvor import Context, Run, Slept, ToolFailure, sleep_until, suspend, tool, workflow
from salvor.testing.crash import crash_here
from tests.support.crash_flow import act

HERE = Path(__file__).resolve()


def _stumble(ctx: Context, name: str, *, happened: bool | None) -> str:
    """Fail the first time; where the process is to freeze, it does so while the retry waits."""
    first = not Path(os.environ["LEDGER"]).exists()
    done = act(name, ctx)
    if first:
        import asyncio

        asyncio.get_running_loop().call_later(0.2, crash_here, "back-off", "during")
        raise ToolFailure("not now", happened=happened, retry_after=1.5)
    return done


@tool(effect="idempotent")
async def touch_twice(ctx: Context) -> str:
    """Touch; the first time nobody knows whether it worked."""
    return _stumble(ctx, "touch_twice", happened=None)


@tool(effect="write")
async def send_twice(ctx: Context) -> str:
    """Send; the first time it certainly did not work."""
    return _stumble(ctx, "send_twice", happened=False)


@workflow
async def touching(run: Run, name: str) -> str:
    return await run.call(touch_twice)


@workflow
async def sending(run: Run, name: str) -> str:
    return await run.call(send_twice)


@workflow
async def asking_twice(run: Run, name: str) -> list[str]:
    return [await run.suspend("first?", str), await run.suspend("second?", str)]


@workflow
async def asking_in_time(run: Run, name: str) -> str:
    """Ask, with a deadline that the variable sets (seconds) and a default."""
    deadline = await run.now() + timedelta(seconds=float(os.environ["DEADLINE"]))
    return await run.suspend("go on?", str, deadline=deadline, default="default")


@tool(effect="write", idempotency_key="name")
async def book(ctx: Context, name: str) -> str:
    """Book, and ask which seat."""
    act("book", ctx)
    return suspend("which seat?", str)


@tool(effect="write", idempotency_key="name")
async def rest(ctx: Context, name: str) -> Slept:
    """Begin something that takes until an instant."""
    act("rest", ctx)
    return sleep_until(datetime.now(UTC) + timedelta(seconds=0.5))


@tool(effect="write", idempotency_key="name")
async def pay(ctx: Context, name: str) -> str:
    """Pay."""
    await anyio.lowlevel.checkpoint()
    return act("pay", ctx)


@workflow
async def booking(run: Run, name: str) -> str:
    return await run.call(book, name=name)


@workflow
async def resting(run: Run, name: str) -> str:
    await run.call(rest, name=name)
    return "rested"


@workflow
async def paying(run: Run, name: str) -> str:
    return await run.call(pay, name=name)
