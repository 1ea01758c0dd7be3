"""The same call within a run: written ahead and recorded, in a store that is in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.peers.case import Function
from benchmarks.peers.peer import Calls
from salvor.compose import open_runtime
from salvor.config import Config
from salvor.registry.registry import Registry
from salvor.runtime.outcome import Completed
from salvor.runtime.run import Run
from salvor.runtime.workflow import workflow
from salvor.values import parse_object


@workflow
async def calling(run: Run, name: str, text: str, count: int) -> str:
    last: object = None
    for _ in range(count):
        last = await run.call_named(name, parse_object(text))
    return repr(last)


@asynccontextmanager
async def opened(function: Function) -> AsyncIterator[Calls]:
    registry = Registry()
    name = registry.add_function(function, effect="write").name

    async with open_runtime(
        "memory:", registry=registry, plugins=False, config=Config()
    ) as runtime:

        async def many(text: str, count: int) -> object:
            result = await runtime.run(calling, name=name, text=text, count=count)
            if not isinstance(result, Completed):
                raise RuntimeError(f"The run did not complete: {result}")
            return result.output

        yield many
