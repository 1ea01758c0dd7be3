"""The processes of `salvor.testing.matrix`: one that loads the code, and copies that drive runs.

Each line of the input is an order. A copy of the process (a fork: nothing has run in it yet)
carries it out, writes what came of it to the order's file, and may kill itself before that.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.lowlevel
import jsonschema_rs  # noqa: F401 - loaded once, not in every copy

from salvor.clock import SystemClock, SystemIds
from salvor.compose import open_runtime
from salvor.config import Config
from salvor.errors import SalvorError
from salvor.events.codec import encode
from salvor.events.vocabulary import Envelope, Suspended
from salvor.plugins.loader import Plugins
from salvor.registry.registry import Registry
from salvor.run_errors import UnknownRun
from salvor.runtime.outcome import Abandoned, Completed, Failed, OpenWrite, Parked, RunResult
from salvor.runtime.parks import MISSING
from salvor.runtime.resolve import NotDone, Resolution, ResolvedFailure, ResolvedOutput
from salvor.runtime.runtime import Runtime
from salvor.runtime.targets import load_module
from salvor.runtime.workflow import workflow_meta
from salvor.stores.sqlite import SqliteStore
from salvor.testing.crash import VARIABLE, crash_here, crashing
from salvor.testing.touches import Touch, Watch, wrote
from salvor.tools.around import Call, Guard, Next, Outcome
from salvor.tools.decorator import tool_meta
from salvor.values import JsonObject

RUN: Final = "00000000-0000-4000-8000-00000000c0de"


class _Ahead(SystemClock):
    """The machine's clock, set ahead."""

    def __init__(self, seconds: float) -> None:
        self._ahead = timedelta(seconds=seconds)

    def now(self) -> datetime:
        return super().now() + self._ahead


class _NoJitter(SystemIds):
    """The lower end of every back-off is no pause at all."""

    def random(self) -> int:
        return 0


class Bodies:
    """What stands around every body: crash points, and a watch over those that only read.

    Args:
        watched: Whether reads are watched.
        own: The path that the files of the store and the ledger begin with.
    """

    def __init__(self, *, watched: bool, own: str) -> None:
        self.touches: list[Touch] = []
        self.positions: list[int] = []
        self._own = own
        self._watch = Watch(self.touches.append) if watched else None

    async def around(self, call: Call, following: Next) -> Outcome:
        """Let the body run, and die where that is asked for."""
        place = f"body {call.position}"
        self.positions.append(call.position)
        crash_here(place, "before")
        self._look(call.effect == "read")
        outcome = await following()
        self._look(False)
        crash_here(place, "after")
        return outcome

    def changed(self) -> list[str]:
        """What reads left changed, in words."""
        return [
            f"{touch.did} {touch.what}"
            for touch, changed in wrote(self.touches)
            if changed and not touch.what.startswith(self._own) and "__pycache__" not in touch.what
        ]

    def _look(self, on: bool) -> None:
        if self._watch is not None:
            self._watch.switch(on)


async def carry_out(order: dict[str, Any], function: Any) -> JsonObject:
    """Look at the run, resolve its open write, or drive it until it rests."""
    bodies = Bodies(watched=order["watched"], own=order["own"])
    clock = _Ahead(order["ahead"])
    opened = open_runtime(
        crashing(SqliteStore.open(order["store"], clock=clock)),
        registry=_registry(function),
        plugins=Plugins(middleware=(Guard("salvor.testing", bodies.around),)),
        config=Config(),
        clock=clock,
        ids=_NoJitter(),
    )
    async with opened as runtime:
        try:
            told = await _do(runtime, order, function)
        except SalvorError as error:
            told = {"kind": type(error).__name__, "error": str(error)}
        log = await _log(runtime)
    return {
        **told,
        "log": [encode(envelope) for envelope in log],
        "bodies": list(bodies.positions),
        "changed": list(bodies.changed()),
    }


async def _do(runtime: Runtime, order: dict[str, Any], function: Any) -> JsonObject:
    if order["do"] == "look":
        return {"kind": "look"}
    if order["do"] == "resolve":
        await runtime.resolve(RUN, _resolution(order["say"]), by="salvor.testing")
        return {"kind": "resolved"}
    log = await _log(runtime)
    return _told(await _drive(runtime, order, function, begun=bool(log)), await _log(runtime))


async def _drive(
    runtime: Runtime, order: dict[str, Any], function: Any, *, begun: bool
) -> RunResult[Any]:
    is_workflow = workflow_meta(function) is not None
    if begun:
        answer = order["answer"][0] if order["answer"] else MISSING
        return await runtime.resume(RUN, function if is_workflow else None, answer=answer)
    if is_workflow:
        return await runtime.start(function, order["input"], run_id=RUN)
    tool = runtime.registry.for_function(function)
    return await runtime.call_tool(tool, order["input"], run_id=RUN)


async def _log(runtime: Runtime) -> Sequence[Envelope]:
    try:
        return (await runtime.history(RUN)).envelopes
    except UnknownRun:
        return ()


def _resolution(say: dict[str, Any]) -> Resolution:
    if say["what"] == "output":
        return ResolvedOutput(say["output"])
    if say["what"] == "failed":
        return ResolvedFailure("yes", say["message"])
    return NotDone(worker_dead=True)


def _told(result: RunResult[Any], log: Sequence[Envelope]) -> JsonObject:
    kind = type(result).__name__
    match result:
        case Completed():
            return {"kind": kind, "output": result.recorded}
        case Parked():
            asked = [one.event for one in log if isinstance(one.event, Suspended)]
            answered = [event for event in asked if not _asks_approval(event)]
            return {
                "kind": kind,
                "reason": result.reason,
                "approval": result.wants_approval,
                "wake_at": None if result.wake_at is None else result.wake_at.isoformat(),
                "signal": result.signal,
                "number": len(answered) - 1,
            }
        case OpenWrite():
            return {"kind": kind, "seq": result.seq, "tool": result.tool, "reason": result.cause}
        case Failed():
            return {"kind": kind, "error": result.error, "final": result.final}
        case Abandoned():
            return {"kind": kind, "reason": result.reason}


def _asks_approval(event: Suspended) -> bool:
    return event.call is not None and event.call.seq is None


def _registry(function: Any) -> Registry:
    """The function if it is a tool, or every tool the workflow's module has."""
    registry = Registry()
    if workflow_meta(function) is None:
        registry.for_function(function)
        return registry
    for value in list(vars(sys.modules[function.__module__]).values()):
        if callable(value) and tool_meta(value) is not None:
            registry.for_function(value)
    return registry


def load(module: str, file: str, name: str) -> Any:
    """A function by its module; or by its file, where that name leads elsewhere."""
    try:
        found: Any = importlib.import_module(module)
        if not os.path.samefile(found.__file__, file):
            found = load_module(file)
    except (ImportError, OSError, TypeError, ValueError):
        found = load_module(file)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _in_a_copy(order: dict[str, Any], function: Any) -> int:
    """Carry out an order in a copy of this process; the copy's wait status."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    code = 1
    try:
        os.chdir(order["folder"])
        os.environ.update(order["env"], **{VARIABLE: order["crash"]})
        with open(order["errors"], "w") as errors:
            os.dup2(errors.fileno(), 1)
            os.dup2(errors.fileno(), 2)
        told = anyio.run(carry_out, order, function)
        Path(order["told"]).write_text(json.dumps(told), "utf-8")
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(code)


def serve() -> None:
    """Load the function that the first line names, and carry out one order a line."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the code prints while it is loaded is no answer
    function = load(*json.loads(sys.stdin.readline()))
    anyio.run(anyio.lowlevel.checkpoint)  # loads the event loop, and leaves no thread behind
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        answers.write(f"{_in_a_copy(json.loads(line), function)}\n")
        answers.flush()


if __name__ == "__main__":
    serve()
