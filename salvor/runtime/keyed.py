"""A run under a name: started once, and gone on with by whoever comes next."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast

from salvor.events.fold import RunState
from salvor.run_errors import KeyedConflict, RunExists, UnknownRun
from salvor.runtime.outcome import RunResult
from salvor.runtime.run import Run
from salvor.runtime.workflow import bind, define
from salvor.values import JsonObject, same_json

P = ParamSpec("P")
R = TypeVar("R")


class Drives(Protocol):
    """What a keyed run needs of a runtime."""

    async def start(
        self, workflow: Any, input: JsonObject | None = None, *, run_id: str | None = None
    ) -> RunResult[Any]: ...

    async def resume(self, run_id: str, workflow: Any = None) -> RunResult[Any]: ...

    async def state(self, run_id: str) -> RunState: ...


class Keyed(Generic[R]):
    """The run of one name; see `Runtime.keyed`."""

    def __init__(self, runtime: Drives, name: str, run_id: str) -> None:
        self._runtime = runtime
        self.name = name
        self.run_id = run_id

    async def run(
        self,
        workflow: Callable[Concatenate[Run, P], Awaitable[R]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> RunResult[R]:
        """Start the workflow, or go on with it where the last one stopped.

        A run that has ended is reported, and nothing is executed again, until its log is let go
        of (`salvor store forget`): then the name is free, and only declared keys still hold.

        Raises:
            KeyedConflict: the name was used with another workflow, another version of it, or
                another input.
            LeaseHeld: another process drives it now.
        """
        return cast("RunResult[R]", await self.start(workflow, bind(workflow, args, kwargs)))

    async def start(self, workflow: Any, input: JsonObject | None = None) -> RunResult[Any]:
        """The same with JSON input."""
        definition = define(workflow)
        prepared, _ = definition.prepare(input or {})
        if (await self._state()).status == "not-started":
            with suppress(RunExists):  # somebody was faster
                return await self._runtime.start(workflow, input, run_id=self.run_id)
        state = await self._state()
        ref = state.workflow
        if ref is not None and (ref.name, ref.version) != (definition.name, definition.version):
            raise self._conflict(f"workflow {ref.name} version {ref.version}")
        if not same_json(state.input, prepared):
            raise self._conflict("other input")
        return await self._runtime.resume(self.run_id, workflow)

    async def _state(self) -> RunState:
        try:
            return await self._runtime.state(self.run_id)
        except UnknownRun:
            return RunState()

    def _conflict(self, what: str) -> KeyedConflict:
        return KeyedConflict(name=self.name, run_id=self.run_id, what=what)
