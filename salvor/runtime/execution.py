"""One execution of a tool's body: dependencies, the body, clean-up, output."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import anyio

from salvor.errors import OutputRefused, RunStopped, ToolFailure
from salvor.runtime.bodies import Body, BodyThreads
from salvor.runtime.cancellation import cancellations, is_cancellation
from salvor.runtime.causes import causes as causes
from salvor.runtime.causes import kept
from salvor.runtime.opening import open_dependency
from salvor.runtime.parking import Parking, parking_of
from salvor.runtime.policy import Fault, seconds, worst
from salvor.runtime.shared import Shared
from salvor.runtime.variables import apart
from salvor.tools.context import Context, activate
from salvor.tools.foreign import ForeignTable
from salvor.tools.function import FunctionTool
from salvor.tools.parking import SleepRequest, SuspendRequest
from salvor.values import JsonValue, canonical_json


class LeaseLapsed(BaseException):
    """The lease was found lost just before the body: it was not run."""


@dataclass(frozen=True, slots=True)
class Value:
    """The body returned; its output as checked JSON."""

    output: JsonValue


@dataclass(frozen=True, slots=True)
class Overrun:
    """The time is up and the body is still running in its thread, with what it was given."""

    body: Body[Any]
    opened: AsyncExitStack


Ended: TypeAlias = Value | Parking | Fault | Overrun


class GaveUp:
    """Whether anybody still waits for an execution; the body may ask."""

    __slots__ = ("_given_up",)

    def __init__(self) -> None:
        self._given_up = False

    def __call__(self) -> bool:
        return self._given_up

    def now(self) -> None:
        """Nobody waits any more."""
        self._given_up = True


class _TimedOut(Exception):
    """An async body was cancelled at its time limit."""


class _StillRunning(Exception):
    def __init__(self, overrun: Overrun) -> None:
        super().__init__()
        self.overrun = overrun


class Execution:
    """Executes bodies.

    Args:
        threads: Where synchronous code runs.
        shared: Dependencies of scope ``runtime``.
        stands: Asked last before a body, in the thread that runs it (DURABILITY B1).
        abandoned: Told of a body that goes on after its call was cancelled.
        foreign: What exceptions of libraries say.
    """

    def __init__(
        self,
        threads: BodyThreads,
        shared: Shared,
        stands: Callable[[], bool],
        abandoned: Callable[[Overrun], None],
        foreign: ForeignTable,
    ) -> None:
        self._threads = threads
        self._shared = shared
        self._stands = stands
        self._abandoned = abandoned
        self._foreign = foreign

    async def once(
        self, tool: FunctionTool, values: Mapping[str, Any], context: Context, gave_up: GaveUp
    ) -> Ended:
        """Execute a body once.

        Args:
            tool: Whose body.
            values: Validated values by parameter.
            context: What the body may ask about its call.
            gave_up: Is told when nobody waits for the body any more.

        Raises:
            LeaseLapsed: the lease did not stand; the body was not run.
        """
        held = _Held(self._foreign)
        try:
            with activate(context):
                await apart(lambda: self._within(tool, values, context, held))
        except _StillRunning as still:
            gave_up.now()
            return still.overrun
        except Exception as error:
            return _unwound(held, error)
        except BaseException:
            gave_up.now()
            raise
        assert held.ended is not None
        return held.ended

    async def _within(
        self, tool: FunctionTool, values: Mapping[str, Any], context: Context, held: _Held
    ) -> None:
        if not tool.dependencies:
            args, kwargs = tool.arguments(values, context, {})
            await held.body(tool, self._body(tool, args, kwargs, None))
            return
        async with AsyncExitStack() as stack:
            resolved = {
                name: await self._shared.get(dependency)
                if dependency.scope == "runtime"
                else await open_dependency(stack, dependency, self._threads)
                for name, dependency in tool.dependencies.items()
            }
            args, kwargs = tool.arguments(values, context, resolved)
            await held.body(tool, self._body(tool, args, kwargs, stack))

    async def _body(
        self,
        tool: FunctionTool,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        stack: AsyncExitStack | None,
    ) -> Any:
        def guarded() -> Any:
            if not self._stands():
                raise LeaseLapsed
            return tool.fn(*args, **kwargs)

        limit = tool.meta.timeout
        if tool.is_async or tool.meta.inline:
            return await _awaited(guarded, limit)
        result = await self._bounded(self._threads.start(guarded), limit, stack)
        return await result if inspect.isawaitable(result) else result

    async def _bounded(
        self, body: Body[Any], limit: float | None, stack: AsyncExitStack | None
    ) -> Any:
        try:
            if limit is None:
                return await body.wait()
            with anyio.move_on_after(limit):
                return await body.wait()
        except BaseException:
            if self._threads.give_up(body) and not body.over:
                self._abandoned(_overrun(body, stack))
            raise
        if not self._threads.give_up(body):
            raise ToolFailure(f"no thread was free for it within {limit:g} s", happened=False)
        raise _StillRunning(_overrun(body, stack))


async def _awaited(call: Callable[[], Any], limit: float | None) -> Any:
    if limit is None:
        result = call()
        return await result if inspect.isawaitable(result) else result
    with anyio.move_on_after(limit) as scope:
        return await call()
    assert scope.cancelled_caught
    raise _TimedOut


def _overrun(body: Body[Any], stack: AsyncExitStack | None) -> Overrun:
    # What was opened for the body is closed when the body ends, not under its feet.
    return Overrun(body, stack.pop_all() if stack else AsyncExitStack())


async def outcome_of(
    tool: FunctionTool, overrun: Overrun, foreign: ForeignTable
) -> Value | Parking | Fault:
    """How a body that outlived its wait ended after all."""
    held = _Held(foreign)

    async def result() -> Any:
        found = await overrun.body.wait()
        return await found if inspect.isawaitable(found) else found

    try:
        async with overrun.opened:
            await held.body(tool, result())
    except Exception as error:
        return _unwound(held, error)
    assert held.ended is not None
    return held.ended


class _Held:
    """How the body itself ended, whatever the clean-up after it makes of that."""

    __slots__ = ("_foreign", "began", "ended", "raised")

    def __init__(self, foreign: ForeignTable) -> None:
        self._foreign = foreign
        self.began = False
        self.ended: Value | Parking | Fault | None = None
        self.raised: BaseException | None = None

    async def body(self, tool: FunctionTool, running: Coroutine[Any, Any, Any]) -> None:
        """Let the body end; what it raises goes on, for its dependencies to see."""
        cancelling = cancellations()
        self.began = True
        try:
            result = await running
        except (_StillRunning, LeaseLapsed, RunStopped, KeyboardInterrupt, GeneratorExit):
            raise
        except Exception as error:
            self.ended, self.raised = _fault(tool, error, self._foreign), error
            raise
        except BaseException as error:
            if is_cancellation(error, cancelling):
                raise
            # sys.exit() in a tool, or a library's own: an exception like any other.
            self.ended = Fault(message=causes(error), extent="unknown")
            self.raised = ToolFailure(causes(error))
            raise self.raised from error
        self.ended = value_of(tool, result)


def _unwound(held: _Held, error: Exception) -> Fault:
    """What an execution came to whose dependencies raised, or let the body's error through."""
    ended = held.ended
    if ended is None and held.began:
        return Fault(message=causes(error), extent="unknown")
    if ended is None:
        message = f"a dependency could not be opened: {causes(error)}"
        return Fault(message=message, extent="no")
    if isinstance(ended, Fault) and error is held.raised:
        return ended
    # Clean-up can only make it worse: a commit may hang on it.
    message = f"clean-up after the body failed: {causes(error)}"
    if not isinstance(ended, Fault):
        returned = canonical_json(ended.output) if isinstance(ended, Value) else None
        return Fault(message=message, extent="unknown", returned=returned)
    return replace(
        ended, message=f"{ended.message}; {message}", extent=worst(ended.extent, "unknown")
    )


def value_of(tool: FunctionTool, result: Any) -> Value | Parking | Fault:
    """What a body returned, as checked JSON, or the park it asked for."""
    try:
        if isinstance(result, SuspendRequest | SleepRequest):
            return parking_of(tool, result)
        return Value(tool.encode_output(result))
    except Exception as error:
        message = error.message if isinstance(error, OutputRefused) else causes(error)
        return Fault(message=message, extent="yes", kind="output_serialization", final=True)


def timed_out(tool: FunctionTool, *, final: bool = False) -> Fault:
    """The fault of a body whose time was up: nobody knows what it did."""
    return Fault(
        message=f"timed out after {tool.meta.timeout:g} s",
        extent="unknown",
        kind="timeout",
        final=final,
    )


def _fault(tool: FunctionTool, error: Exception, foreign: ForeignTable) -> Fault:
    """The fault of a body that raised; what cannot be read of it may have done anything."""
    try:
        return fault_of(tool, error, foreign)
    except Exception as unreadable:  # an exception's own code may raise anything
        message = f"{type(error).__name__}, which cannot be read: {causes(unreadable)}"
        return Fault(message=message, extent="unknown")


def fault_of(tool: FunctionTool, error: Exception, foreign: ForeignTable) -> Fault:
    """What a body that raised may have done (DURABILITY A2)."""
    if isinstance(error, _TimedOut):
        return timed_out(tool)
    answer = tool.meta.exceptions == "failed"
    word = _alone(error)
    if isinstance(word, ToolFailure):
        return Fault(
            message=kept(word.message) or type(word).__name__,
            extent=word.extent,
            final=bool(word.final),
            retry_after=seconds(word.retry_after),
            answer=answer and word.extent == "unknown",
        )
    message = causes(error)
    if isinstance(word, tool.meta.refusals):
        return Fault(message=message, extent="no", final=True)
    asked = tool.meta.exceptions != "unknown"
    known = foreign.verdict(error) if asked else None
    if known is None:
        return Fault(message=message, extent="unknown", answer=answer)
    answer = answer and known.extent == "unknown"
    return Fault(message=message, extent=known.extent, final=known.final, answer=answer)


def _alone(error: Exception) -> Exception:
    """What a task group wrapped, when it is one exception: an author's own word counts there.

    What a library raised does not: beside it, something else may have happened in the group.
    """
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
