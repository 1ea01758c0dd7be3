"""What a program with one tool does: register a function and call it."""

from __future__ import annotations

import asyncio

from benchmarks.peers.case import TEXT, pay
from benchmarks.peers.catalogue import load


def once(name: str, path: int = 0) -> None:
    """Register `pay` with one side and call it, in the order of its ways to call."""
    asyncio.run(_once(name, path))


async def _once(name: str, path: int) -> None:
    async with load(name).calls[path].open(pay) as calls:
        await calls(TEXT, 1)
