"""A run as its workflow sees it: the steps that are recorded and replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar, cast, overload

import anyio

from salvor.errors import ConcurrentUseError, RunStopped, ToolFailed
from salvor.events.cursor import Cursor
from salvor.events.vocabulary import NowObserved, RandomObserved
from salvor.run_errors import SignalRefused
from salvor.runtime.call_errors import bound
from salvor.runtime.caller import PLAIN, Caller, CallOptions, CallSpec
from salvor.runtime.calls import Calls
from salvor.runtime.gathering import CallsFailed, Gathering
from salvor.runtime.host import Host
from salvor.runtime.options import checked_options
from salvor.runtime.parks import (
    MISSING,
    Missing,
    Parks,
    check_instant,
    checked_deadline,
    checked_name,
)
from salvor.runtime.recorder import Recorder
from salvor.runtime.stops import Broken, CutOff, Halt, Stop
from salvor.tools.schema import ValueType
from salvor.values import JsonObject, as_json, format_instant, parse_instant

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")


class Run(Caller):
    """Drives one run: every step is answered from the log, or made and recorded.

    One step at a time. Once the run has come to rest (parked, a write left open, the lease
    lost), every further step is refused, whatever the workflow does with the exception.
    """

    def __init__(
        self,
        run_id: str,
        host: Host,
        recorder: Recorder,
        cursor: Cursor,
        *,
        accept_changes: bool = False,
    ) -> None:
        self._id = run_id
        self._host = host
        self._recorder = recorder
        self._cursor = cursor
        self._calls = Calls(host, recorder, cursor, run_id, accept_changes=accept_changes)
        self._parks = Parks(host, recorder, cursor, run_id)
        self._stop: Stop | None = None
        self._busy: str | None = None
        self._idle: anyio.Event | None = None

    @property
    def id(self) -> str:
        """The run's id."""
        return self._id

    @property
    def asked(self) -> ValueType | None:
        """The type of the answer that the run waits for."""
        return self._parks.asked

    @property
    def stop(self) -> Stop | None:
        """Why the run stands still; ``None`` while it may go on."""
        return self._stop

    def options(self, *, timeout: float | None = None, key: str | int | None = None) -> RunOptions:
        """This run with other options for the calls that are made of what is returned.

        Args:
            timeout: Seconds to wait for a body, instead of the tool's own.
            key: A declared key: two calls of one tool with one key are the same call, in all
                runs and processes. For tools that declare none; not for a read.
        """
        return RunOptions(self, checked_options(timeout=timeout, key=key))

    @overload
    async def gather(self, one: CallSpec[A], /) -> tuple[A]: ...

    @overload
    async def gather(self, one: CallSpec[A], two: CallSpec[B], /) -> tuple[A, B]: ...

    @overload
    async def gather(
        self, one: CallSpec[A], two: CallSpec[B], three: CallSpec[C], /
    ) -> tuple[A, B, C]: ...

    @overload
    async def gather(self, /, *specs: CallSpec[A]) -> tuple[A, ...]: ...

    async def gather(self, /, *specs: CallSpec[Any]) -> tuple[Any, ...]:
        """Make calls of read tools concurrently; their values in the order given.

        All of them end, whatever becomes of some; they are recorded in the order given.

        Args:
            specs: What to call: ``spec(find, "a")``.

        Raises:
            ExceptionGroup: of the `ToolFailed` of those that failed.
        """
        with self._step(f"gather() of {len(specs)} calls"):
            return await Gathering(self._host, self._recorder, self._cursor, self._id).made(specs)

    async def _call(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        return await self.call_with(PLAIN, fn, args, kwargs)

    async def _call_named(self, name: str, arguments: JsonObject) -> Any:
        return await self.call_named_with(PLAIN, name, arguments)

    async def call_with(
        self,
        options: CallOptions,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> Any:
        """`call` with options."""
        with self._step(f"a call of {getattr(fn, '__name__', fn)}"):
            tool = self._host.registry.for_function(fn)
            return await self._calls.call(tool, bound(tool, args, kwargs), options)

    async def call_named_with(self, options: CallOptions, name: str, arguments: JsonObject) -> Any:
        """`call_named` with options."""
        with self._step(f"the call of {name}"):
            return await self._calls.call_named(name, arguments, options)

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

    async def suspend(
        self,
        reason: str,
        answer: type[A],
        *,
        deadline: datetime | None = None,
        default: A | Missing = MISSING,
    ) -> A:
        """Wait for a person's answer of the given type; no process is needed meanwhile.

        Args:
            reason: What is asked, for the person who answers.
            answer: Type of the answer; its JSON Schema is recorded and checked.
            deadline: Until when it may be answered (store's clock); `default` answers then.
            default: The answer once the deadline has passed.
        """
        as_json(reason, what="the reason of suspend()")
        checked_deadline(deadline, default)
        wanted = ValueType(answer, where=f"the answer of suspend({reason!r})")
        with self._step("suspend()"):
            return cast("A", await self._parks.ask(reason, wanted, deadline, default))

    async def signal(
        self,
        name: str,
        payload: type[A],
        *,
        deadline: datetime | None = None,
        default: A | Missing = MISSING,
    ) -> A:
        """Wait for the next signal of that name; one that came before is taken at once.

        Args:
            name: Which signals; they are taken in the order they were sent.
            payload: Type of what it carries.
            deadline: Until when to wait (store's clock); `default` is given then.
            default: What is given once the deadline has passed.

        Raises:
            SignalRefused: what it carries is of another type; it is used up.
        """
        checked_name(name)
        checked_deadline(deadline, default)
        wanted = ValueType(payload, where=f"the payload of signal({name!r})")
        with self._step(f"signal({name!r})"):
            return cast("A", await self._parks.signal(name, wanted, deadline, default))

    async def sleep_until(self, instant: datetime) -> None:
        """Wait for an aware instant (store's clock); no process is needed meanwhile."""
        check_instant(instant, what="the instant of sleep_until()")
        with self._step("sleep_until()"):
            await self._parks.sleep(instant)

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
        except (ToolFailed, RunStopped, CallsFailed, SignalRefused):
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


class RunOptions(Caller):
    """A run whose calls have options; see `Run.options`."""

    __slots__ = ("_options", "_run")

    def __init__(self, run: Run, options: CallOptions) -> None:
        self._run = run
        self._options = options

    async def _call(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        return await self._run.call_with(self._options, fn, args, kwargs)

    async def _call_named(self, name: str, arguments: JsonObject) -> Any:
        return await self._run.call_named_with(self._options, name, arguments)
