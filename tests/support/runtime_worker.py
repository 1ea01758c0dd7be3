"""A child process with a runtime of its own on a store: does as it is told, line by line.

Each order is a line of JSON, ``[name, argument...]``; each answer is the kind of a result, a
mapping of them by run, or an error by its code.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio.lowlevel
import anyio.to_thread

from salvor.compose import open_runtime
from salvor.errors import Extent, SalvorError
from salvor.runtime.resolve import NotDone
from salvor.runtime.runtime import Runtime
from tests.support import freeze_flow


def told(result: Any) -> Any:
    """A result or an error in JSON."""
    if isinstance(result, str):
        return result
    if isinstance(result, dict):
        return {run_id: told(one) for run_id, one in result.items()}
    if isinstance(result, SalvorError):
        return {"error": result.code, "message": str(result)}
    output = getattr(result, "recorded", None)
    return [type(result).__name__, output] if output is not None else [type(result).__name__]


class Orders:
    """What the process can be told to do."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    async def start(self, workflow: str, run_id: str, name: str) -> Any:
        """Start a run of one of the workflows."""
        target = getattr(freeze_flow, workflow)
        return await self._runtime.start(target, {"name": name}, run_id=run_id)

    async def resume(self, run_id: str) -> Any:
        """Resume a run."""
        return await self._runtime.resume(run_id)

    async def answer(self, run_id: str, answer: str, park: int) -> Any:
        """Answer a park."""
        return await self._runtime.answer(run_id, answer, park=park)

    async def wake(self, run_id: str) -> Any:
        """Wake a run whose moment has come."""
        return await self._runtime.wake(run_id)

    async def wake_due(self) -> Any:
        """Let go on whatever may."""
        return await self._runtime.wake_due()

    async def cancel(self, run_id: str) -> Any:
        """Cancel a run."""
        return await self._runtime.cancel(run_id, reason="no longer wanted", by="tests")

    async def abandon(self, run_id: str, happened: Extent) -> Any:
        """Abandon a run, with the word that its driver is dead."""
        return await self._runtime.abandon(
            run_id, reason="given up", happened=happened, worker_dead=True
        )

    async def deadline(self, run_id: str) -> Any:
        """Until when the park of a run may be answered."""
        park = (await self._runtime.state(run_id)).park
        assert park is not None
        return park.deadline

    async def at(self, instant: str, early: float, name: str, *arguments: Any) -> Any:
        """Do something so many seconds before an instant."""
        moment = datetime.fromisoformat(instant) - timedelta(seconds=early)
        while datetime.now(UTC) < moment:
            await anyio.lowlevel.checkpoint()
        return await getattr(self, name)(*arguments)

    async def not_done(self, run_id: str) -> Any:
        """Say that an open write never happened, and that its driver is dead."""
        return await self._runtime.resolve(run_id, NotDone(worker_dead=True))


async def serve(path: str, options: dict[str, float]) -> None:
    """Do as told until the input ends."""
    async with open_runtime(path, plugins=False, **options) as runtime:  # type: ignore[arg-type]
        orders = Orders(runtime)
        print(json.dumps("ready"), flush=True)
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            name, *arguments = json.loads(line)
            order: Callable[..., Awaitable[Any]] = getattr(orders, name)
            try:
                answer = told(await order(*arguments))
            except SalvorError as error:
                answer = told(error)
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    anyio.run(serve, sys.argv[1], json.loads(sys.argv[2]))
