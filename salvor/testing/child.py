"""The child of `salvor.testing.crash`: drives one run once and prints how it ended."""

from __future__ import annotations

import json
import sys
from dataclasses import fields, is_dataclass
from typing import Any

import anyio

from salvor.clock import SystemClock
from salvor.compose import open_runtime
from salvor.errors import SalvorError
from salvor.runtime.parks import MISSING
from salvor.runtime.runtime import Runtime
from salvor.runtime.targets import load_target
from salvor.stores.connect import open_store
from salvor.testing.crash import crashing


async def drive(order: dict[str, Any]) -> dict[str, Any]:
    """Start the run if its log is empty, else resume it; errors come back by code."""
    store = crashing(open_store(order["store"], clock=SystemClock()))
    async with open_runtime(store, plugins=False, **order["options"]) as runtime:
        try:
            return _told(await _drive(runtime, order))
        except SalvorError as error:
            return {"kind": "error", "code": error.code, "message": str(error)}


async def _drive(runtime: Runtime, order: dict[str, Any]) -> Any:
    workflow = load_target(order["target"])
    run_id = order["run_id"]
    started = {row.run_id for row in await runtime.list(limit=1000) if row.events}
    if run_id not in started:
        return await runtime.start(workflow, order["input"], run_id=run_id)
    answer = order["answer"][0] if order["answer"] else MISSING
    return await runtime.resume(run_id, workflow, answer=answer)


def _told(result: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"kind": type(result).__name__}
    for field in fields(result):
        value = getattr(result, field.name)
        if not is_dataclass(value) and not isinstance(value, BaseException):
            told[field.name] = value
    return told


if __name__ == "__main__":
    sys.stdin.read()  # a gate, where the parent holds one shut
    json.dump(anyio.run(drive, json.loads(sys.argv[1])), sys.stdout, default=str)
