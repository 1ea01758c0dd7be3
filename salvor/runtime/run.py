"""A run as its workflow sees it: the steps that are recorded and replayed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Concatenate, ParamSpec, TypeVar, cast, overload

import anyio

from salvor.errors import (
    ArgumentsRefused,
    ConcurrentUseError,
    JsonRefused,
    OutputRefused,
    RunStopped,
    ToolFailed,
)
from salvor.events.cursor import Answered, Cursor
from salvor.events.vocabulary import NowObserved, RandomObserved, Suspended
from salvor.runtime.calls import Calls
from salvor.runtime.host import Host
from salvor.runtime.outcome import Parked
from salvor.runtime.recorder import Recorder
from salvor.runtime.stops import Broken, CutOff, Halt, Rest, Stop
from salvor.store_errors import Divergence
from salvor.tools.context import Context
from salvor.tools.schema import ValueType
from salvor.values import JsonObject, JsonValue, as_json, format_instant, parse_instant

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")


class Run:
    """Drives one run: every step is answered from the log, or made and recorded.

    One step at a time. Once the run has come to rest (parked, a write left open, the lease
    lost), every further step is refused, whatever the workflow does with the exception.
    """

    def __init__(self, run_id: str, host: Host, recorder: Recorder, cursor: Cursor) -> None:
        self._id = run_id
        self._host = host
        self._recorder = recorder
        self._cursor = cursor
        self._calls = Calls(host, recorder, cursor, run_id)
        self._stop: Stop | None = None
        self._busy: str | None = None
        self._idle: anyio.Event | None = None
        self.asked: ValueType | None = None

    @property
    def id(self) -> str:
        """The run's id."""
        return self._id

    @property
    def stop(self) -> Stop | None:
        """Why the run stands still; ``None`` while it may go on."""
        return self._stop

    @overload
    async def call(
        self,
        fn: Callable[Concatenate[Context, P], Awaitable[R]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R: ...

    @overload
    async def call(
        self, fn: Callable[Concatenate[Context, P], R], /, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @overload
    async def call(
        self, fn: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> R: ...

    @overload
    async def call(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    async def call(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a tool; its output as the tool's return annotation has it.

        Raises:
            ToolFailed: the call ended in a failure. Nothing else is raised that a workflow
                could handle.
        """
        with self._step(f"a call of {getattr(fn, '__name__', fn)}"):
            tool = self._host.registry.for_function(fn)
            try:
                raw = tool.bind(args, kwargs)
            except (JsonRefused, ArgumentsRefused) as error:
                raise ToolFailed(
                    tool=tool.name, kind="invalid_input", message=error.message, extent="no"
                ) from error
            return await self._calls.call(tool, raw)

    async def call_named(self, name: str, arguments: JsonObject) -> Any:
        """Call the tool of that name with JSON arguments.

        Raises:
            ToolFailed: the call ended in a failure, or there is no such tool.
        """
        with self._step(f"the call of {name}"):
            return await self._calls.call_named(name, arguments)

    async def now(self) -> datetime:
        """The time, read once and recorded: aware, UTC, microseconds."""
        with self._step("now()"):
            text = self._cursor.now()
            if text is None:
                text = format_instant(self._host.clock.now())
                await self._recorder.append(NowObserved(now=text))
            return parse_instant(text)

    async def random(self) -> int:
        """64 random bits, drawn once and recorded: an integer in ``[0, 2**64)``."""
        with self._step("random()"):
            value = self._cursor.random()
            if value is None:
                value = self._host.ids.random()
                await self._recorder.append(RandomObserved(value=value))
            return value

    async def suspend(self, reason: str, answer: type[A]) -> A:
        """Wait for an answer of the given type; no process is needed meanwhile.

        Args:
            reason: What is asked, for the person who answers.
            answer: Type of the answer; its JSON Schema is recorded and checked.
        """
        as_json(reason, what="the reason of suspend()")
        wanted = ValueType(answer, where=f"the answer of suspend({reason!r})")
        with self._step("suspend()"):
            step = self._cursor.suspend(reason, wanted.schema)
            if isinstance(step, Answered):
                return cast("A", self._answer(wanted, step.input))
            self.asked = wanted
            seq = self._recorder.next_seq if step is None else step.seq
            if step is None:
                self._host.check_interrupt(self._id)
                await self._recorder.append(Suspended(reason=reason, input_schema=wanted.schema))
            raise Halt(
                Rest(Parked(run_id=self._id, reason=reason, schema=wanted.schema, park_seq=seq))
            )

    async def quiet(self) -> None:
        """Wait until no step is going on (a workflow may have left one behind)."""
        while self._busy is not None:
            self._idle = self._idle or anyio.Event()
            await self._idle.wait()

    def close(self) -> None:
        """Refuse every further step."""
        self._keep(CutOff())

    def _keep(self, stop: Stop) -> None:
        if self._stop is None:
            self._stop = stop

    def _answer(self, wanted: ValueType, recorded: JsonValue) -> Any:
        try:
            return wanted.decode(recorded)
        except OutputRefused as error:
            raise Divergence(
                run_id=self._id,
                position=self._cursor.position - 1,
                field="answer",
                recorded="an answer of another type",
                requested=error.message,
            ) from error

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        """One step: alone, on a run that goes on; whatever stops it is kept by the run."""
        if self._stop is not None:
            raise RunStopped(f"run {self._id} has come to rest")
        if self._busy is not None:
            error = ConcurrentUseError(
                f"run {self._id} was asked for {name} while {self._busy} was still going on.",
                hint="Await each step before the next.",
            )
            self._stop = Broken(error)
            raise error
        self._busy = name
        try:
            yield
        except (ToolFailed, RunStopped):
            raise
        except Halt as halt:
            self._keep(halt.stop)
            raise RunStopped(f"run {self._id} has come to rest") from halt
        except Exception as error:
            self._keep(Broken(error))
            raise RunStopped(f"run {self._id} cannot go on: {error}") from error
        except BaseException:
            self._keep(CutOff())
            raise
        finally:
            self._busy = None
            if self._idle is not None:
                self._idle.set()
                self._idle = None
