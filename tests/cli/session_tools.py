"""Tools that a loop of somebody's own calls in its session."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from salvor.errors import ToolFailure
from salvor.tools.decorator import tool
from salvor.tools.parking import sleep_until, suspend


@tool(effect="read")
async def look() -> str:
    """Look."""
    return "seen"


@tool(effect="write")
async def lose() -> str:
    """Lose the answer."""
    raise ToolFailure("no answer")


@tool(effect="write", approval=True)
async def launch() -> str:
    """Launch."""
    return "up"


@tool(effect="write")
async def choose() -> str:
    """Ask somebody."""
    return suspend("which seat?", str)


@tool(effect="read")
async def bank() -> str:
    """Wait for the bank."""
    return suspend("bank", str, signal=True)


@tool(effect="read")
async def nap() -> Any:
    """Go on tomorrow."""
    return sleep_until(datetime.now(UTC) + timedelta(days=1))
