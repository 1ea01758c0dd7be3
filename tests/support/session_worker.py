"""A child process with a loop of its own: opens a session and makes calls as it is told.

Each order is a line of JSON, ``[name, argument...]``; each answer is a value in a list, or an
error by its code, with what the session rests at.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import anyio
import anyio.to_thread

from salvor.clock import SystemClock
from salvor.compose import open_runtime
from salvor.errors import SalvorError
from salvor.registry.registry import Registry
from salvor.runtime.runtime import Runtime
from salvor.runtime.session import Session
from salvor.stores.connect import open_store
from salvor.testing.crash import crashing
from tests.support.crash_flow import look, mark, pay, pay_slowly, send, touch


def told(error: SalvorError) -> dict[str, str]:
    """An error in JSON."""
    rests = type(getattr(error, "result", None)).__name__
    return {"error": error.code, "rests": rests, "message": str(error)}


class Orders:
    """What the process can be told to do."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._stack = AsyncExitStack()
        self._sessions: list[Session] = []

    async def open(self, name: str) -> str:
        """Open a session; its run's id."""
        session = await self._stack.enter_async_context(self._runtime.session(name))
        self._sessions.append(session)
        return session.run_id

    async def call(self, tool: str, arguments: Any, call_id: str) -> Any:
        """Make a call."""
        return await self._sessions[-1].call_named(tool, arguments, call_id=call_id)

    async def close(self) -> None:
        """End the session for good."""
        await self._sessions[-1].close("closed")

    async def leave(self) -> None:
        """Leave the block of the session."""
        await self._stack.aclose()


async def serve(path: str, options: dict[str, float]) -> None:
    """Do as told until the input ends."""
    registry = Registry()
    for tool in (look, touch, mark, send, pay, pay_slowly):
        registry.add(tool)
    store = crashing(open_store(path, clock=SystemClock()))
    opened = open_runtime(store, plugins=False, registry=registry, **options)  # type: ignore[arg-type]
    async with opened as runtime:
        orders = Orders(runtime)
        print(json.dumps("ready"), flush=True)
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            name, *arguments = json.loads(line)
            order: Callable[..., Awaitable[Any]] = getattr(orders, name)
            try:
                answer: Any = [await order(*arguments)]
            except SalvorError as error:
                answer = told(error)
            print(json.dumps(answer), flush=True)
        await orders.leave()


if __name__ == "__main__":
    anyio.run(serve, sys.argv[1], json.loads(sys.argv[2]))
