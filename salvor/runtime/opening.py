"""Opening one dependency, of whatever form."""

from __future__ import annotations

import inspect
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any

from salvor.runtime.bodies import BodyThreads
from salvor.tools.injection import Dependency


async def open_dependency(
    stack: AsyncExitStack, dependency: Dependency, threads: BodyThreads
) -> Any:
    """Open a function's or generator's value; its clean-up goes on the stack.

    Synchronous code runs in a thread.
    """
    provider = dependency.dependency
    if inspect.isasyncgenfunction(provider):
        return await stack.enter_async_context(asynccontextmanager(provider)())
    if inspect.isgeneratorfunction(provider):
        manager = contextmanager(provider)()
        value = await threads.run(manager.__enter__)

        async def leave(*error: Any) -> bool | None:
            return await threads.run(lambda: manager.__exit__(*error))

        stack.push_async_exit(leave)
        return value
    if inspect.iscoroutinefunction(provider):
        return await provider()
    return await threads.run(provider)
